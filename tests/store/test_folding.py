"""Rows of events that are alike are kept as what differs: exact whatever comes, from a batch that fails too, and whole
for forks of a run that is deleted."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing as closed
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import StoreError
from reenact.facts.call import Kind
from reenact.facts.record import EvidenceNoted, HeadArrived, Record
from reenact.facts.run import Run
from reenact.store.folding import FOLDED, ColumnFold, first_of, parts_of, unfolded, whole
from reenact.store.schema import SHIFT
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_check import check_store
from reenact.store.versions import OLDEST_READER, WRITTEN, Format, read_format, write_format
from tests.store.records import closing, failed, issued, new_run, opening, settled

LOG = 7 << SHIFT


def texts() -> st.SearchStrategy[str]:
    parts = st.one_of(
        st.sampled_from(["a", "é", '"', "\\u0001", ",", "x0", "f" * 31, "0" * 33]),
        st.integers(0, 10**12).map(str),
        st.binary(min_size=16, max_size=16).map(bytes.hex),
    )
    return st.lists(parts, max_size=8).map(lambda found: json.dumps(found, ensure_ascii=False))


@given(st.lists(st.tuples(texts(), st.sampled_from(["more", "commit", "roll back"])), max_size=30))
def test_what_is_folded_is_unfolded_exactly(said: list[tuple[str, str]]) -> None:
    folding = ColumnFold()
    kept: dict[int, tuple[str, str]] = {}
    staged: dict[int, tuple[str, str]] = {}
    for number, (text, then) in enumerate(said):
        staged[number] = text, folding.fold(number, text, lambda _: True)
        if then == "commit":
            folding.commit()
            kept.update(staged)
        elif then == "roll back":
            folding.roll_back()
        if then != "more":
            staged.clear()
        for text, row in (kept | staged).values():
            first = first_of(row, LOG | 5)
            if first is None:
                assert row == text
            else:
                example = (kept | staged)[first - LOG][1]
                assert unfolded(row, parts_of(example)) == whole(row, example) == text and len(row) < len(text)


def test_what_is_alike_takes_what_differs() -> None:
    folding = ColumnFold()
    rows = [folding.fold(n, json.dumps([n, "z" * 300, f"{n:032x}", 7, "b"]), lambda _: True) for n in range(100, 200)]
    assert rows[0][:1] == "[" and all(row[:1] == FOLDED and len(row) < 50 for row in rows[1:])


def asked(n: int) -> Record:
    head = {"method": "POST", "url": "http://host:80/v1", "headers": [["content-length", str(n)]]}
    return issued(n, b'{"n":%d}' % n, kind=Kind.HTTP, name="POST host/v1", head=head, at_us=n * 1000)


def calls(count: int, first: int = 0) -> list[list[Record]]:
    return [[asked(n), settled(n, b'{"k":%d}' % (n * 7))] for n in range(first, first + count)]


def record(store: SqliteStore, batches: list[list[Record]], **fields: Any) -> Run:
    run = new_run(**fields)
    log = store.begin(run)
    told: list[list[Record]] = [opening(run), *batches, [closing(run)]]
    for records in told:
        log.write(records)
    log.close()
    return run


@contextmanager
def rows(path: Path) -> Iterator[sqlite3.Connection]:
    with closed(sqlite3.connect(path)) as connection, connection:
        yield connection


def folded(path: Path) -> int:
    with rows(path) as connection:
        sql = "SELECT count(*) FROM event WHERE substr(asked, 1, 1) = char(30) OR substr(came, 1, 1) = char(30)"
        return int(connection.execute(sql).fetchone()[0])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def test_a_run_reads_as_it_was_said(path: Path, tmp_path: Path) -> None:
    with SqliteStore(path) as store:
        run = record(store, calls(40))
        assert folded(path) == 39
        recording = store.open(run.id)
        for n, event in enumerate(recording.events()):
            call = asked(n).call  # type: ignore[union-attr]
            assert (event.number, event.issued_us, event.call.head) == (n, n * 1000, call.head)
            assert (recording.body(event.request), recording.body(event.answer)) == (call.body, b'{"k":%d}' % (n * 7))
            assert recording.event(n).call == event.call
        assert check_store(path).breaks == ()


def test_a_batch_that_fails_leaves_nothing_that_later_rows_are_like(path: Path) -> None:
    run = new_run()
    with SqliteStore(path) as store:
        log = store.begin(run)
        log.write(opening(run))
        first, *rest = calls(10)
        with pytest.raises(StoreError):
            log.write([*first, EvidenceNoted(None, "bad", object())])
        for records in rest:
            log.write(records)
        log.close()
        assert folded(path) == 8
        assert [event.issued_us for event in store.open(run.id).events()] == [n * 1000 for n in range(1, 10)]


def test_nothing_is_like_what_came_of_a_call_whose_batch_was_lost(path: Path) -> None:
    run = new_run()
    with SqliteStore(path) as store:
        log = store.begin(run)
        log.write(opening(run))
        (lost, came), *rest = calls(5)
        with pytest.raises(StoreError):
            log.write([lost, EvidenceNoted(None, "bad", object())])
        log.write([came])
        for records in rest:
            log.write(records)
        log.close()
        assert folded(path) == 3
        assert [event.issued_us for event in store.open(run.id).events()] == [n * 1000 for n in range(1, 5)]


@given(st.lists(st.tuples(st.sampled_from(["fold", "drop", "commit", "roll back"]), st.integers(0, 9))))
def test_what_is_rolled_back_leaves_what_was_committed(steps: list[tuple[str, int]]) -> None:
    tried = ColumnFold()
    firsts: dict[str, int] = {}
    committed: dict[str, int] = {}
    for n, (step, kind) in enumerate(steps):
        name = f"{chr(97 + kind)} "
        if step == "fold":
            tried.fold(n, f"{name}{n}", lambda _: True)
            firsts.setdefault(name, n)
        elif step == "drop" and name in firsts:
            tried.drop(firsts.pop(name))
        elif step == "commit":
            tried.commit()
            committed = dict(firsts)
        elif step == "roll back":
            tried.roll_back()
            firsts = dict(committed)
        assert [number for number in range(len(steps)) if tried.is_first(number)] == sorted(firsts.values())


@pytest.mark.parametrize("again", [0, 2])
def test_a_full_disk_while_what_came_comes_again_costs_that_batch_alone(path: Path, again: int) -> None:
    def head(event: int, status: int = 200) -> Record:
        return HeadArrived(event, 100 + status, {"status": status, "headers": [["x", "y"]]}, delivery=10)

    run = new_run()
    with SqliteStore(path) as store:
        log = store.begin(run)
        log.write(opening(run))
        log.write([asked(0), asked(1), head(0), head(1)])
        connection = store.writing()._mine()
        most = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {most}")
        with pytest.raises(StoreError, match="full"):
            fresh = [asked(2), head(2)] if again == 2 else []
            log.write([*fresh, head(again, 300), head(again, 400), issued(9, os.urandom(200_000))])
        connection.execute("PRAGMA max_page_count = 1073741823")
        log.write([asked(3), head(3)])
        log.write([closing(run)])
        log.close()
        recording = store.open(run.id)
        for event in (0, 1, 3):
            assert "200" in str(recording.event(event).outcome)


def test_what_came_may_come_again_where_others_are_like_it(path: Path) -> None:
    run = new_run()
    with SqliteStore(path) as store:
        log = store.begin(run)
        log.write(opening(run))
        for records in calls(6):
            log.write(records)
        log.write([*calls(1, 6)[0], failed(0, "boom"), *calls(1, 7)[0]])
        log.write([*calls(1, 8)[0], closing(run)])
        log.close()
        recording = store.open(run.id)
        events = [*recording.events()]
        assert [recording.body(event.answer) for event in events[1:]] == [b'{"k":%d}' % (n * 7) for n in range(1, 9)]
        assert "boom" in str(events[0].outcome)


@pytest.mark.parametrize("many", [False, True])
def test_a_fork_has_whole_rows_of_a_parent_that_is_deleted(path: Path, many: bool) -> None:
    with SqliteStore(path) as store:
        parent = record(store, calls(30))
        forks = [record(store, calls(20), parent=parent.id, relation="fork") for _ in range(1 + many)]
        with rows(path) as connection:
            sql = "SELECT count(*) FROM event WHERE id >= 2 << 32"
            assert connection.execute(sql).fetchone() == (0,), "it leaves them to its parent"
        before = [[(event.call, event.outcome) for event in store.open(fork.id).events()] for fork in forks]
        store.delete(parent)
        assert [[(event.call, event.outcome) for event in store.open(fork.id).events()] for fork in forks] == before
        assert [len(each) for each in before] == [20] * len(forks)
        assert check_store(path).breaks == ()


@pytest.mark.parametrize("column", ["asked", "came"])
@pytest.mark.parametrize("damage", ["length(:c)", "'[]'", "char(30) || '0'", "NULL"])
def test_a_damaged_row_that_others_are_like_is_told(path: Path, column: str, damage: str) -> None:
    if damage == "NULL" and column == "asked":
        damage = "char(30) || '1' || char(31) || 'x'"
    with SqliteStore(path) as store:
        run = record(store, calls(5))
        with rows(path) as connection:
            connection.execute(f"UPDATE event SET {column} = {damage.replace(':c', column)} WHERE id = 1 << 32")
        recording = store.open(run.id)
        for n in range(1, 5):
            with pytest.raises(StoreError, match=f"event {n} is damaged"):
                recording.event(n)


def test_a_store_of_format_3_is_not_folded_until_it_is_one_of_today(path: Path) -> None:
    with SqliteStore(path) as store:
        record(store, [])
    with rows(path) as connection:
        write_format(connection, Format(3, 3))
    with SqliteStore(path) as store:
        run = record(store, calls(9))
        assert folded(path) == 0 and len([*store.events(run.id)]) == 9
        with rows(path) as connection:
            assert read_format(connection) == (3, 3)
        record(store, [[issued(0, b"x" * 3000)]])
        with rows(path) as connection:
            assert read_format(connection) == (WRITTEN, OLDEST_READER)
        record(store, calls(9))
        assert folded(path) == 8
