"""Proves that a recorded block sees what its lanes print and ask, that logs can carry its id, and what the kit says."""

from __future__ import annotations

import _thread
import builtins
import contextlib
import io
import logging
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from reenact.facts.call import Call, Value
from reenact.facts.run import Run
from reenact.recording.git import Git
from reenact.recording.head_commit import read_commit
from reenact.recording.packages import packages
from reenact.recording.process_facts import process_facts
from reenact.seams import lanes, stdin, stdout
from reenact.seams.logs import RunIdFilter

from .fakes import Recorder, listening


class _Printing(Recorder):
    def __init__(self) -> None:
        super().__init__()
        self.output = {1: b"", 2: b""}
        self.asked: list[Call] = []
        self.run = Run("run-7")

    def printed(self, stream: int, data: bytes) -> None:
        """Keep."""
        self.output[stream] += data

    def decide(self, lane: lanes.Lane, call: Call) -> Any:
        """Answer every question."""
        self.asked.append(call)
        turn = types.SimpleNamespace(wait=lambda: Value(b"+forty-two"))
        return types.SimpleNamespace(mode="frozen", outcome=lambda: turn)


@pytest.fixture
def session() -> _Printing:
    return _Printing()


def test_a_block_is_told_what_its_own_lanes_print(session: _Printing, capsys: pytest.CaptureFixture[str]) -> None:
    begun, printed = _thread.allocate_lock(), _thread.allocate_lock()
    begun.acquire()
    printed.acquire()

    def from_outside() -> None:  # it was there before the block, so no hook makes it a strand of the block
        begun.acquire()
        print("stranger")
        printed.release()

    _thread.start_new_thread(from_outside, ())
    stdout.watch()
    try:
        print("before")
        with listening(session):
            print("inside", "é")
            print("error", file=sys.stderr)
            begun.release()
            assert printed.acquire(timeout=10)
        print("after")
    finally:
        stdout.unwatch()
    print("later")
    assert session.output == {1: "inside é\n".encode(), 2: b"error\n"}
    assert capsys.readouterr() == ("before\ninside é\nstranger\nafter\nlater\n", "error\n")
    assert "write" not in vars(sys.stdout)


def test_output_that_the_program_redirects_is_not_output(session: _Printing) -> None:
    stdout.watch()
    try:
        with listening(session), contextlib.redirect_stdout(io.StringIO()) as kept:
            print("captured")
    finally:
        stdout.unwatch()
    assert kept.getvalue() == "captured\n" and session.output[1] == b""


def test_a_fault_of_the_recorder_loses_no_output(session: _Printing, capsys: pytest.CaptureFixture[str]) -> None:
    session.printed = lambda *_: 1 / 0  # type: ignore[method-assign,assignment]
    stdout.watch()
    try:
        with listening(session):
            print("still there")
    finally:
        stdout.unwatch()
    assert capsys.readouterr().out == "still there\n"
    assert len(session.faults) == 2


def test_questions_of_a_block_are_crossings(session: _Printing) -> None:
    real = builtins.input
    stdin.rebinding.join()
    try:
        with listening(session):
            assert input("what? ") == "forty-two"
    finally:
        stdin.rebinding.leave()
    (call,) = session.asked
    assert (call.kind.value, call.name, call.rule, call.body) == ("human", "input", "prompt/1", b"what? ")
    assert builtins.input is real


def test_a_recorded_read_that_is_larger_than_the_buffer_is_handed_out_in_parts(session: _Printing) -> None:
    with listening(session):
        raw = stdin.RawInput(0)
        assert [raw.read(4), raw.read(4), raw.read(4)] == [b"+for", b"ty-t", b"wo"]
    assert len(session.asked) == 1


def test_the_digest_of_output_does_not_depend_on_how_it_was_cut() -> None:
    one, other, keyed = stdout.OutputDigest(), stdout.OutputDigest(), stdout.OutputDigest(b"key")
    for digest in (one, keyed):
        digest.update(1, b"abcdef")
    for part in (b"ab", b"", b"cdef"):
        other.update(1, part)
    assert one.hexdigest(1) == other.hexdigest(1) != keyed.hexdigest(1)
    assert one.hexdigest(2) != one.hexdigest(1) and one.sizes == {1: 6, 2: 0}


def test_logs_carry_the_runs_id_through_the_filter_and_nothing_without_it(session: _Printing) -> None:
    kept = io.StringIO()
    handler = logging.StreamHandler(kept)
    handler.addFilter(RunIdFilter())
    handler.setFormatter(logging.Formatter("%(reenact_run)s %(message)s"))
    bare: list[logging.LogRecord] = []
    catcher = logging.Handler()
    catcher.emit = bare.append  # type: ignore[method-assign,assignment]
    log = logging.getLogger("test of the run's id")
    log.addHandler(catcher)
    log.addHandler(handler)
    log.propagate = False
    try:
        log.warning("outside")
        with listening(session):
            names = set(vars(logging.LogRecord("n", 10, "p", 1, "m", None, None)))
            log.warning("inside %d", 1)
    finally:
        log.removeHandler(handler)
        log.removeHandler(catcher)
    assert kept.getvalue() == "- outside\nrun-7 inside 1\n"
    assert "reenact_run" not in names


def test_the_kit_knows_the_process_and_its_packages() -> None:
    facts = process_facts({"TZ": "Asia/Tokyo", "LANG": "C", "SECRET": "x"})
    assert facts["python"] == sys.version.split()[0]
    assert facts["time_zone"]["TZ"] == "Asia/Tokyo" and facts["locale"] == {"LANG": "C"}
    assert "SECRET" not in str(facts) and set(facts["streams"]) == {"stdin", "stdout", "stderr", "size"}
    names = [name for name, _ in packages()]
    assert names == sorted(names) and "pytest" in names


def test_git_facts_are_those_of_the_folder(tmp_path: Path) -> None:
    assert Git(str(tmp_path / "nowhere")).facts() == {}
    repository = tmp_path / "repository"
    repository.mkdir()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(repository)]
    try:
        subprocess.run([*git, "init", "-q", "-b", "trunk"], check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there is no git here")
    (repository / "file").write_text("one")
    subprocess.run([*git, "add", "file"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "m"], check=True)
    clean = Git(str(repository)).facts()
    (repository / "file").write_text("two")
    dirty = Git(str(repository)).facts()
    assert len(clean["commit"]) == 40 and clean["branch"] == "trunk" and clean["dirty"] is False
    assert dirty == {**clean, "dirty": True}
    assert {**read_commit(str(repository)), "dirty": False} == clean
