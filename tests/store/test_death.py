"""A recorder that is killed loses nothing that was acknowledged, and its run reads interrupted at its last event."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reenact.errors import StoreError
from reenact.facts.run import Status
from reenact.store.liveness import LiveLock, is_live
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_check import check_store
from tests.conftest import ROOT
from tests.store.recorder import resent
from tests.store.records import closing, issued, new_run, opening, settled

RUN = "0123456789abcdefgh"


@contextmanager
def recorder(path: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    """A process that records into a file until it is killed."""
    command = [sys.executable, "-m", "tests.store.recorder", str(path), RUN, *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str], word: str, count: int = 1) -> list[int]:
    """The next numbers it says after a word."""
    assert process.stdout is not None
    found: list[int] = []
    while len(found) < count:
        name, number = process.stdout.readline().split()
        if name == word:
            found.append(int(number))
    return found


@pytest.mark.parametrize("acknowledged", [1, 8, 60])
@pytest.mark.parametrize("more", [[], ["frames"]], ids=["one frame", "frames that end"])
def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path, acknowledged: int, more: list[str]) -> None:
    path = tmp_path / "store.db"
    with recorder(path, *more) as process:
        said(process, "ack", acknowledged)
        with SqliteStore(path) as store:
            now = store.run(RUN)
            assert now.status is Status.RECORDING and now.totals.events > acknowledged
        process.kill()
        process.wait()
        assert process.stdout is not None
        rest = [int(line.split()[1]) for line in process.stdout if line.endswith("\n")]
    last = max([acknowledged, *rest])
    assert check_store(path).breaks == ()
    with SqliteStore(path) as store:
        recording = store.open(RUN)
        events = [*recording.events()]
        assert [event.number for event in events] == list(range(len(events)))
        assert len(events) > last
        assert (recording.run.status, recording.run.interrupted_at) == (Status.INTERRUPTED, len(events) - 1)
        for event in events[1:]:
            assert recording.body(event.request) == resent(event.number)
            assert event.outcome is not None, "what was written in one batch is there whole"
        whole = b"".join(data for _, _, data in recording.parts(0))
        assert whole == b"head" + b"".join(b"<%d>" % n for n in range(1, len(events)))
        again = new_run()
        log = store.begin(again)
        log.write([*opening(again), closing(again)])
        log.close()
        assert store.run(again.id).status is Status.OK, "the store goes on"
        assert not (tmp_path / "store.db-live" / f"{RUN}.lock").exists(), "a dead one's sign of life is cleared away"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_does_not_keep_its_parents_run_alive(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with recorder(path, "fork") as process:
        (child,) = said(process, "child")
        try:
            said(process, "ack", 3)
            process.kill()
            process.wait()
            with SqliteStore(path) as store:
                assert store.run(RUN).status is Status.INTERRUPTED
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_reads_but_does_not_write_and_harms_nothing(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    run = new_run()
    log = store.begin(run)
    log.write([*opening(run), issued(0)])
    assert store.run(run.id).status is Status.RECORDING
    child = os.fork()
    if child == 0:
        status = 1
        try:
            assert store.run(run.id).status is Status.RECORDING
            assert store.open(run.id).count() == 1
            try:
                log.write([issued(1)])
            except StoreError as error:
                status = 0 if "parent process" in str(error) else 2
            log.close()
            store.close()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.run(run.id).status is Status.RECORDING
    log.write([settled(0), closing(run)])
    log.close()
    assert store.run(run.id).status is Status.OK
    store.close()


def test_a_lock_is_seen_by_all_and_gone_with_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "live" / "x.lock"
    assert not is_live(path)
    lock = LiveLock(path)
    assert is_live(path) and is_live(path)
    with pytest.raises(OSError, match="held by another"):
        LiveLock(path)
    lock.release()
    lock.release()
    assert not is_live(path) and not path.exists()
    path.write_bytes(b"")
    assert not is_live(path), "a file alone is no sign of life"
    assert (path.parent.stat().st_mode & 0o077) == 0 or os.name == "nt"
