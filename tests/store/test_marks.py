"""Marks are kept in order of what they mark by every back end, outlive damage beside them, and never damage a store."""

from __future__ import annotations

import sqlite3
from contextlib import closing as closed
from pathlib import Path

import pytest

from reenact.abc.store import Store
from reenact.errors import StoreError, UsageError
from reenact.facts.marks import Mark, Periods, find_mark
from reenact.store.bundles.file_store import bundle_store
from reenact.store.salvaged_store import salvage
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_check import check_store
from reenact.timetravel.bundling.packing import pack
from tests.store.aging import age
from tests.store.conftest import Backend
from tests.store.test_conformance import keep

FIRST = Mark("01k9000000aaaaaaaa", "v1 deployed", 1_000, "a" * 40)
SECOND = Mark("01k9000001bbbbbbbb", "v2 deployed", 5_000)
EARLIER = Mark("01k9000002cccccccc", "the model was changed", 3_000)
MARKS = (FIRST, EARLIER, SECOND)


def test_marks_come_back_by_the_time_of_what_they_mark(backend: Backend, store: Store) -> None:
    for mark in (SECOND, FIRST, EARLIER):
        store.mark(mark)
    assert tuple(backend.open().marks()) == MARKS
    store.unmark(EARLIER.id)
    store.unmark("01k900000zzzzzzzzz")
    assert tuple(backend.open().marks()) == (FIRST, SECOND)
    store.mark(Mark(FIRST.id, "v1 rolled back", 9_000))
    assert [mark.text for mark in backend.open().marks()] == ["v2 deployed", "v1 rolled back"]


def test_runs_are_found_before_a_moment(store: Store) -> None:
    early, late = keep(store, started_us=10), keep(store, started_us=20)
    assert [run.id for run in store.runs(before_us=20)] == [early.id]
    assert [run.id for run in store.runs(since_us=20)] == [late.id]
    assert not [*store.runs(since_us=11, before_us=20)]


def test_a_mark_is_found_by_its_text_the_beginning_of_its_id_or_as_the_last() -> None:
    again = Mark("01k9000003dddddddd", "v1 deployed", 7_000)
    assert find_mark((*MARKS, again), "v1 deployed") == again
    assert find_mark(MARKS, "@") == SECOND
    assert find_mark(MARKS, "ccc") == EARLIER == find_mark(MARKS, "01k9000002")
    for ref, said in (("v3", "no mark matches 'v3'"), ("01k", "several marks match '01k'"), ("", "no mark matches")):
        with pytest.raises(UsageError, match=said):
            find_mark(MARKS, ref)
    with pytest.raises(UsageError, match="no mark matches '@'"):
        find_mark((), "@")


def test_a_moment_lies_between_two_marks() -> None:
    periods = Periods(MARKS)
    assert [periods.of(at) for at in (0, 999, 1_000, 2_999, 3_000, 5_000, 1 << 60)] == [
        "before v1 deployed", "before v1 deployed", "since v1 deployed", "since v1 deployed",
        "since the model was changed", "since v2 deployed", "since v2 deployed",
    ]  # fmt: skip
    assert Periods(()).of(7) == ""
    twice = Periods((FIRST, Mark("01k9000003dddddddd", "v1 deployed", 7_000)))
    assert twice.of(1_000) == "since v1 deployed [aaaaaaaa]" and len(set(twice.names)) == 3


@pytest.mark.parametrize("format_", [1, 2])
def test_a_store_of_an_older_format_takes_marks_and_stays_of_that_format(tmp_path: Path, format_: int) -> None:
    with SqliteStore(tmp_path / "store.db") as store:
        keep(store)
    age(tmp_path / "store.db", format_)
    with SqliteStore(tmp_path / "store.db") as store:
        assert store.marks() == ()
        store.mark(FIRST)
    with closed(sqlite3.connect(tmp_path / "store.db")) as connection:
        assert connection.execute("SELECT value FROM meta WHERE name = 'written'").fetchone() == (format_,)
    with SqliteStore(tmp_path / "store.db") as store:
        assert store.marks() == (FIRST,)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE mark SET body = replace(body, 'v1', 'v9') WHERE id = ?",
        "UPDATE mark SET body = x'00' WHERE id = ?",
        "UPDATE mark SET crc = crc + 1 WHERE id = ?",
        "UPDATE mark SET id = '01k9000009zzzzzzzz' WHERE id = ?",
    ],
)
def test_a_damaged_mark_is_named_and_the_others_are_saved(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "store.db"
    with SqliteStore(path) as store:
        run = keep(store)
        for mark in MARKS:
            store.mark(mark)
    assert check_store(path).breaks == ()
    with closed(sqlite3.connect(path)) as connection, connection:
        connection.execute(damage, (FIRST.id,))
    assert [each.what for each in check_store(path).breaks] == ["mark"]
    with SqliteStore(path) as store, pytest.raises(StoreError, match="a mark is damaged"):
        store.marks()
    salvage(path, tmp_path / "saved.db", lambda what, done, total: None, own_directory=False)
    with SqliteStore(tmp_path / "saved.db") as saved:
        assert saved.marks() == (EARLIER, SECOND) and saved.run(run.id).id == run.id


def test_a_bundle_has_no_marks_and_takes_none(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "store.db") as store:
        run = keep(store)
        store.mark(FIRST)
        pack(store, [("run", store.run(run.id))], tmp_path / "run.reenact")
    with bundle_store(tmp_path / "run.reenact") as bundle:
        assert bundle.marks() == ()
        with pytest.raises(UsageError):
            bundle.mark(FIRST)
        with pytest.raises(UsageError):
            bundle.unmark(FIRST.id)


def test_runs_that_go_leave_the_marks(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "store.db") as store:
        run = keep(store)
        store.mark(FIRST)
        store.delete(run)
        assert store.marks() == (FIRST,)
