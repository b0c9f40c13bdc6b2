"""A store says which format it is in: newer ones are refused by name, older ones only read until they are migrated."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing as closed
from pathlib import Path

import pytest

from reenact.errors import FormatTooNew, StoreError
from reenact.facts.run import Run
from reenact.store.sqlite_store import SqliteStore
from reenact.store.versions import (
    MIGRATIONS,
    OLDEST_READER,
    WRITTEN,
    Format,
    check_readable,
    check_writable,
    migrate,
    read_format,
    write_format,
)
from tests.store.records import closing, issued, new_run, opening, settled


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store with one run."""
    path = tmp_path / "store.db"
    with SqliteStore(path) as store:
        run = new_run()
        log = store.begin(run)
        log.write([*opening(run), closing(run)])
        log.close()
    return path


def mark(path: Path, written: int, oldest_reader: int) -> None:
    """Make a store say that it is of another format."""
    with closed(sqlite3.connect(path)) as connection, connection:
        write_format(connection, Format(written, oldest_reader))


def test_a_store_that_needs_a_newer_reader_is_refused_by_name_of_version_and_left_alone(path: Path) -> None:
    mark(path, 9, 8)
    before = path.read_bytes()
    uses: list[Callable[[SqliteStore], object]] = [lambda store: [*store.runs()], lambda store: store.begin(new_run())]
    for use in uses:
        with SqliteStore(path) as store, pytest.raises(FormatTooNew, match=rf"format 9.*up to {WRITTEN}") as caught:
            use(store)
        assert (caught.value.written, caught.value.readable, caught.value.exit_code) == (9, WRITTEN, 4)
    assert path.read_bytes() == before


def test_a_newer_store_that_this_reader_knows_is_open_for_reading_only(path: Path) -> None:
    mark(path, 9, 1)
    with SqliteStore(path) as store:
        run = store.run("@")
        for write in (lambda: store.begin(new_run()), lambda: store.amend(run, flag="x"), lambda: store.delete(run)):
            with pytest.raises(StoreError, match="for reading only"):
                write()
        assert [each.id for each in store.runs()] == [run.id]


def test_an_older_store_is_open_for_reading_only_until_it_is_migrated(path: Path) -> None:
    mark(path, 0, 0)
    with SqliteStore(path) as store:
        assert store.run("@")
        with pytest.raises(StoreError, match=r"for reading only[\s\S]*next: reenact --store"):
            store.begin(new_run())
    with closed(sqlite3.connect(path, isolation_level=None)) as connection:
        steps = {0: lambda c: c.execute("CREATE TABLE added(x)") and None, **MIGRATIONS}
        assert migrate(connection, read_format(connection), steps=steps) == [0, *MIGRATIONS]
        assert read_format(connection) == (WRITTEN, OLDEST_READER)
        assert connection.execute("SELECT count(*) FROM added").fetchone() == (0,)
    with SqliteStore(path) as store:
        store.begin(new_run()).close()
        assert len([*store.runs()]) == 2


def test_a_migration_that_fails_leaves_the_old_store_whole(path: Path) -> None:
    mark(path, 0, 0)

    def breaks(connection: sqlite3.Connection) -> None:
        connection.execute("DROP TABLE event")
        raise RuntimeError("half way")

    with closed(sqlite3.connect(path, isolation_level=None)) as connection:
        with pytest.raises(RuntimeError):
            migrate(connection, Format(0, 0), steps={0: breaks, **MIGRATIONS})
        with pytest.raises(StoreError, match="no way from store format 0"):
            migrate(connection, Format(0, 0), steps={})
        assert read_format(connection) == (0, 0)
        assert connection.execute("SELECT count(*) FROM event").fetchone() == (0,)
        assert migrate(connection, Format(WRITTEN, 1)) == []


def test_a_store_without_its_numbers_is_damaged(path: Path) -> None:
    with closed(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM meta WHERE name = 'written'")
        with pytest.raises(StoreError, match="which format"):
            read_format(connection)
    with SqliteStore(path) as store, pytest.raises(StoreError, match="does not say what it is"):
        store.run("@")


def test_our_own_format_is_both() -> None:
    check_readable(Format(WRITTEN, WRITTEN), "here")
    check_writable(Format(WRITTEN, WRITTEN), "here")


def test_a_store_of_the_first_format_is_written_as_it_is_until_its_first_fork(path: Path) -> None:
    with closed(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE piece")
        connection.execute("DROP TABLE passage")
        write_format(connection, Format(1, 1))
    with SqliteStore(path) as store:
        parent = record(store, new_run())
        assert [each.id for each in store.runs(text="search")] == [parent.id]
        with closed(sqlite3.connect(path)) as connection:
            assert read_format(connection) == (1, 1)
        fork = record(store, new_run(parent=parent.id, relation="fork"))
        with closed(sqlite3.connect(path)) as connection:
            assert read_format(connection) == (WRITTEN, OLDEST_READER)
        assert [each.id for each in store.runs(text="search")] == [fork.id, parent.id]
        assert [event.call for event in store.events(fork.id)] == [event.call for event in store.events(parent.id)]


def record(store: SqliteStore, run: Run) -> Run:
    """A run of many calls, with a text of many passages."""
    log = store.begin(run)
    log.write([*opening(run), *(each for n in range(900) for each in (issued(n), settled(n))), closing(run)])
    log.close()
    return run
