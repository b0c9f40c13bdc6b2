"""A fork that leaves rows to its parent says by every view what it would say with rows of its own: whatever was left
out or changed, in whatever batches it was written, and when the parent, or the fork between them, is deleted."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from sqlite3 import Connection

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from reenact.abc.store import Store
from reenact.facts.call import Fidelity, Kind
from reenact.facts.record import AmbientRead, CheckpointTaken, EvidenceNoted, LaneOpened, OutputPrinted, Record
from reenact.facts.run import Run, Status
from reenact.store.connection import WriteConnection
from reenact.store.memory_store import MemoryStore
from reenact.store.pieces import pieces
from reenact.store.schema import LOW, SHIFT
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_check import check_store
from tests.store.records import closing, issued, new_run, opening, settled, streamed, turns
from tests.store.test_machine import Writer, again, batch_of, everything

STATES = ("finished", "died", "under way")


@contextmanager
def stores() -> Iterator[tuple[SqliteStore, MemoryStore]]:
    """A store that shares rows, and one that does not."""
    with tempfile.TemporaryDirectory() as folder, SqliteStore(Path(folder) / "store.db") as store:
        yield store, MemoryStore()


def begun(both: tuple[Store, ...], writer: Writer, data: st.DataObject) -> Writer:
    """A run that has said in both stores what its writer is to say, in any batches."""
    writer.logs = [store.begin(writer.run) for store in both]
    records, writer.said = writer.said, []
    for log in writer.logs:
        log.write(opening(writer.run))
    while records:
        size = data.draw(st.integers(1, len(records)))
        writer.write(records[:size])
        del records[:size]
    return writer


def goes_on(writer: Writer, data: st.DataObject, state: str) -> None:
    """It says more, and comes to its end, if it does."""
    for _ in range(data.draw(st.integers(0, 2))):
        writer.write(batch_of(writer, data))
    for log in writer.logs:
        if state == "finished":
            log.write([closing(writer.run, Status.OK)])
        if state != "under way":
            log.close()


def agree(both: tuple[Store, ...], runs: list[Run]) -> None:
    """Both stores say the same of all of these runs."""
    store, memory = both
    assert [*store.runs()] == [*memory.runs()]
    for text in ("shared", "else", "search", "shared docs", "boom"):
        assert [*store.runs(text=text)] == [*memory.runs(text=text)]
    for run in runs:
        assert everything(store, run) == everything(memory, run)


def shared(store: SqliteStore) -> int:
    """How many events lie in one log and are read by another."""
    rows = store._file.read()[0].rows("SELECT count(*) FROM sqlite_master WHERE name = 'piece'")
    if not rows[0][0]:
        return 0
    with store._file.write()[0].transaction() as connection:
        logs = [log for (log,) in connection.execute("SELECT id FROM log")]
        return sum(len(piece.events) for log in logs for piece in pieces(connection, log))


@settings(max_examples=settings().max_examples // 2, deadline=None)
@given(st.data())
def test_a_fork_says_what_it_would_say_with_rows_of_its_own(data: st.DataObject) -> None:
    with stores() as both:
        parent = begun(both, Writer(new_run(), []), data)
        for _ in range(data.draw(st.integers(3, 6))):
            parent.write(batch_of(parent, data))
        goes_on(parent, data, data.draw(st.sampled_from(STATES)))
        fork = begun(both, again(parent, data), data)
        goes_on(fork, data, data.draw(st.sampled_from(STATES)))
        beyond = begun(both, again(fork, data), data)
        state = data.draw(st.sampled_from(STATES))
        goes_on(beyond, data, state)
        runs = [parent.run, fork.run, beyond.run]
        agree(both, runs)
        event(f"shared {min(shared(both[0]), 4)}")
        for _ in range(data.draw(st.integers(1, 2))):
            leaving = data.draw(st.sampled_from(runs[:-1] or runs))
            if both[0].run(leaving.id).status is Status.RECORDING:
                continue
            for store in both:
                store.delete(leaving)
            runs.remove(leaving)
            agree(both, runs)
            assert check_store(both[0].path).breaks == ()
        if state == "under way":
            beyond.write(batch_of(beyond, data))
            agree(both, runs)


def test_what_differs_is_the_forks_own(tmp_path: Path) -> None:
    said = [each for n in range(6) for each in (issued(n), settled(n))]
    with SqliteStore(tmp_path / "store.db") as store:
        parent = new_run()
        log = store.begin(parent)
        log.write([*opening(parent), *said, closing(parent)])
        log.close()
        fork = new_run(parent=parent.id, relation="fork")
        log = store.begin(fork)
        log.write([*opening(fork), *said[:6], issued(3), settled(3, b"else"), *said[8:11]])
        assert rows_of(store, fork)["event"] == 2, "another answer, and none yet"
        log.write([EvidenceNoted(4, "late", 1)])
        found = [*store.events(fork.id)]
        assert [each.number for each in found] == [0, 1, 2, 3, 4, 5]
        assert store.open(fork.id).body(found[3].answer) == b"else"
        assert dict(found[4].attributes) == {"late": 1} and found[5].outcome is None
        assert rows_of(store, fork)["event"] == 3, "the one with evidence was taken back"
        log.write([settled(5)])
        assert rows_of(store, fork)["event"] == 2 and store.event(f"{fork.id}:5").outcome is not None
        assert [dict(each.attributes) for each in store.events(parent.id)] == [{}] * 6
        log.close()


def kept(store: SqliteStore, run: Run, *batches: list[Record]) -> Run:
    """A run that has said this, and ended."""
    log = store.begin(run)
    told: list[list[Record]] = [opening(run), *batches, [closing(run)]]
    for records in told:
        log.write(records)
    log.close()
    return run


@pytest.mark.parametrize("earlier", [0, 1, 5])
@pytest.mark.parametrize("deleted", [False, True])
def test_what_is_read_later_at_a_shared_place_stays_later(tmp_path: Path, earlier: int, deleted: bool) -> None:
    first, second = (AmbientRead(0, 0, "wall", each) for each in (b"first", b"second"))
    with SqliteStore(tmp_path / "store.db") as store:
        notes: list[Record] = [EvidenceNoted(0, f"note {n}", n) for n in range(earlier)]
        parent = kept(store, new_run(), [issued(0), *notes, settled(0), first])
        fork = new_run(parent=parent.id, relation="fork")
        log = store.begin(fork)
        log.write([*opening(fork), first])
        if deleted:
            with SqliteStore(tmp_path / "store.db") as other:
                other.delete(parent)
        log.write([second])
        log.close()
        assert store.open(fork.id).ambient("root", 0) == {"wall": b"firstsecond"}


def test_a_parent_that_is_deleted_as_its_fork_begins_is_nobodys_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SqliteStore(tmp_path / "store.db") as store, SqliteStore(tmp_path / "store.db") as other:
        parent = kept(store, new_run(), [issued(0), settled(0)])
        store.run(parent.id)
        transaction = WriteConnection.transaction

        def begins(writing: WriteConnection, **options: bool) -> AbstractContextManager[Connection]:
            monkeypatch.setattr(WriteConnection, "transaction", transaction)
            other.delete(parent)
            return transaction(writing, **options)

        monkeypatch.setattr(WriteConnection, "transaction", begins)
        said: list[Record] = [
            issued(0),
            settled(0),
            turns(0, 2),
            OutputPrinted(1, 0, b"hello"),
            AmbientRead(0, 0, "w", b"x"),
        ]
        fork = kept(store, new_run(parent=parent.id, relation="fork"), said)
        found = store.open(fork.id)
        assert len([*found.events()]) == 1 and len([*found.deliveries()]) == 2
        assert b"".join(found.printed(1)) == b"hello" and found.ambient("root", 0) == {"w": b"x"}


def test_the_text_of_a_fork_of_a_fork_outlives_the_first(tmp_path: Path) -> None:
    def calls(*words: str) -> list[Record]:
        return [each for n, word in enumerate(words) for each in (issued(n), settled(n, f"{word} ".encode() * 900))]

    with SqliteStore(tmp_path / "store.db") as store:
        parent = kept(store, new_run(), calls("alpha", "beta", "gamma"))
        other = calls("alpha", "delta", "omega", "sigma")
        fork = kept(store, new_run(parent=parent.id, relation="fork"), other)
        beyond = kept(store, new_run(parent=fork.id, relation="fork"), other)
        store.delete(parent)
        for word in ("alpha", "delta", "omega", "sigma"):
            assert {run.id for run in store.runs(text=word)} == {fork.id, beyond.id}


def test_output_is_shared_up_to_what_is_not_exact(tmp_path: Path) -> None:
    one, two = OutputPrinted(1, 0, b"one "), OutputPrinted(1, 0, b"two ")
    with SqliteStore(tmp_path / "store.db") as store:
        parent = kept(store, new_run(), [one, OutputPrinted(1, 0, b"____", Fidelity.SEALED), two])
        fork = kept(store, new_run(parent=parent.id, relation="fork"), [one, two])
        assert b"".join(store.open(fork.id).printed(1)) == b"one two "
        store.delete(parent)
        assert b"".join(store.open(fork.id).printed(1)) == b"one two "


def test_a_payload_that_went_with_the_parent_is_kept_anew(tmp_path: Path) -> None:
    state, other_state = (CheckpointTaken(0, "in", {"x": each * 500}) for each in (b"v", b"w"))
    with SqliteStore(tmp_path / "store.db") as store, SqliteStore(tmp_path / "store.db") as other:
        parent = kept(store, new_run(), [issued(0, kind=Kind.STEP), state])
        fork = new_run(parent=parent.id, relation="fork")
        log = store.begin(fork)
        log.write([*opening(fork), issued(0, kind=Kind.STEP), state])
        log.write([other_state])
        other.delete(parent)
        log.write([issued(1), settled(1, b"v" * 500)])
        log.close()
        recording = store.open(fork.id)
        assert recording.body(recording.event(1).answer) == b"v" * 500


def test_a_fork_that_lost_one_base_keeps_what_it_uses_of_the_others(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "store.db") as store, SqliteStore(tmp_path / "store.db") as other:
        first = kept(store, new_run(), [issued(0), settled(0, b"v" * 500)])
        parent = kept(store, new_run(parent=first.id, relation="fork"), [issued(0)])
        fork = new_run(parent=parent.id, relation="fork")
        log = store.begin(fork)
        log.write([*opening(fork), issued(0)])
        other.delete(parent)
        log.write([issued(1), settled(1, b"v" * 500)])
        other.delete(first)
        log.close()
        recording = store.open(fork.id)
        assert recording.body(recording.event(1).answer) == b"v" * 500


def test_a_damaged_parent_costs_the_fork_nothing(tmp_path: Path) -> None:
    said = [
        issued(0, kind=Kind.HTTP),
        *streamed(0, [b"a" * 300, b"b"]),
        OutputPrinted(1, 0, b"said " * 100),
        turns(0, 3),
    ]
    with SqliteStore(tmp_path / "store.db") as store:
        parent = new_run()
        log = store.begin(parent)
        log.write([*opening(parent), *said, closing(parent)])
        log.close()
        with store._file.write()[0].transaction() as connection:
            connection.execute("UPDATE chunk SET segments = x'01ff'")
            connection.execute("UPDATE printed SET data = x'ff'")
            connection.execute("UPDATE turns SET crc = 0")
        fork = new_run(parent=parent.id, relation="fork")
        log = store.begin(fork)
        log.write([*opening(fork), *said, closing(fork)])
        log.close()
        found = store.open(fork.id)
        assert [data for _, _, data in found.parts(0)] == [b"a" * 300, b"b"]
        assert b"".join(found.printed(1)) == b"said " * 100
        assert len([*found.deliveries()]) == 3


def long_run(store: Store, size: int, **fields: object) -> Run:
    """A run of so many calls, each with its turn."""
    run = new_run(**fields)
    log = store.begin(run)
    log.write(opening(run))
    for first in range(0, size, 50):
        numbers = range(first, min(first + 50, size))
        log.write([LaneOpened(1 + n, f"root>step#{n}", 0, scope=True) for n in numbers if n % 3 == 0])
        lanes = {n: 1 + n for n in numbers if n % 3 == 0}
        log.write([issued(n, b"%d" % n, lane=lanes.get(n, 0)) for n in numbers])
        log.write([settled(n, b"[%d]" % n) for n in numbers])
        log.write([turns(first, len(numbers)), *(AmbientRead(0, n, "wall", b"%d" % n) for n in numbers)])
        log.write([OutputPrinted(1 + n % 2, n, b"said %d\n" % n) for n in numbers])
    log.write([closing(run)])
    log.close()
    return run


def rows_of(store: SqliteStore, run: Run) -> dict[str, int]:
    """How many rows of each table are a run's own."""
    reading = store._file.read()[0]
    log = reading.row("SELECT log FROM run WHERE run_id = ?", (run.id,))[0]
    keys = {"event": "id", "stream": "id", "chunk": "event", "slot": "event", "note": "owner", "turns": "id"}
    span = (log << SHIFT, log << SHIFT | LOW)
    found = {
        table: reading.row(f"SELECT count(*) FROM {table} WHERE {key} BETWEEN ? AND ?", span)[0]
        for table, key in keys.items()
    }
    for table in ("lane", "printed", "ambient"):
        column = {"lane": "id", "printed": "owner", "ambient": "strand"}[table]
        found[table] = reading.row(f"SELECT count(*) FROM {table} WHERE {column} BETWEEN ? AND ?", span)[0]
    found["words"] = reading.row("SELECT count(*) FROM words WHERE id = ? OR id BETWEEN ? AND ?", (log, *span))[0]
    return found | {"held": reading.row("SELECT count(*) FROM held WHERE log = ?", (log,))[0]}


def test_what_a_fork_adds_does_not_grow_with_its_prefix(tmp_path: Path, sweep: bool) -> None:
    found = []
    for size in (1_000, 10_000 if sweep else 3_000):
        with SqliteStore(tmp_path / f"{size}.db") as store:
            parent = long_run(store, size)
            before = used(store)
            fork = long_run(store, size, parent=parent.id, relation="fork")
            once = used(store) - before
            fork_of_fork = long_run(store, size, parent=fork.id, relation="fork")
            found_by_text = [*store.runs(text=f"{min(size, 5_000) - 1} search")]
            assert found_by_text == [store.run(each.id) for each in (fork_of_fork, fork, parent)]
            # The first fork has its parent's text cut in the index, and the index drops what it held before by and by.
            assert once <= max(16 * 4096, 20 * size), "20 bytes for a call of the prefix"
            assert used(store) - before - once <= 16 * 4096, "a few pages, whatever its length"
            found.append((rows_of(store, fork), rows_of(store, fork_of_fork)))
            assert everything_of(store, fork) == everything_of(store, fork_of_fork) == everything_of(store, parent)
    assert found[0] == found[1]
    assert sum(found[0][0].values()) == 0


def everything_of(store: SqliteStore, run: Run) -> list[object]:
    """Events and order of a run, without its id."""
    recording = store.open(run.id)
    events = [(each.number, each.call, recording.body(each.answer), each.delivery) for each in recording.events()]
    said = [b"".join(recording.printed(stream)) for stream in (1, 2)]
    lanes = [*recording.lanes()], recording.lane("root>step#9"), recording.lane("root")
    return [events, [*recording.deliveries()], [*recording.reads()], recording.ambient("root", 7), said, lanes]


def used(store: SqliteStore) -> int:
    """Bytes of the pages in use, all of them in the file."""
    store._file.write()[0].checkpoint()
    pages, free, size = (
        store._file.read()[0].row(f"PRAGMA {name}")[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def test_reads_that_go_on_follow_those_that_were_left_to_the_parent(tmp_path: Path) -> None:
    first, more = AmbientRead(0, 0, "wall", b"a"), AmbientRead(0, 0, "wall", b"b")
    with SqliteStore(tmp_path / "store.db") as store:
        parent = new_run()
        log = store.begin(parent)
        log.write([*opening(parent), AmbientRead(0, 1, "wall", b"x"), first, closing(parent)])
        log.close()
        fork = new_run(parent=parent.id, relation="fork")
        log = store.begin(fork)
        for records in ([*opening(fork), first], [more], [closing(fork)]):
            log.write(records)
        log.close()
        assert store.open(fork.id).ambient("root", 0) == {"wall": b"ab"}
        store.delete(store.run(parent.id))
        assert store.open(fork.id).ambient("root", 0) == {"wall": b"ab"}
