"""Proves that a killed experiment goes on where it was: no cell is done twice, no answer is asked for again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import reenact
from reenact.facts.answers.asks import Ask
from reenact.facts.call import Stream
from reenact.testing import ScriptedProvider
from reenact.testing.provider.script import Rule, Script, When
from tests.experiments.conftest import HASTY, SCRIPT, Bench, ExperimentResult

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kill -9 and inherited locks are those of POSIX")

CANDIDATES = ("--candidate", "hasty:prompt=@hasty.txt", "--candidate", "tiny:model=gpt-tiny,answers=@small.json")
EACH = 1 + 2
"""Requests of one repeat: hasty asks once, tiny asks, looks (scripted) and asks again."""


class Moment:
    """Lets a test wait until the models have been asked so often since ``set``, and may hold them up from then on."""

    def __init__(self) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()
        self._left = -1
        self._lock = threading.Lock()
        self.go_on.set()

    def set(self, left: int, *, hold: bool = False) -> None:
        """``left`` requests are to come from now on; with ``hold`` the last is not answered before ``go_on``."""
        self.reached.clear()
        if hold:
            self.go_on.clear()
        self._left = left

    def passes(self, _ask: Ask) -> bool:
        """A request has come; no rule holds because of it."""
        with self._lock:
            self._left -= 1
            last = self._left == 0
        if last:
            self.reached.set()
            self.go_on.wait(60)
        return False


@pytest.fixture
def moment() -> Moment:
    """A moment to kill at."""
    return Moment()


@pytest.fixture
def bench(tmp_path: Path, moment: Moment) -> Iterator[Bench]:
    """A project with one run, and a provider that tells when it is asked."""
    folder, scratch = tmp_path / "a project", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    script = Script(rules=(Rule(when=When(also=moment.passes)), *SCRIPT.rules))
    with ScriptedProvider(script) as provider:
        bench = Bench(folder, provider)
        bench.desk.environ["TMPDIR"] = str(scratch)  # what is killed leaves its private folder behind
        bench.record()
        bench.shut()
        (folder / "hasty.txt").write_text(HASTY)
        (folder / "small.json").write_text(json.dumps([{"call": "look", "value": {"found": "three days"}}]))
        yield bench


WAITING = "waiting for an agent"


def heard(lines: Iterable[str], said: list[str], go_on: threading.Event) -> None:
    """Keep lines; where an experiment waits for an agent of the one before it, that may go on."""
    for line in lines:
        said.append(line)
        if WAITING in line:
            go_on.set()


def begun(bench: Bench, *words: str, heard: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    """An experiment in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "reenact", "experiment", *words],
        cwd=bench.folder,
        env={**os.environ, **bench.desk.environ, "REENACT_STORE": str(bench.folder / ".reenact")},
        stdin=subprocess.DEVNULL,
        stdout=heard,
        stderr=heard,
        text=True,
        start_new_session=True,
    )


@pytest.mark.timeout(3600)
def test_a_killed_experiment_goes_on_and_asks_again_only_for_what_was_under_way(
    bench: Bench, moment: Moment, sweep: bool
) -> None:
    """The experiment is killed with -9 while its agents are being answered. They end with it where the system can bind
    them to it; elsewhere they outlive it, and the experiment that is begun again waits for their end."""
    repeat = 200 if sweep else 2
    words = ("--where", "models > 0", *CANDIDATES, "--repeat", str(repeat), "--json")
    before = bench.requests
    moment.set(EACH * repeat // 2, hold=True)
    process = begun(bench, *words)
    assert moment.reached.wait(1500 if sweep else 60), "the experiment has never come half way"
    process.kill()
    process.wait()
    with begun(bench, *words, heard=subprocess.PIPE) as again:
        assert again.stdout is not None and again.stderr is not None
        said: list[str] = []
        listening = threading.Thread(target=heard, args=(again.stderr, said, moment.go_on))
        listening.start()  # beside the results: either pipe may be full
        results = [json.loads(line) for line in again.stdout]
        listening.join()
        waited = any(WAITING in line for line in said)
        moment.go_on.set()
        told = ExperimentResult(results, "".join(said))
    assert again.returncode == 0
    asked_again = bench.requests - before - EACH * repeat
    if sys.platform == "linux":
        assert not waited and 1 <= asked_again <= (os.cpu_count() or 1)
    else:
        assert waited and not asked_again
    assert [cell["output"] for cell in told.of("hasty")] == ["I have not looked."] * repeat
    assert {cell["output"] for cell in told.of("tiny")} <= {"three days", "perhaps three days"}
    assert len(told.of("tiny")) == repeat
    if sweep:
        assert told.candidates["tiny"]["flaky"] == 1


def test_an_agent_that_was_killed_too_is_not_asked_again_what_it_has_had(bench: Bench, moment: Moment) -> None:
    words = ("--where", "models > 0", "--candidate", "tiny:model=gpt-tiny,answers=@small.json")
    before = bench.requests
    moment.set(2, hold=True)
    process = begun(bench, *words)
    assert moment.reached.wait(60), "the agent has never asked twice"
    until(lambda: answers_kept(bench) == 1)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    moment.go_on.set()
    told = bench.experiment(*words)
    assert told.cells[0]["used"] == {"resumed": 1, "scripted": 1, "live": 1}
    assert bench.requests - before == 3, "the one that was under way is asked again, the one before it is not"


def until(holds: object, seconds: float = 30) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    assert callable(holds)
    while not holds():
        assert time.monotonic() < end, "it has never come to hold"
        time.sleep(0.05)


def answers_kept(bench: Bench) -> int:
    """How many answers of models the attempt under way has on its disk."""
    (scratch,) = (bench.folder / ".reenact" / "experiments" / "underway").glob("*/1.db")
    with reenact.open_store(f"sqlite:///{scratch}") as store:
        events = [event for run in store.runs() for event in store.events(run) if event.kind == "http"]
        return sum(isinstance(event.outcome, Stream) and event.outcome.end is not None for event in events)
