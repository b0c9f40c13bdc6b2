"""Proves that every way to read a clock replays exactly, that machinery is left out, and that nothing stays behind."""

from __future__ import annotations

import copy
import datetime as dt
import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import timeit
import types
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from time import clock_gettime, ctime, monotonic, monotonic_ns, perf_counter
from time import time as early_time
from typing import Any

import pytest

from reenact.abc.sources import CLOCK
from reenact.seams import clock, lanes
from tests.programs import read_program

from .fakes import Player, Recorder, lane_of, listening, twice


class _Zone(dt.tzinfo):
    def utcoffset(self, _when: dt.datetime | None) -> dt.timedelta:
        return dt.timedelta(hours=3)

    def dst(self, _when: dt.datetime | None) -> dt.timedelta:
        return dt.timedelta(0)

    def tzname(self, _when: dt.datetime | None) -> str:
        return "three east"


class _MyDatetime(datetime):
    """A subclass, as pendulum and others have."""


READS: dict[str, Callable[[], Any]] = {
    "time.time": lambda: time.time(),
    "time.time_ns": lambda: time.time_ns(),
    "early time": early_time,
    "datetime.now": lambda: dt.datetime.now(),
    "early datetime.now": datetime.now,
    "datetime.now(UTC)": lambda: datetime.now(dt.UTC),
    "datetime.now(tz=)": lambda: datetime.now(tz=_Zone()),
    "datetime.today": lambda: datetime.today(),
    "datetime.utcnow": lambda: datetime.utcnow(),
    "subclass": lambda: _MyDatetime.now(),
    "date.today": lambda: (date.today(), time.time_ns()),
    "gmtime": lambda: (time.gmtime(), time.time_ns()),
    "localtime": lambda: (time.localtime(), time.time_ns()),
    "ctime": lambda: time.ctime(),
    "ctime(None)": lambda: time.ctime(None),
    "early ctime": lambda: ctime(),
    "asctime": lambda: time.asctime(),
    "strftime": lambda: (time.strftime("%H:%M:%S"), time.time()),
    "clock_gettime realtime": lambda: time.clock_gettime(time.CLOCK_REALTIME),
    "clock_gettime_ns realtime": lambda: time.clock_gettime_ns(time.CLOCK_REALTIME),
    "clock_gettime monotonic": lambda: time.clock_gettime(time.CLOCK_MONOTONIC),
    "early clock_gettime": lambda: clock_gettime(time.CLOCK_MONOTONIC),
    "clock_gettime other": lambda: time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID),
    "monotonic": lambda: time.monotonic(),
    "monotonic_ns": lambda: time.monotonic_ns(),
    "early monotonic": lambda: monotonic(),
    "early monotonic_ns": lambda: monotonic_ns(),
    "perf_counter": lambda: time.perf_counter(),
    "early perf_counter": lambda: perf_counter(),
    "perf_counter_ns": lambda: time.perf_counter_ns(),
    "process_time": lambda: time.process_time(),
    "process_time_ns": lambda: time.process_time_ns(),
    "thread_time": lambda: time.thread_time(),
    "os.times": lambda: os.times(),
    "os.getloadavg": lambda: (os.getloadavg(), time.time_ns()),
    "timeit": lambda: timeit.default_timer(),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", READS)
def test_each_form_replays_exactly(name: str) -> None:
    read = READS[name]
    recorded, played, recorder, player = twice(lambda: [read() for _ in range(3)])
    assert played == recorded
    assert [type(value) for value in played] == [type(value) for value in recorded]
    assert recorder.read, "nothing was recorded: the equality above would be luck"
    assert player.surplus == 0 and player.left == []
    assert recorder.faults == [] and player.faults == []


def test_forms_have_the_types_and_the_size_they_have_unrecorded() -> None:
    bare = {name: read() for name, read in READS.items() if name != "datetime.utcnow"}
    with listening(Recorder()):
        for name, value in bare.items():
            seen = READS[name]()
            assert type(seen) is type(value), name
            if isinstance(value, (int, float)):
                assert 0 <= seen - value < 60 * (10**9 if isinstance(value, int) else 1), name


def test_a_moment_written_out_is_the_one_that_was_recorded() -> None:
    recorder = Recorder()
    with listening(recorder):
        time.time_ns()
    player = Player(recorder.tape())
    address = next(iter(player.values))
    player.values[address] = [60 * 10**9, 120 * 10**9]
    with listening(player):
        assert (time.ctime(), time.asctime()) == (time.ctime(60), time.ctime(120))
        assert time.asctime(time.gmtime(0)) == "Thu Jan  1 00:00:00 1970"
    assert player.surplus == 0


def test_reads_answer_by_position_in_their_lane() -> None:
    def agent() -> list[int]:
        lane = lanes.current()
        assert lane is not None
        out = [time.time_ns()]
        lane.issued()
        return [*out, time.time_ns(), time.monotonic_ns()]

    recorded, played, _, player = twice(agent)
    assert played == recorded
    assert player.surplus == 0


def test_a_read_more_goes_on_from_the_last() -> None:
    recorder = Recorder()
    with listening(recorder):
        first = time.time_ns()
    with listening(Player(recorder.tape())):
        assert time.time_ns() == first
        second, third = time.time_ns(), time.time_ns()
    assert first < second < third < first + 1_000_000


def test_the_machinery_reads_virtual_time_and_is_not_recorded() -> None:
    recorder = Recorder()
    machinery: dict[str, Any] = {"__name__": "asyncio.base_events", "time": time, "logging": logging}
    exec("def look():\n    return time.time()\ndef log():\n    return logging.makeLogRecord({}).created", machinery)
    with listening(recorder):
        seen, logged = machinery["look"](), machinery["log"]()
        threading.Event().wait(0.0)
    assert recorder.read == []
    assert "wall" in recorder.virtual_reads
    with listening(Player({})):
        assert (machinery["look"](), machinery["log"]()) == (1.0, 1.0)
    assert abs(seen - time.time()) < 60 and abs(logged - time.time()) < 60


def test_a_log_bears_the_same_time_again(caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder()
    with listening(recorder):
        logging.getLogger("agent").warning("once")
        logging.getLogger("agent").warning("again")
    with listening(Player(recorder.tape())):
        logging.getLogger("agent").warning("once")
        logging.getLogger("agent").warning("again")
    times = [record.created for record in caplog.records]
    assert times[:2] == times[2:]
    assert times[0] != times[1]


def test_nothing_below_a_transport_is_recorded() -> None:
    recorder = Recorder()
    with listening(recorder) as lane, lanes.inside(lane_of(recorder, "below", below=True)):
        assert abs(time.time() - datetime.now().timestamp()) < 60
        time.monotonic()
        assert lane.position == 0
    assert recorder.read == [] and recorder.virtual_reads == []


def test_our_own_clock_stays_real() -> None:
    with listening(Player({})) as lane:
        lane.session.ambient = lambda *_: 5  # type: ignore[method-assign]
        assert time.time_ns() == 5
        wall, mono, kept = CLOCK.wall_us(), CLOCK.mono_us(), clock.REAL.time_ns()
    assert abs(wall - time.time() * 1e6) < 60e6
    assert abs(mono - time.monotonic() * 1e6) < 60e6
    assert abs(kept - time.time_ns()) < 60e9
    assert abs(clock.REAL.time_ns() - time.time_ns()) < 60e9
    assert clock.REAL.monotonic is time.monotonic


def test_afterwards_everything_is_as_before() -> None:
    before = [vars(time)[name] for name in sorted(vars(time))]
    mine = (monotonic, perf_counter, timeit.default_timer, clock_gettime)
    with listening(Recorder()):
        assert monotonic is not mine[0]
        with listening(Recorder()):
            pass
        assert monotonic is not mine[0], "the inner session's end must not take the outer one's clock away"
    assert [vars(time)[name] for name in sorted(vars(time))] == before
    assert (monotonic, perf_counter, timeit.default_timer, clock_gettime) == mine


def test_a_module_imported_later_is_searched_by_the_next_session() -> None:
    module = types.ModuleType("reenact_test_late_import")
    late = vars(module)
    with listening(Recorder()):
        pass
    late["early"] = time.monotonic
    sys.modules[module.__name__] = module
    try:
        with listening(Recorder()):
            assert late["early"] is time.monotonic
            assert late["early"] is not clock.REAL.monotonic
        assert late["early"] is clock.REAL.monotonic
    finally:
        del sys.modules[module.__name__]


def test_clocks_behave_as_builtins_where_a_class_holds_them() -> None:
    with listening(Recorder()):

        class Timer:
            clock = time.perf_counter
            stamp = time.time

        timer: Any = Timer()  # a type checker takes each for a method
        assert isinstance(timer.clock(), float)
        assert isinstance(timer.stamp(), float)
        assert copy.deepcopy({"clock": time.monotonic})["clock"]() > 0


def test_a_fault_of_the_recorder_leaves_the_read_alone() -> None:
    recorder = Recorder()
    with listening(recorder):
        recorder.ambient = lambda *_: 1 / 0  # type: ignore[method-assign]
        recorder.unrecorded = lambda *_: 1 / 0  # type: ignore[method-assign]
        assert time.time() > 1e9 and time.monotonic() > 0 and datetime.now().year > 2000
        assert logging.LogRecord("a", 20, "f", 1, "m", None, None).created > 1e9
    assert len(recorder.faults) == 4


def test_a_programs_own_travel_goes_on_top_and_comes_off() -> None:
    done = _python(read_program("ambient/travel_within_a_recording.py"))
    assert done.stdout == "fine\n", done.stderr


def test_recording_the_clock_imports_neither_pytest_nor_time_machine() -> None:
    done = _python(
        """
        import sys, warnings
        sys.path.append("TESTS")
        from ambient.fakes import Recorder, listening
        with listening(Recorder()):
            import time
            time.time()
            assert "pytest" not in sys.modules
            import time_machine
            assert "pytest" not in sys.modules
            from time_machine import travel
            assert "travel" in dir(time_machine)
        print("fine")
        """
    )
    assert done.stdout == "fine\n", done.stderr


def test_the_plugin_of_time_machine_works_in_a_recorded_pytest(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("")
    (tmp_path / "test_travel.py").write_text(
        "import time\n"
        "def test_it(time_machine):\n    time_machine.move_to(7, tick=False)\n    assert time.time() == 7\n"
    )
    done = _python(
        f"""
        import sys
        sys.path.append("TESTS")
        from ambient.fakes import Recorder, listening
        with listening(Recorder()):
            import pytest
            sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-W", "error", {str(tmp_path)!r}]))
        """
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout and "warning" not in done.stdout


def _python(script: str) -> subprocess.CompletedProcess[str]:
    tests = str(Path(__file__).parent.parent)
    text = textwrap.dedent(script).replace("TESTS", tests)
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)


def test_an_exception_of_a_signal_handler_is_the_programs_own() -> None:
    recorder = Recorder()

    def timed_out(*_: object) -> None:
        raise TimeoutError("the agent's own")

    def slow(*_: object) -> int:
        signal.raise_signal(signal.SIGUSR1)
        return 1

    before = signal.signal(signal.SIGUSR1, timed_out)
    try:
        with listening(recorder):
            recorder.ambient = recorder.unrecorded = slow  # type: ignore[method-assign,assignment]
            for read in (time.time, time.monotonic, lambda: logging.LogRecord("a", 20, "f", 1, "m", None, None)):
                with pytest.raises(TimeoutError):
                    read()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert recorder.faults == []
