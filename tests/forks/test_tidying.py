"""Expired runs go in the background, after `record` and `ls`: said once, turned off by a setting, in nobody's way."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from reenact.abc.sources import CLOCK
from reenact.facts.ids import make_run_id
from reenact.facts.retention import DAY_US
from reenact.facts.run import Run, Status
from reenact.interfaces.cli import background_expiry
from reenact.interfaces.cli.background_expiry import tidy
from reenact.interfaces.cli.shell import Shell
from reenact.store.sqlite_store import SqliteStore
from tests.forks.conftest import Forks
from tests.store.records import closing, issued, opening, settled

SAID = "expired runs are removed in the background from now on (gc = false in [tool.reenact] turns that off"


def old(store: SqliteStore, days: int = 8, status: Status = Status.OK) -> Run:
    """A run that ended so many days ago."""
    at = CLOCK.wall_us() - days * DAY_US
    run = Run(make_run_id(at, b"%05d" % days), started_us=at)
    log = store.begin(run)
    log.write([*opening(run), issued(0), settled(0, b"an answer"), closing(run, status)])
    log.close()
    return run


def away(path: Path, run: Run) -> bool:
    """Whether a run goes within a minute: another process removes it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with SqliteStore(path, own_directory=True) as store:
            if run.id not in {each.id for each in store.runs()}:
                return True
        time.sleep(0.05)
    return False


def test_record_has_them_removed_and_says_so_once(forks: Forks) -> None:
    path = forks.desk.folder / ".reenact" / "store.db"
    said = forks.record("print('a')")
    assert said == "a\n"
    with SqliteStore(path, own_directory=True) as store:
        gone, stays = old(store), old(store, 9, Status.FAILED)
    assert SAID in forks.desk.record("agent.py").stderr
    assert away(path, gone)
    with SqliteStore(path, own_directory=True) as store:
        assert store.run(stays.id).status is Status.FAILED and len([*store.runs()]) == 3
        old(store)
    again = forks.desk.record("agent.py")
    assert SAID not in again.stderr and again.stdout == "a\n"


def test_a_setting_turns_it_off(forks: Forks) -> None:
    path = forks.desk.folder / ".reenact" / "store.db"
    (forks.desk.folder / "reenact.toml").write_text("gc = false\n")
    forks.record("print('a')")
    with SqliteStore(path, own_directory=True) as store:
        stays = old(store)
    assert SAID not in forks.desk.record("agent.py").stderr
    with SqliteStore(path, own_directory=True) as store:
        assert store.run(stays.id)
        assert not store._file.read()[0].rows("SELECT 1 FROM meta WHERE name = 'looked_us'")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Stores for which a process was to be started: none is."""
    found: list[str] = []

    def start(url: str) -> bool:
        found.append(url)
        return True

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REENACT_STORE", raising=False)
    monkeypatch.setattr(background_expiry, "start", start)
    return found


def test_once_an_hour_and_only_where_something_is_old_enough(
    started: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / ".reenact" / "store.db"
    tidy(Shell())  # no store
    with SqliteStore(path, own_directory=True) as store:
        old(store, 6)
        tidy(Shell())
        store.amend(old(store, 20), tags={"keep": "always"})
        tidy(Shell())
        assert not started and capsys.readouterr().err == ""
        old(store)
        for _ in range(3):
            tidy(Shell())
        assert len(started) == 1 and capsys.readouterr().err.count(SAID) == 1
        later = CLOCK.wall_us() + 2 * background_expiry.EVERY_US
        monkeypatch.setattr(background_expiry, "CLOCK", type("Later", (), {"wall_us": staticmethod(lambda: later)}))
        tidy(Shell())
        assert len(started) == 2 and capsys.readouterr().err == ""
        for url in ("memory:", f"sqlite:///{tmp_path}/none.db", "postgresql://x"):
            tidy(Shell(store_url=url))
        assert len(started) == 2


def test_one_process_at_a_time(tmp_path: Path, forks: Forks) -> None:
    path = forks.desk.folder / ".reenact" / "store.db"
    with SqliteStore(path, own_directory=True) as store:
        run = old(store)
        lock = store.alone()
        assert lock is not None and store.alone() is None
        forks.desk.run("gc", "--background")
        assert store.run(run.id)
        lock.release()
        assert not forks.desk.run("gc", "--background").stdout
    with SqliteStore(path, own_directory=True) as store:
        assert [*store.runs()] == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups of this kind")
def test_a_program_has_no_process_of_ours(forks: Forks) -> None:
    path = forks.desk.folder / ".reenact" / "store.db"
    with SqliteStore(path, own_directory=True) as store:
        gone = old(store)
    printed = forks.record("""
        import os
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            print("no child")
    """)
    assert printed == "no child\n" and away(path, gone)
