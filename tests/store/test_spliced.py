"""Bodies that re-send what was there are kept once: exact whatever happens between batches, contained when damaged, and
gone when their run is deleted."""

from __future__ import annotations

import json
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing as closed
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from reenact.abc.store import Log
from reenact.errors import BlobCorrupt, StoreError
from reenact.facts.record import CheckpointTaken, EvidenceNoted, Record
from reenact.facts.run import Run
from reenact.store import frames, splicing
from reenact.store.keyed_hash import KeyedHash
from reenact.store.payload_contents import Contents
from reenact.store.schema import LOW
from reenact.store.splice_rows import SPLICED, Splice, unpack_splice
from reenact.store.splices import SplicePiece, VersionChange
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_check import check_store
from reenact.store.versions import OLDEST_READER, WRITTEN, Format, read_format, write_format
from tests.store.records import closing, issued, new_run, opening, settled


def text(seed: int, size: int = 700) -> str:
    """Words that do not come twice."""
    return random.Random(seed).randbytes(size // 2).hex()


def message(seed: int) -> dict[str, Any]:
    return {"role": ("user", "assistant")[seed % 2], "content": text(seed)}


def body(messages: list[Any], **more: object) -> bytes:
    return json.dumps({"model": "m", "messages": messages, "tools": [text(-1)], **more}).encode()


def conversation(count: int, first: int = 0) -> list[bytes]:
    """The bodies of a conversation, each with one message more."""
    messages = [message(first + n) for n in range(count)]
    return [body(messages[: n + 1]) for n in range(count)]


def record(store: SqliteStore, bodies: list[bytes], run: Run | None = None) -> Run:
    """A run of calls with these bodies, each in a batch of its own."""
    run = run or new_run()
    log = store.begin(run)
    log.write(opening(run))
    for n, each in enumerate(bodies):
        log.write([issued(n, each), settled(n)])
    log.write([closing(run)])
    log.close()
    return run


def requests(store: SqliteStore, run: Run | str) -> list[bytes]:
    recording = store.open(store.run(run if isinstance(run, str) else run.id))
    return [recording.body(event.request) for event in recording.events()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def rows(path: Path, sql: str, *values: object) -> list[Any]:
    with closed(sqlite3.connect(path)) as connection, connection:
        return connection.execute(sql, values).fetchall()


def kept(path: Path) -> int:
    """Bytes of all bodies."""
    sql = "SELECT coalesce(sum(length(data)), 0) FROM "
    return int(rows(path, sql + "payload")[0][0] + rows(path, sql + "frame")[0][0])


# --- size --------------------------------------------------------------------------------------------------------


def test_a_conversation_that_is_sent_again_is_kept_once(path: Path) -> None:
    bodies = conversation(150)
    with SqliteStore(path) as store:
        run = record(store, bodies)
        assert requests(store, run) == bodies
    assert sum(map(len, bodies)) > 70 * len(bodies[-1])
    assert kept(path) < len(bodies[-1]) * 0.6 + 150 * 40, "half of it, for it is hexadecimal, and a row each"


def test_conversations_side_by_side_under_one_name_are_each_kept_once(path: Path) -> None:
    several = [conversation(40, 1000 * n) for n in range(1, 6)]
    bodies = [each[n] for n in range(40) for each in several]
    with SqliteStore(path) as store:
        assert requests(store, record(store, bodies)) == bodies
    assert kept(path) < sum(len(each[-1]) for each in several) * 0.6 + 200 * 40


def test_answers_that_resemble_nothing_do_not_drive_out_what_is_sent_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splicing, "BODIES", 17)
    messages = [message(n) for n in range(30)]
    run = new_run()
    with SqliteStore(path) as store:
        log = store.begin(run)
        log.write(opening(run))
        numbers = iter(range(10_000))
        for n in range(1, 31):
            log.write([issued(next(numbers), body(messages[:n]), name="chat")])
            log.write([each for k in range(20) for each in called(next(numbers), text(100_000 + 20 * n + k, 1200))])
        log.close()
    answers = 600 * 1200 * 0.55
    assert kept(path) < answers + len(body(messages)) * 0.6 + 1300 * 60


def called(number: int, answer: str) -> list[Record]:
    return [issued(number), settled(number, answer.encode())]


def test_a_state_is_kept_once_for_its_call_its_slots_and_its_answer(path: Path) -> None:
    messages = [message(n) for n in range(80)]
    run = new_run()
    with SqliteStore(path) as store:
        log = store.begin(run)
        log.write(opening(run))
        states = [json.dumps({"messages": messages[:n], "n": n}).encode() for n in range(1, 81)]
        slots = [json.dumps(messages[:n]).encode() for n in range(1, 81)]
        for n, (state, slot) in enumerate(zip(states, slots, strict=True)):
            after = state[:-1] + b', "done": true}'
            looks = [CheckpointTaken(n, phase, {"messages": slot, "n": b"%d" % n}) for phase in ("in", "out")]
            log.write([issued(n, state), looks[0], looks[1], settled(n, after)])
        log.close()
        recording = store.open(run.id)
        for n, (state, slot) in enumerate(zip(states, slots, strict=True)):
            event = recording.event(n)
            assert recording.body(event.request) == state
            assert recording.body(event.answer) == state[:-1] + b', "done": true}'
            assert recording.checkpoint_slots(n, "out") == {"messages": slot, "n": b"%d" % n}
    assert kept(path) < len(states[-1]) * 1.2, "of 240 versions"


def test_marks_that_move_cost_no_list_of_all_pieces_each(path: Path) -> None:
    bodies = []
    for n in range(3, 200):
        messages = [message(each) for each in range(n)]
        for each in messages[-3::2]:
            each["cache_control"] = {"type": "ephemeral"}
        bodies.append(body(messages))
    with SqliteStore(path) as store:
        assert requests(store, record(store, bodies)) == bodies
    assert kept(path) < len(bodies[-1]) * 0.6 + 200 * 150
    found = {
        row: unpack_splice(data).before for row, data in rows(path, "SELECT id, data FROM payload WHERE codec = 2")
    }
    assert max(depth(found, row) for row in found) < 80, "and few are needed for each"


def depth(found: dict[int, int], row: int) -> int:
    """How many rows are read for one."""
    count = 0
    while row := found[row]:
        count += 1
    return count


def test_what_falls_out_of_memory_is_kept_again_and_exact(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splicing, "BODIES_BYTES", 1)
    monkeypatch.setattr(splicing, "_PENDING", 100)
    several = [conversation(30, 1000 * n) for n in range(1, 3)]
    bodies = [each[n] for n in range(30) for each in several]
    with SqliteStore(path) as store:
        assert requests(store, record(store, bodies)) == bodies


def test_a_text_that_is_full_is_followed_by_another(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splicing, "LOW", 20_000)
    bodies = conversation(60)[:25]
    with SqliteStore(path) as store:
        assert requests(store, record(store, bodies)) == bodies
    assert rows(path, "SELECT count(*) > 1 FROM text") == [(1,)]


# --- batches -----------------------------------------------------------------------------------------------------


@contextmanager
def failing_late() -> Iterator[None]:
    """Transactions that come to their end, and are not acknowledged."""
    with pytest.MonkeyPatch.context() as patch:
        finish = splicing.BodySplicer.finish

        def fails(splicing: splicing.BodySplicer, connection: sqlite3.Connection) -> None:
            finish(splicing, connection)
            raise sqlite3.OperationalError("disk I/O error")

        patch.setattr(splicing.BodySplicer, "finish", fails)
        yield


EDITS = ("append", "cut", "turn", "edit", "mark")


FRAME = 3000
"""Bytes of a frame where many are wanted."""


class Batches(RuleBasedStateMachine):
    """Runs of two processes in one file, whose batches are acknowledged or fail: what was acknowledged reads back."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "store.db"
        self.stores = [SqliteStore(self.path) for _ in range(2)]
        self.runs: list[Run] = []
        self.logs: list[Log | None] = []
        self.histories: list[list[Any]] = []
        self.acknowledged: list[list[tuple[bytes, bytes]]] = []
        self.frame, frames.FRAME = frames.FRAME, FRAME

    def teardown(self) -> None:
        frames.FRAME = self.frame
        for log in filter(None, self.logs):
            log.close()
        for store in self.stores:
            store.close()
            if store.path.exists():
                assert check_store(store.path).breaks == ()
        self.folder.cleanup()

    @rule(store=st.integers(0, 1))
    def begin(self, store: int) -> None:
        run = new_run()
        log = self.stores[store].begin(run)
        log.write(opening(run))
        self.runs.append(run)
        self.logs.append(log)
        self.histories.append([message(n) for n in range(3)])
        self.acknowledged.append([])

    @rule(
        which=st.integers(0, 9),
        edits=st.lists(
            st.tuples(st.sampled_from(["append", "cut", "turn", "edit", "mark"]), st.integers(0, 30)), max_size=4
        ),
        bad=st.sampled_from(["", "", "first", "last"]),
    )
    def batch(self, which: int, edits: list[tuple[str, int]], bad: str) -> None:
        if not self.runs:
            return
        which %= len(self.runs)
        log, history, said = self.logs[which], self.histories[which], self.acknowledged[which]
        if log is None:
            return
        records: list[Record] = []
        new: list[tuple[bytes, bytes]] = []
        for what, n in edits:
            if what == "append":
                history.append(message(1000 + n))
            elif what == "cut":
                del history[: n % 3]
            elif what == "turn":
                history.reverse()
            elif what == "edit" and history:
                history[n % len(history)] = message(2000 + n)
            elif history:
                history[n % len(history)] = {**history[n % len(history)], "mark": n}
            number = len(said) + len(new)
            new.append((body(history), json.dumps({"state": history * 4}).encode()))
            records += [issued(number, new[-1][0]), settled(number, new[-1][1])]
        if bad:
            late = failing_late() if bad == "last" else nullcontext()
            with pytest.raises(StoreError), late:
                log.write([*records, *([EvidenceNoted(None, "bad", object())] if bad == "first" else [])])
        else:
            log.write(records)
            said += new

    @rule(which=st.integers(0, 9), bad=st.booleans())
    def end(self, which: int, bad: bool) -> None:
        if self.runs:
            which %= len(self.runs)
            log, self.logs[which] = self.logs[which], None
            if log is not None:
                with failing_late() if bad else nullcontext(), pytest.raises(StoreError) if bad else nullcontext():
                    log.write([closing(self.runs[which])])
                if bad:
                    log.write([closing(self.runs[which])])
                log.close()

    @rule(which=st.integers(0, 9))
    def delete(self, which: int) -> None:
        if self.runs and self.logs[which % len(self.runs)] is None:
            which %= len(self.runs)
            self.stores[which % 2].delete(self.runs[which])
            for each in (self.runs, self.logs, self.histories, self.acknowledged):
                del each[which]

    @invariant()
    def what_was_acknowledged_reads_back(self) -> None:
        for run, said in zip(self.runs, self.acknowledged, strict=True):
            with SqliteStore(self.path) as store:
                recording = store.open(run.id)
                events = [*recording.events()]
                assert [(recording.body(each.request), recording.body(each.answer)) for each in events] == said
                assert [recording.body(each.request) for each in reversed(events)] == [one for one, _ in reversed(said)]


TestBatches = Batches.TestCase
TestBatches.settings = settings(max_examples=settings().max_examples // 4, stateful_step_count=15, deadline=None)


def test_a_reader_follows_a_run_under_way(path: Path) -> None:
    bodies = conversation(60)
    run = new_run()
    with SqliteStore(path) as store, SqliteStore(path) as other:
        log = store.begin(run)
        log.write(opening(run))
        recording = None
        for n, each in enumerate(bodies):
            log.write([issued(n, each)])
            recording = recording or other.open(run.id)
            assert recording.body(recording.event(n).request) == each
        log.close()


# --- damage ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("handed_over", [False, True])
def test_a_damaged_frame_costs_the_versions_that_need_it_and_no_others(
    path: Path, monkeypatch: pytest.MonkeyPatch, handed_over: bool
) -> None:
    monkeypatch.setattr(frames, "FRAME", 6000)
    bodies = [body([message(m) for m in range(max(0, n - 4), n)]) for n in range(1, 40)]  # a window that slides
    with SqliteStore(path) as store:
        run, other = record(store, bodies), record(store, bodies)
    ids = [each for (each,) in rows(path, "SELECT id FROM frame ORDER BY id")]
    first = dict(rows(path, "SELECT id, first FROM frame"))
    hurt = ids[len(ids) // 2]
    # Those that need text of the frame from the damaged portion on; how versions are made of it is said by their rows.
    end = max(each for each in ids if first[each] == first[hurt]) & LOW
    end += rows(path, "SELECT size FROM frame WHERE id = ?", hurt & ~LOW | end)[0][0]
    needing = set()
    for n, each in enumerate(bodies):
        place = splices_of(path, each)
        if any(start < end and start + size > hurt & LOW for start, size in place):
            needing.add(n)
    assert 0 < len(needing) < len(bodies) - 10
    with closed(sqlite3.connect(path)) as connection, connection:
        data = bytearray(connection.execute("SELECT data FROM frame WHERE id = ?", (hurt,)).fetchone()[0])
        data[len(data) // 2] ^= 4
        connection.execute("UPDATE frame SET data = ? WHERE id = ?", (bytes(data), hurt))
    corrupt = set()
    with SqliteStore(path) as store:
        if handed_over:
            store.delete(run)
            run = other
        recording = store.open(run.id)
        for n, event in enumerate(recording.events()):
            try:
                assert recording.body(event.request) == bodies[n]
            except BlobCorrupt as error:
                assert f"of event {run.id}:{n} is corrupt" in str(error)
                corrupt.add(n)
    assert corrupt == needing


def splices_of(path: Path, body: bytes) -> list[tuple[int, int]]:
    """Where a body lies in its text."""
    with closed(sqlite3.connect(path)) as connection:
        key = connection.execute("SELECT value FROM meta WHERE name = 'key'").fetchone()[0]
        contents = Contents(KeyedHash(key), lambda sql, values: connection.execute(sql, values).fetchall())
        data = connection.execute("SELECT data FROM payload WHERE digest = ?", (KeyedHash(key).of(body),)).fetchone()[0]
        return [*contents._spliced._shape(unpack_splice(data)).pieces]


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM frame",
        "UPDATE frame SET first = first + 1",
        "UPDATE frame SET codec = 9",
        "UPDATE frame SET size = size - 1",
        "UPDATE frame SET data = X'00'",
        "UPDATE payload SET data = X'8080' WHERE codec = 2",
        "UPDATE payload SET data = X'01018F8F8F8F0F00' WHERE codec = 2",
        "UPDATE payload SET data = X'0100000000FFFFFFFFFF01' WHERE codec = 2",
        "UPDATE payload SET data = X'' WHERE codec = 2",
        "UPDATE payload SET data = X'FF01000000FF01' WHERE codec = 2",
    ],
)
def test_whatever_is_damaged_is_corrupt_by_name(path: Path, sql: str) -> None:
    with SqliteStore(path) as store:
        run = record(store, conversation(5))
    with closed(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql)
    with SqliteStore(path) as store:
        recording = store.open(run.id)
        for event in [*recording.events()]:
            with pytest.raises(BlobCorrupt, match=f"of event {run.id}:{event.number} is corrupt"):
                recording.body(event.request)
            assert recording.body(event.answer)


def test_a_change_says_in_its_row_what_it_is() -> None:
    for each in (
        Splice(1, 0, VersionChange(0, 0, (SplicePiece(0, 5),))),
        Splice(
            300,
            1 << 40,
            VersionChange(1 << 20, 7, (SplicePiece(1 << 30, 1), SplicePiece(2, 3), SplicePiece(0, 1 << 20))),
        ),
        Splice(7, 8, VersionChange(9, 10, ())),
    ):
        assert unpack_splice(each.pack()) == each


# --- sealing ------------------------------------------------------------------------------------------------------


def test_text_whose_frame_has_ended_is_one_row(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "FRAME", FRAME)
    bodies = conversation(60)
    with SqliteStore(path) as store:
        run = new_run()
        log = store.begin(run)
        log.write(opening(run))
        for n, each in enumerate(bodies):
            log.write([issued(n, each), settled(n)])
            assert requests(store, run) == bodies[: n + 1], "while it is recorded, too"
        portions = "SELECT max(n) FROM (SELECT count(*) n FROM frame WHERE first != ? GROUP BY first)"
        (last,) = rows(path, "SELECT max(first) FROM frame")[0]
        assert rows(path, portions, last) == [(1,)]
        log.write([closing(run)])
        assert rows(path, portions, -1) == [(1,)], "the last one at the end"
        log.write([issued(60, bodies[-1] + b"more"), settled(60)])
        log.close()
        assert requests(store, run) == [*bodies, bodies[-1] + b"more"]


def test_a_text_that_is_sealed_reads_as_it_did(path: Path) -> None:
    packing = frames.StreamPacker()
    said = [random.Random(n).randbytes(n * 700 % 9000).hex().encode() for n in range(40)]
    found: dict[int, frames.Portion] = {}
    whole = b""
    for each in [*said, None]:
        for portion in packing.seal() if each is None else packing.pack(each):
            within = range(portion.start, portion.start + portion.size)
            found = {at: known for at, known in found.items() if portion.start != portion.first or at not in within}
            found[portion.start] = portion
        whole += each or b""
        read = b""
        for first in sorted({portion.first for portion in found.values()}):
            assert len(read) == first
            read += frames.unpack([found[at] for at in sorted(found) if found[at].first == first])
        assert read == whole
    assert [portion.first for portion in found.values()] == sorted(found), "one portion a frame"


# --- deleting ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [FRAME, frames.FRAME])
def test_what_is_deleted_is_gone_from_the_file(path: Path, monkeypatch: pytest.MonkeyPatch, frame: int) -> None:
    monkeypatch.setattr(frames, "FRAME", frame)
    mine = random.Random(3).randbytes(9000)  # bytes that cannot be packed lie in a frame as they are
    with SqliteStore(path) as store:
        other = record(store, conversation(20))
        run = record(store, [b"[" + mine[:3000], b"[" + mine[:6000], b"[" + mine])
        store._file.write()[0].checkpoint()
        assert mine[6500:6600] in path.read_bytes()
        store.delete(run)
        assert requests(store, other) == conversation(20)
    assert not path.with_name("store.db-wal").exists()
    content = path.read_bytes()
    assert rows(path, "PRAGMA freelist_count") == [(0,)], "its pages are given back"
    assert not any(mine[at : at + 60] in content for at in range(0, 8900, 60))
    assert rows(path, "SELECT count(*) FROM text") == [(1,)]


def test_a_writing_connection_overwrites_what_it_deletes(path: Path) -> None:
    with SqliteStore(path) as store:
        record(store, [])
        with store._file.write()[0].transaction() as connection:
            assert connection.execute("PRAGMA secure_delete").fetchone() == (1,)


@pytest.mark.parametrize("forks", [1, 2])
def test_forks_keep_what_they_read_in_a_parent_that_is_deleted(path: Path, forks: int) -> None:
    bodies = conversation(60)
    other = [*bodies[:40], *(body([message(n) for n in range(40)] + [message(9000 + k)] * 2) for k in range(5))]
    with SqliteStore(path) as store:
        parent = record(store, bodies)
        made = [record(store, other, new_run(parent=parent.id, relation="fork")) for _ in range(forks)]
        for each in made:
            assert requests(store, each) == other
        store.delete(parent)
        for each in made:
            assert requests(store, each) == other
        left = {bytes(digest) for (digest,) in rows(path, "SELECT digest FROM payload")}
        hasher = store._file.hasher()
        assert hasher.of(bodies[39]) in left and hasher.of(bodies[41]) not in left
        assert kept(path) < len(other[-1]) * 1.3, "what is handed over is kept once, too"
        for each in made:
            store.delete(each)
    assert kept(path) == 0 and rows(path, "SELECT count(*) FROM text") == [(0,)]


def test_a_run_that_sent_the_same_keeps_it_when_the_other_is_deleted(path: Path) -> None:
    bodies = conversation(30)
    with SqliteStore(path) as store:
        one = record(store, bodies)
        run = new_run()
        log = store.begin(run)
        log.write([*opening(run), *(issued(n, each) for n, each in enumerate(bodies[5:20]))])
        reader = store.open(run.id)
        events = [*reader.events()]
        store.delete(one)
        # The rows that came with the events speak of the text of the other one.
        assert [reader.body(event.request) for event in events] == bodies[5:20]
        log.write([issued(15 + n, each) for n, each in enumerate(bodies[20:])])
        log.write([closing(run)])
        log.close()
        assert requests(store, run) == bodies[5:]


def test_a_run_is_deleted_although_what_others_have_of_it_is_damaged(path: Path) -> None:
    bodies = conversation(10)
    with SqliteStore(path) as store:
        one, other = record(store, bodies), record(store, bodies)
        with closed(sqlite3.connect(path)) as connection, connection:
            rows = connection.execute("SELECT id FROM payload WHERE codec = 2 ORDER BY id").fetchall()
            connection.execute("UPDATE payload SET data = X'80' WHERE id = ?", rows[3])
            connection.execute("UPDATE payload SET data = X'01FF0101FF01' WHERE id = ?", rows[5])
            # A piece of two gibibytes that is not there is not made up.
            connection.execute("UPDATE payload SET data = X'010000000080808008' WHERE id = ?", rows[7])
        store.delete(one)
        recording = store.open(other.id)
        for n, event in enumerate(recording.events()):
            if n in (3, 5, 7):
                with pytest.raises(BlobCorrupt, match=f"of event {other.id}:{n} is corrupt"):
                    recording.body(event.request)
            else:
                assert recording.body(event.request) == bodies[n]
    assert kept(path) < 20_000


def test_what_is_handed_over_may_be_changes_of_what_is_not(path: Path) -> None:
    """Only some bodies go over, and of those of a long chain of changes the last."""
    bodies = []
    for n in range(3, 120):
        messages = [message(each) for each in range(n)]
        for each in messages[-3::2]:
            each["cache_control"] = {"type": "ephemeral"}
        bodies.append(body(messages))
    with SqliteStore(path) as store:
        one = record(store, bodies)
        others = [record(store, bodies[7::9]), record(store, bodies[50:90]), record(store, [bodies[-1]])]
        before = [unpack_splice(data).before for (data,) in rows(path, "SELECT data FROM payload WHERE codec = 2")]
        assert sum(map(bool, before)) > 50, "many are changes"
        store.delete(one)
        for kept, some in zip(others, (bodies[7::9], bodies[50:90], [bodies[-1]]), strict=True):
            assert requests(store, kept) == some


# --- formats -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("old", [1, 2])
def test_a_store_of_an_older_format_goes_on_as_it_is_until_a_body_is_kept_as_a_change(path: Path, old: int) -> None:
    with SqliteStore(path) as store:
        first = record(store, [b'{"small":1}', b'{"small":2}'])
    with closed(sqlite3.connect(path)) as connection, connection:
        for table in ("frame", "text", *(("piece", "passage") if old == 1 else ())):
            connection.execute(f"DROP TABLE {table}")
        write_format(connection, Format(old, old))

    def found() -> Format:
        with closed(sqlite3.connect(path)) as connection:
            return read_format(connection)

    with SqliteStore(path) as store:
        second = record(store, [b'{"small":3}'])
        store.delete(first)
        assert found() == (old, old)
        third = record(store, conversation(5))
        assert found() == (WRITTEN, OLDEST_READER)
        assert requests(store, second) == [b'{"small":3}']
        assert requests(store, third) == conversation(5)
        fork = record(store, conversation(6), new_run(parent=third.id, relation="fork"))
        store.delete(third)
        assert requests(store, fork) == conversation(6)
    assert {codec for (codec,) in rows(path, "SELECT codec FROM payload WHERE size > 1024")} == {SPLICED}


def test_a_whole_body_of_an_older_store_is_found_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = conversation(8)
    with SqliteStore(path) as store:
        monkeypatch.setattr("reenact.store.payloads.LEAST_SPLICED", 1 << 30)
        before = record(store, bodies[:4])
        monkeypatch.undo()
        after = record(store, bodies)
        assert requests(store, before) == bodies[:4]
        assert requests(store, after) == bodies
        store.delete(before)
        assert requests(store, after) == bodies


def test_a_failed_transaction_leaves_no_text(path: Path) -> None:
    bodies = conversation(12)
    run = new_run()
    with SqliteStore(path) as store:
        log = store.begin(run)
        log.write(opening(run))
        with pytest.raises(StoreError), failing_late():
            log.write([issued(0, bodies[1])])
        log.write([issued(0, bodies[0])])
        before = rows(path, "SELECT count(*) FROM frame")
        for n in range(1, 12):
            with pytest.raises(StoreError), failing_late():
                log.write([issued(n, bodies[n])])
        assert rows(path, "SELECT count(*) FROM frame") == before
        for n in range(1, 12):
            log.write([issued(n, bodies[n])])
        log.close()
        assert requests(store, run) == bodies
        assert rows(path, "SELECT count(*) FROM frame WHERE id >> 32 NOT IN (SELECT id FROM text)") == [(0,)]
