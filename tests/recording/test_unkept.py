"""A run that nobody keeps is written without a thread, and knows where it began as one that is kept does."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.abc.sources import CLOCK
from reenact.facts.conventions import VARIABLES
from reenact.facts.ids import make_run_id
from reenact.facts.policy import Policy
from reenact.facts.record import EvidenceNoted, GapNoted, OutputPrinted, Record
from reenact.facts.run import Entry, Run, Status
from reenact.privacy import make_redactor
from reenact.privacy.eraser import Eraser
from reenact.recording import surroundings as module
from reenact.recording.process_facts import LOCALE
from reenact.recording.recording_opening import OpenRun
from reenact.recording.surroundings import same_surroundings, surroundings
from reenact.recording.unthreaded_writer import UnthreadedWriter
from reenact.recording.writer import QUEUE_BYTES
from reenact.seams import lanes
from reenact.seams.process_setting import variables_now
from reenact.store.memory_store import MemoryStore

SECRET = "zq7Rk2Xw9LmP4tVb8NcJ"


class Log:
    """What a writer has written, batch by batch; fails so many times first."""

    def __init__(self, failures: int = 0) -> None:
        self.batches: list[list[Record]] = []
        self.closed = False
        self._failures = failures

    def write(self, records: Sequence[Record], *, durable: bool = False) -> None:
        """See ``abc.store.Log``."""
        assert lanes.current() is None, "what the writer does is nothing that the agent does"
        if self._failures:
            self._failures -= 1
            raise OSError("no room")
        self.batches.append(list(records))

    def close(self) -> None:
        """See ``abc.store.Log``."""
        self.closed = True


def writer(log: Log, faults: list[Exception], **more: Any) -> UnthreadedWriter:
    return UnthreadedWriter(log, make_redactor(), lambda: (), faults.append, lambda record: None, **more)


def written(log: Log) -> list[Any]:
    return [record.value for batch in log.batches for record in batch if isinstance(record, EvidenceNoted)]


def test_nothing_is_written_before_somebody_waits_and_all_of_it_then_in_order() -> None:
    log, faults = Log(), list[Exception]()
    threads = threading.active_count()
    one = writer(log, faults)
    for number in range(5):
        one.put(EvidenceNoted(None, "n", number))
    assert (log.batches, threading.active_count()) == ([], threads)
    receipt = one.receipt(durable=True)
    assert (receipt.done, receipt.kept) == (True, True)
    receipt.wait()
    one.put(EvidenceNoted(None, "n", 5))
    assert one.flush()
    one.put(EvidenceNoted(None, "n", 6))
    one.close()
    assert log.closed
    one.put(EvidenceNoted(None, "n", 7))
    assert not one.flush(), "nothing is kept after the end, and nobody is left waiting"
    assert (written(log), faults) == ([0, 1, 2, 3, 4, 5, 6], [])


def test_what_it_does_is_nothing_that_the_agent_does() -> None:
    """``Log.write`` asks which strand it is called in."""
    log, faults = Log(), list[Exception]()
    one = writer(log, faults)
    store = MemoryStore()
    with reenact.record(store=store):
        assert lanes.current() is not None
        one.put(EvidenceNoted(None, "n", 0))
        one.flush()
        one.put(EvidenceNoted(None, "n", 1))
        one.close()
        assert lanes.current() is not None
    assert (written(log), faults) == ([0, 1], [])


def test_a_fault_of_the_store_is_told_and_leaves_nobody_waiting() -> None:
    log, faults = Log(failures=1), list[Exception]()
    one = writer(log, faults)
    one.put(EvidenceNoted(None, "n", 0))
    receipt = one.receipt()
    assert (receipt.done, receipt.kept, [str(each) for each in faults]) == (True, False, ["no room"])
    one.put(EvidenceNoted(None, "n", 1))
    one.close()
    assert (written(log), log.closed) == ([1], True)


def test_what_waits_is_bounded() -> None:
    log = Log()
    one = writer(log, [])
    part = b"x" * (QUEUE_BYTES // 8)
    for _ in range(9):
        one.put(OutputPrinted(1, 0, part))
    assert log.batches, "more than the bound is written without anybody waiting"
    one.close()
    assert sum(len(each.data) for batch in log.batches for each in batch if isinstance(each, OutputPrinted)) == 9 * len(
        part
    )


def test_work_that_can_wait_is_done_at_a_flush() -> None:
    log, left = Log(), [3]

    def idle() -> bool:
        left[0] -= left[0] > 0
        return left[0] > 0

    one = writer(log, [], idle=idle)
    one.flush()
    assert left == [0]


def test_nobody_waits_below_the_writer_for_what_is_kept_when_it_is_through() -> None:
    """As a handler of a signal does that makes a call while its own thread writes."""
    found: list[Any] = []

    class Asking(Log):
        def write(self, records: Sequence[Record], *, durable: bool = False) -> None:
            if not found:
                found.append(one.receipt())
                assert (found[0].done, found[0].kept) == (True, False)
            super().write(records, durable=durable)

    log = Asking()
    one = writer(log, [])
    one.put(GapNoted("g", ""))
    one.flush()
    one.close()
    assert found[0].kept


# --- where it begins --------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def afresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "_last", None)
    monkeypatch.setattr(module, "_last_told", None)
    yield


def begun(**more: Any) -> Run:
    run = Run(make_run_id(CLOCK.wall_us(), os.urandom(8)), entry=Entry("command"), origin_us=CLOCK.mono_us())
    store = MemoryStore()
    opened = OpenRun(run, store, Policy(**more), CLOCK, sealed=False, gathers=False)
    opened.close(Status.OK, CLOCK.wall_us())
    return store.run(run.id)


def test_it_says_the_same_as_a_run_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    for name in (*sorted(VARIABLES), *LOCALE, "TZ", "PYTHONHASHSEED", "NOBODY_ASKS", "OTHER_THING"):
        monkeypatch.setenv(name, "service.name=a" if name.startswith("OTEL_R") else f"value-of-{name}")
    for policy in (Policy(), Policy(env=("OTHER_*",)), Policy(redact={"cwd": "credential"})):
        assert (same_surroundings(policy).facts, same_surroundings(policy).same) == (
            surroundings(policy).facts,
            surroundings(policy).same,
        )


@pytest.mark.parametrize("change", ["set", "changed", "removed", "folder", "policy"])
def test_what_has_changed_is_seen(change: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("SOME_URL", "https://before.example")
    before = begun().environment
    more: dict[str, Any] = {}
    if change == "set":
        monkeypatch.setenv("OTHER_URL", "https://other.example")
    elif change == "changed":
        monkeypatch.setenv("SOME_URL", "https://after.example")
    elif change == "removed":
        monkeypatch.delenv("SOME_URL")
    elif change == "folder":
        monkeypatch.chdir(tmp_path)
    else:
        more["env"] = ("HOME",)
    after = begun(**more).environment
    assert after != before
    assert after == make_redactor().surroundings({**surroundings(Policy(**more)).facts, **_own(after)})


def _own(environment: Any) -> dict[str, Any]:
    return {name: environment[name] for name in ("traceparent", "pid", "ppid", "host")}


def test_of_what_says_nothing_nothing_is_found_out_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest itself sets ``PYTEST_CURRENT_TEST`` anew for each test, and each boot has a place of its own."""
    for name in ("PYTEST_CURRENT_TEST", "REENACT_BOOT"):
        monkeypatch.setenv(name, "one")
        first = same_surroundings(Policy())
        monkeypatch.setenv(name, "another")
        assert same_surroundings(Policy()).known is first.known
        assert same_surroundings(Policy()).facts == surroundings(Policy()).facts


def test_a_credential_that_stands_in_it_is_removed_from_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_URL", f"https://user:{SECRET}@example.test/")
    monkeypatch.setenv("OTHER_TOKEN", SECRET)
    for _ in range(3):
        environment = begun().environment
        assert SECRET not in repr(environment)
        assert environment["env"]["SOME_URL"].startswith("https://user:")
    monkeypatch.delenv("SOME_URL")
    monkeypatch.setenv("PLACE_URL", SECRET)
    assert SECRET not in repr(begun().environment), "a value is known by its variable, whatever was found out before"


def test_what_was_spotless_is_looked_at_again_where_it_is_another() -> None:
    spotless: dict[str, Any] = {}
    told: dict[str, Any] = {"a": ["x"], "b": 1}
    assert make_redactor(spotless=spotless).surroundings(told) == told
    assert spotless == told
    told["a"].append("later")
    assert spotless["a"] == ["x"], "what somebody changes is another one"
    redactor = make_redactor(spotless=spotless)
    for changed in ({"a": ["y"]}, {"a": [f"--password={SECRET}"]}, {"a": ["z"], "b": [f"--token={SECRET}"]}):
        cleaned = redactor.surroundings(changed)
        assert (SECRET not in repr(cleaned), list(cleaned)) == (True, list(changed))
    assert cleaned["a"] == ["z"]
    assert SECRET not in repr(spotless)


def test_the_variables_are_one_copy_for_as_long_as_they_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_NAME", "a")
    before = variables_now()
    assert before == dict(os.environ)
    assert variables_now() is before
    monkeypatch.setenv("SOME_NAME", "b")
    assert (before["SOME_NAME"], variables_now()["SOME_NAME"]) == ("a", "b")
    monkeypatch.delenv("SOME_NAME")
    assert variables_now() == dict(os.environ)


def test_another_command_line_is_told_and_what_was_found_clean_is_not_looked_through_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a child of a warm interpreter begins, whose parent has begun a run without arguments."""
    monkeypatch.setenv("SOME_URL", "https://before.example")
    monkeypatch.setattr(sys, "orig_argv", ["python", "agent.py"])
    before = begun().environment
    looked_at: list[str] = []
    looks = Eraser.environment

    def looking(eraser: Eraser, variables: Mapping[str, Any]) -> dict[str, Any]:
        looked_at.extend(variables)
        return looks(eraser, variables)

    monkeypatch.setattr(Eraser, "environment", looking)
    monkeypatch.setattr(sys, "orig_argv", ["python", "agent.py", "--password", SECRET])
    after = begun().environment
    assert before["argv"] == ["python", "agent.py"]
    assert after["argv"][:3] == ["python", "agent.py", "--password"] and SECRET not in str(after)
    assert "argv" in looked_at and not {"env", "flags", "build"} & set(looked_at)


def test_what_was_clean_is_looked_through_again_where_there_is_a_new_credential(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / SECRET
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert SECRET in begun().environment["cwd"], "nobody knows yet that this is a credential"
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    assert SECRET not in str(begun().environment)
