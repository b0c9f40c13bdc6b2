"""Old stores become ones of today's format in their place: every run reads as before, whatever stops it in between."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing as closed
from pathlib import Path
from typing import Any

import pytest

from reenact.errors import StoreError
from reenact.store import log_migration
from reenact.store.folding import FOLDED
from reenact.store.log_migration import MARK
from reenact.store.splice_rows import SPLICED
from reenact.store.splicing import BodySplicer
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_check import check_store
from reenact.store.store_migration import MigrationPlan, MigrationResult
from reenact.store.versions import OLDEST_READER, WRITTEN
from tests.conftest import ROOT
from tests.programs import read_program
from tests.store.aging import age, formats
from tests.store.damaging import change, fill
from tests.store.records import closing, issued, new_run, opening, settled
from tests.store.test_machine import everything
from tests.store.test_spliced import conversation


def make(path: Path, old: int) -> None:
    """A store with runs of every kind of row, a fork of a fork, a flag, a label and a golden's parent."""
    fill(path)
    with SqliteStore(path) as store:
        first = store.run("@~2")
        store.amend(first, flag="wrong", tags={"keep": "always"})
        fork = store.run("@")
        deeper = new_run(parent=fork.id, relation="fork")
        log = store.begin(deeper)
        log.write(opening(deeper))
        for n, body in enumerate(conversation(40, first=7)):
            log.write([issued(n, body), settled(n, b"%d " % n * 400)])
        log.write([closing(deeper)])
        log.close()
    age(path, old)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """One store of each old format, made once."""
    folder = tmp_path_factory.mktemp("old")
    found = {old: folder / f"{old}.db" for old in (1, 2)}
    for old, path in found.items():
        make(path, old)
    return found


@pytest.fixture(params=[1, 2])
def path(samples: dict[int, Path], request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of one."""
    shutil.copy(samples[request.param], tmp_path / "store.db")
    return tmp_path / "store.db"


def quiet(what: str, done: int, total: int) -> None:
    """Nothing is shown."""


def said(path: Path) -> list[Any]:
    """Everything that the runs of a store say."""
    with SqliteStore(path) as store:
        runs = [*store.runs()]
        found: list[Any] = [everything(store, run) for run in runs]
        found.append([(run.id, run.parent, run.flag, run.tags) for run in runs])
        return found + [[run.id for run in store.runs(text=text)] for text in ("user", "USER turn 39", "only the fork")]


def plan(path: Path, **options: Any) -> MigrationPlan:
    with SqliteStore(path) as store:
        return store.migration().plan(**options)


def migrate(path: Path, **options: Any) -> MigrationResult:
    with SqliteStore(path) as store:
        migration = store.migration()
        found = migration.migrate(store.writing(), migration.plan(**options), quiet)
        for _ in store.give_back(rewrite=False):
            pass
        return found


def number(path: Path, sql: str, *values: Any) -> int:
    with closed(sqlite3.connect(path)) as connection:
        return int(connection.execute(sql, values).fetchone()[0])


def test_every_run_reads_as_before_and_lies_in_todays_rows(path: Path) -> None:
    before, old = said(path), formats(path)[0]
    planned = plan(path)
    assert (planned.written, len(planned.logs), planned.goes_on) == (old, 4, False)
    assert said(path) == before and formats(path) == (old, old), "a plan writes nothing"
    found = migrate(path)
    assert said(path) == before
    assert check_store(path).breaks == ()
    assert formats(path) == (WRITTEN, OLDEST_READER)
    assert number(path, "SELECT count(*) FROM payload WHERE codec < ? AND size >= 1024", SPLICED) == 0
    assert number(path, "SELECT count(*) FROM event WHERE substr(asked, 1, 1) = ?", FOLDED) > 0
    assert number(path, "SELECT count(*) FROM words WHERE typeof(body) = 'text'") == 0
    assert number(path, "SELECT count(*) FROM meta WHERE name GLOB ?", "migrating*") == 0
    assert number(path, "PRAGMA auto_vacuum") == 2
    assert plan(path).size < found.before == planned.size and found.damaged == () and len(found.runs) == 4
    assert plan(path).is_new


def test_forks_of_the_first_format_leave_to_their_parents_what_these_have(samples: dict[int, Path]) -> None:
    path = samples[1].with_name("shared.db")
    shutil.copy(samples[1], path)
    migrate(path, backup=False)
    assert number(path, "SELECT count(DISTINCT log) FROM piece") >= 1


def test_the_copy_is_the_store_as_it_was(path: Path) -> None:
    before, old = said(path), formats(path)
    found = migrate(path)
    assert found.backup is not None and found.backup == path.with_name(f"store.db.format-{old[0]}.backup")
    assert said(found.backup) == before and formats(found.backup) == old
    if os.name == "posix":
        assert found.backup.stat().st_mode & 0o777 == 0o600
    migrated = path.read_bytes()
    shutil.copy(found.backup, path)
    kept = found.backup.read_bytes()
    again = migrate(path)
    assert again.backup == found.backup.with_name(found.backup.name + "-2")
    assert found.backup.read_bytes() == kept and migrated
    assert sorted(each.name for each in path.parent.glob(".*")) == []


def test_none_is_made_where_none_is_wanted(path: Path) -> None:
    before = said(path)
    assert migrate(path, backup=False).backup is None
    assert said(path) == before
    assert [*path.parent.glob("*backup*")] == []


def test_too_little_room_is_said_before_anything_is_written(path: Path) -> None:
    before = path.read_bytes()
    with SqliteStore(path) as store:
        migration = store.migration()
        planned = migration.plan()
        assert planned.needed > planned.size
        with pytest.raises(StoreError, match=r"free bytes, and there are 7") as caught:
            migration.migrate(store.writing(), planned._replace(free=7), quiet)
        assert caught.value.exit_code == 4
    assert path.read_bytes() == before and [*path.parent.glob("*backup*")] == []


def test_a_full_disk_leaves_a_store_that_reads_as_before_and_the_next_call_goes_on(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = said(path)
    monkeypatch.setattr(log_migration, "STEP_BYTES", 4096)
    failed = 0
    most = number(path, "PRAGMA page_count")
    for extra in range(0, 60, 4):
        with SqliteStore(path) as store:
            with store.writing().transaction() as connection:
                connection.execute(f"PRAGMA max_page_count = {most + extra}")
            migration = store.migration()
            try:
                migration.migrate(store.writing(), migration.plan(backup=False), quiet)
            except StoreError as error:
                failed += 1
                assert "full" in str(error)
        assert said(path) == before
        assert check_store(path).breaks == ()
    assert failed
    migrate(path, backup=False)
    assert said(path) == before and check_store(path).breaks == () and plan(path).is_new


KILLED = read_program("store/migration_killed_at_a_step.py")


def run_killed(path: Path, at: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", KILLED, str(path), str(at)], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system kills in another way")
def test_killed_anywhere_it_goes_on_and_the_store_reads_as_before(samples: dict[int, Path], tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    for old in (1, 2):
        before = said(samples[old])

        def fresh(old: int = old) -> None:
            for each in tmp_path.iterdir():
                if each.is_file():
                    each.unlink()
            shutil.copy(samples[old], path)

        fresh()
        whole = run_killed(path, 0)
        assert whole.returncode == 0, whole.stderr
        steps = int(whole.stdout)
        assert steps > 100
        for at in range(1, steps, max(1, steps // 8)):
            fresh()
            assert run_killed(path, at).returncode == -signal.SIGKILL
            assert said(path) == before, (old, at)
            assert check_store(path).breaks == ()
            with SqliteStore(path) as store:
                run = new_run()
                log = store.begin(run)
                log.write([*opening(run), issued(0, b"meanwhile " * 200), settled(0), closing(run)])
                log.close()
                store.delete(run)
            found = migrate(path)
            assert said(path) == before, (old, at)
            assert check_store(path).breaks == () and plan(path).is_new
            copies = [*path.parent.glob("*.backup*")]
            assert found.backup in (None, *copies)
            if at > 1 and copies:
                assert said(min(copies)) == before


def test_a_run_that_is_recorded_is_left_and_named(path: Path) -> None:
    before = said(path)
    with SqliteStore(path) as store:
        run = new_run()
        log = store.begin(run)
        log.write(
            [*opening(run), issued(0), settled(0), *(each for n in range(1, 9) for each in (issued(n), settled(n)))]
        )
        migration = store.migration()
        planned = migration.plan()
        assert planned.live == (run.id,) and run.id not in [name for _, name in planned.logs]
        found = migration.migrate(store.writing(), planned, quiet)
        assert found.live == (run.id,) and not found.rewrites
        log.write([issued(9, b"later " * 300), settled(9), closing(run)])
        log.close()
        calls = [event.call for event in store.events(run.id)]
        store_said = everything(store, store.run(run.id))
        assert len(calls) == 10
        again = migration.migrate(store.writing(), migration.plan(), quiet)
        assert again.runs == (run.id,) and again.live == () and again.rewrites
        assert everything(store, store.run(run.id)) == store_said
        store.delete(run.id)
    assert said(path) == before and check_store(path).breaks == ()


def test_damaged_rows_stay_as_they_are_and_are_named(path: Path) -> None:
    change(
        path,
        "UPDATE payload SET data = zeroblob(length(data)) WHERE id = (SELECT min(id) FROM payload WHERE size > 2000)",
    )
    change(path, f"UPDATE event SET came = came || ' ' WHERE id = {1 << 32 | 2}")
    broken = {(each.what, each.name) for each in check_store(path).breaks}
    found = migrate(path)
    assert {what.split()[0] for _, what in found.damaged} == {"payload", "event"}
    assert {(each.what, each.name) for each in check_store(path).breaks} == broken


def test_one_that_is_written_differently_is_undone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = said(path)
    insert = BodySplicer.replace

    def wrongly(self: Any, connection: sqlite3.Connection, row: int, body: bytes, channel: str) -> None:
        insert(self, connection, row, body[:-1] + b"?", channel)

    monkeypatch.setattr(BodySplicer, "replace", wrongly)
    with pytest.raises(StoreError, match="does not read back as it was"):
        migrate(path)
    assert said(path) == before
    monkeypatch.undo()
    assert number(path, "SELECT count(*) FROM meta WHERE name GLOB ?", f"{MARK}*") == 4
    migrate(path)
    assert said(path) == before and plan(path).is_new


def test_a_store_of_today_has_nothing_to_do(tmp_path: Path) -> None:
    fill(tmp_path / "store.db")
    planned = plan(tmp_path / "store.db")
    assert planned.is_new and planned.logs == () and not planned.rewrites
