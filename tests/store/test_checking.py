"""Every damaged row is named with exactly the runs and events it touches, and reading the others stays exact; a store
that is sound, being written or of an old format gives no alarm; nothing is ever written."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing as closed
from pathlib import Path

import pytest

from reenact.errors import FormatTooNew, StoreError
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_check import CheckResult, check_store
from reenact.store.versions import WRITTEN
from tests.store.damaging import Damaged, change, fill
from tests.store.records import closing, issued, new_run, opening, settled
from tests.store.test_machine import everything
from tests.store.test_spliced import body, record, text

FIRST, SHIFT, LOW = 1, 32, (1 << 32) - 1
E6 = FIRST << SHIFT | 6


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Damaged:
    """Recorded once."""
    return fill(tmp_path_factory.mktemp("made") / "store.db")


@pytest.fixture
def store(made: Damaged, tmp_path: Path) -> Damaged:
    """A copy to be damaged."""
    shutil.copy(made.path, tmp_path / "store.db")
    return Damaged(tmp_path / "store.db", made.first, made.other, made.fork)


def touched(found: CheckResult) -> dict[str, set[int]]:
    """The runs that any break touches, each with its events."""
    runs: dict[str, set[int]] = {}
    for broken in found.breaks:
        for each in broken.touched:
            runs.setdefault(each.run, set()).update(each.events)
    return runs


def test_a_sound_store_has_no_breaks(store: Damaged) -> None:
    found = check_store(store.path)
    assert (found.breaks, found.runs, found.written) == ((), 3, WRITTEN)
    assert found.rows > 60


def flip(table: str, column: str, where: str, *, byte: int = 4) -> str:
    """A statement that changes one byte in the middle of a column, be it text or bytes."""
    return (
        f"UPDATE {table} SET {column} = CASE typeof({column}) WHEN 'text' THEN "
        f"substr({column}, 1, {byte}) || char(unicode(substr({column}, {byte + 1}, 1)) + 1) "
        f"|| substr({column}, {byte + 2}) "
        f"ELSE CAST(substr({column}, 1, {byte}) || (CASE substr({column}, {byte + 1}, 1) WHEN x'00' THEN x'01' "
        f"ELSE x'00' END) || substr({column}, {byte + 2}) AS BLOB) END WHERE {where}"
    )


ADDRESSED = f"BETWEEN {FIRST << SHIFT} AND {FIRST << SHIFT | LOW}"
PAYLOAD_OF = f"(SELECT answer FROM event WHERE id = {FIRST << SHIFT | 2})"
BOTH, ONE = ("first", "fork"), ("first",)

ROWS: dict[str, tuple[str, str, tuple[str, ...], set[int]]] = {
    "payload": (flip("payload", "data", f"id = {PAYLOAD_OF}"), "payload", BOTH, {2}),
    "payload gone": (f"DELETE FROM payload WHERE id = {PAYLOAD_OF}", "payload", BOTH, {2}),
    "payload row": (f"UPDATE payload SET digest = x'00112233445566778899aabbccddeeff' WHERE id = {PAYLOAD_OF}",
                    "payload", BOTH, {2}),
    "last version": (f"DELETE FROM payload WHERE id = (SELECT request FROM event WHERE id = {FIRST << SHIFT | 3})",
                     "payload", BOTH, {3}),
    "event asked": (flip("event", "asked", f"id = {FIRST << SHIFT | 3}"), "event", BOTH, {3}),
    "event came": (flip("event", "came", f"id = {FIRST << SHIFT | 3}"), "event", BOTH, {3}),
    "event name": (f"UPDATE event SET name = 'other' WHERE id = {FIRST << SHIFT | 3}", "event", BOTH, {3}),
    "event kind": (f"UPDATE event SET kind = 'tool' WHERE id = {FIRST << SHIFT | 3}", "event", BOTH, {3}),
    "event strand": (f"UPDATE event SET strand = strand + 9 WHERE id = {FIRST << SHIFT | 3}", "event", BOTH, {3}),
    "event gone": (f"DELETE FROM event WHERE id = {FIRST << SHIFT | 3}", "log", BOTH, set()),
    "stream": (flip("stream", "ended", f"id = {FIRST << SHIFT | 5}"), "stream", BOTH, {5}),
    "stream digest": (flip("stream", "digest", f"id = {FIRST << SHIFT | 5}"), "stream", BOTH, {5}),
    "chunk": (flip("chunk", "data", f"event = {FIRST << SHIFT | 5}", byte=40), "stream", BOTH, {5}),
    "chunk table": (flip("chunk", "segments", f"event = {FIRST << SHIFT | 5}"), "stream", BOTH, {5}),
    "chunk gone": (f"DELETE FROM chunk WHERE event = {FIRST << SHIFT | 5}", "stream", BOTH, {5}),
    "slot": (flip("slot", "digest", f"event = {E6} AND phase = 'in'", byte=10), "slot", BOTH, {6}),
    "slot remark": (f"UPDATE slot SET remark = 'x' WHERE event = {E6} AND phase = 'in'", "slot", BOTH, {6}),
    "slot gone": (f"DELETE FROM payload WHERE digest = (SELECT substr(digest, 6, 16) FROM slot WHERE event = {E6} "
                  "AND phase = 'in')", "payload", BOTH, {6}),
    "shape": (f"UPDATE shape SET names = '[\"docs\",\"m\"]' WHERE id {ADDRESSED} AND names LIKE '%n%'",
              "slot", BOTH, {6}),
    "shape gone": (f"DELETE FROM shape WHERE id {ADDRESSED} AND names LIKE '%n%'", "slot", BOTH, {6}),
    "note": (f"UPDATE note SET value = '7' WHERE owner = {E6} AND name = 'short'", "note", BOTH, {6}),
    "note of the run": (f"UPDATE note SET value = '7' WHERE owner = {-FIRST}", "note", ONE, set()),
    "long note": (f"UPDATE note SET digest = zeroblob(16) WHERE owner = {E6} AND name = 'long'", "payload", BOTH, {6}),
    "ambient": (flip("ambient", "data", f"strand {ADDRESSED}", byte=0), "ambient", BOTH, set()),
    "turns": (flip("turns", "data", f"id {ADDRESSED}"), "turns", BOTH, set()),
    "turns count": (f"UPDATE turns SET count = count + 1 WHERE id {ADDRESSED}", "turns", BOTH, set()),
    "printed": (flip("printed", "data", f"owner {ADDRESSED}"), "printed", BOTH, set()),
    "printed crc": (f"UPDATE printed SET crc = crc + 1 WHERE owner {ADDRESSED}", "printed", BOTH, set()),
    "run": (flip("run", "body", f"id = {FIRST}"), "run", ONE, set()),
    "run index": (f"UPDATE run SET status = 'failed' WHERE id = {FIRST}", "run", ONE, set()),
    "tag": ("DELETE FROM tag", "tag", ONE, set()),
    "log": (f"UPDATE log SET events = events + 1 WHERE id = {FIRST}", "log", ONE, set()),
    "log gone": (f"DELETE FROM log WHERE id = {FIRST}", "log", BOTH, set()),
    "words": (flip("words", "body", f"id = {FIRST}", byte=20), "words", ONE, set()),
    "text index": (f"UPDATE words SET body = 'unheard words' WHERE id = {FIRST}", "text index", ONE, set()),
    "piece": ("UPDATE piece SET data = zeroblob(9) WHERE kind = 0", "piece", ("fork",), set()),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_a_damaged_row_is_named_with_exactly_the_runs_it_touches(store: Damaged, name: str) -> None:
    sql, what, runs, events = ROWS[name]
    with SqliteStore(store.path) as opened:
        before = everything(opened, store.other)
    change(store.path, sql)
    found = check_store(store.path)
    assert what in {each.what for each in found.breaks}, found.breaks
    assert touched(found) == {getattr(store, run).id: events for run in runs}, found.breaks
    assert all(each.problem or each.what == "file" for each in found.breaks)
    with SqliteStore(store.path) as opened:
        assert everything(opened, store.other) == before


def test_a_lost_frame_costs_the_versions_that_need_it(store: Damaged) -> None:
    """The text of the last versions lies in the last frame: the versions before them are as they were."""
    messages = [{"role": "user", "content": text(n, 90_000)} for n in range(4)]
    with SqliteStore(store.path) as opened:
        run = record(opened, [body(messages[: n + 1]) for n in range(len(messages))])
    with closed(sqlite3.connect(store.path)) as connection:
        last = connection.execute("SELECT max(id) FROM frame").fetchone()[0]
        connection.execute("DELETE FROM frame WHERE id = ?", (last,))
        connection.commit()
    lost = touched(check_store(store.path))
    with SqliteStore(store.path) as opened:
        recording = opened.open(run.id)
        unreadable = set()
        for event in recording.events():
            try:
                recording.body(event.request)
            except StoreError:
                unreadable.add(event.number)
    assert lost == {run.id: unreadable}
    assert unreadable and unreadable < {0, 1, 2, 3}


def test_a_store_that_is_being_written_is_sound(store: Damaged) -> None:
    with SqliteStore(store.path) as opened:
        run = new_run()
        log = opened.begin(run)
        log.write([*opening(run), issued(0, b"x" * 5000)])
        seen: list[str] = []

        def meanwhile(table: str, done: int, total: int) -> None:
            seen.append(table)
            log.write([issued(len(seen), b"y%d" % len(seen) * 4000), settled(len(seen), b"z" * 4000)])

        assert check_store(store.path, meanwhile).breaks == ()
        assert "payload" in seen and "event" in seen
        log.write([closing(run)])
        log.close()
        assert check_store(store.path).breaks == ()


def test_nothing_is_written(store: Damaged) -> None:
    def kept() -> dict[str, bytes]:
        return {each.name: each.read_bytes() for each in store.path.parent.iterdir() if each.is_file()}

    change(store.path, "UPDATE turns SET crc = 1")
    before = kept()
    os.chmod(store.path, 0o400)
    os.chmod(store.path.parent, 0o500)
    try:
        assert check_store(store.path).breaks
        assert {name: data for name, data in kept().items() if not name.endswith(("-shm", "-wal"))} == before
    finally:
        os.chmod(store.path.parent, 0o700)


@pytest.mark.parametrize("written", [1, 2])
def test_an_old_format_is_checked(store: Damaged, written: int) -> None:
    """As those formats were: without the tables that came later."""
    later = ["text", "frame"] if written == 2 else ["text", "frame", "piece", "passage"]
    with closed(sqlite3.connect(store.path)) as connection:
        with SqliteStore(store.path) as opened:
            opened.delete(store.fork)
            for run in (store.first, store.other):
                opened.delete(run)
            log = opened.begin(fresh := new_run())
            log.write([*opening(fresh), issued(0), settled(0), closing(fresh)])
            log.close()
        for table in later:
            connection.execute(f"DROP TABLE {table}")
        connection.execute("UPDATE meta SET value = ? WHERE name IN ('written', 'oldest_reader')", (written,))
        connection.commit()
    found = check_store(store.path)
    assert (found.breaks, found.written, found.runs) == ((), written, 1)
    change(store.path, "UPDATE event SET asked_crc = asked_crc + 1")
    assert touched(check_store(store.path)) == {fresh.id: {0}}


def test_a_newer_format_is_refused(store: Damaged) -> None:
    change(store.path, "UPDATE meta SET value = 99 WHERE name IN ('written', 'oldest_reader')")
    with pytest.raises(FormatTooNew):
        check_store(store.path)


def test_a_file_whose_pages_are_torn_is_named_and_the_rest_is_read(store: Damaged) -> None:
    with closed(sqlite3.connect(store.path)) as connection:
        root, size = connection.execute(
            "SELECT rootpage, (SELECT * FROM pragma_page_size) FROM sqlite_master WHERE name = 'event_name'"
        ).fetchone()
    with open(store.path, "r+b") as file:
        file.seek((root - 1) * size)
        file.write(bytes(200))
    found = check_store(store.path)
    assert "file" in {each.what for each in found.breaks}
    assert {each.what for each in found.breaks} <= {"file", "log"}
