"""The state of a step takes one row, whatever is in it: it reads as it was written, in stores and logs of older rows
too, and what is short in it is found, compared, taken out and forgotten like any other value."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing as closed
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import BlobMissing, StoreError
from reenact.facts.call import Fidelity, Kind
from reenact.facts.event import Payload
from reenact.facts.record import CheckpointTaken, Record
from reenact.facts.run import Run
from reenact.store.keyed_hash import KeyedHash
from reenact.store.schema import SHIFT
from reenact.store.slot_rows import PACKED, SHAPES, SHORT, SlotRow, StateReader, pack_state
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_check import check_store
from reenact.store.versions import OLDEST_READER, WRITTEN, Format, read_format, write_format
from reenact.timetravel.authorship import last_set
from tests.store.aging import age
from tests.store.records import closing, issued, new_run, opening, settled

HASH = KeyedHash(b"k" * 32)
ADDRESS = 7 << SHIFT | 9


def states(shapes: dict[int, str] | None = None) -> StateReader:
    return StateReader(lambda _, values: [(shapes[values[0]],)] if shapes and values[0] in shapes else [], HASH)


values = st.one_of(
    st.binary(max_size=SHORT).map(lambda data: SlotRow(True, data)),
    st.binary(min_size=16, max_size=16).map(lambda data: SlotRow(False, data)),
)


@given(st.dictionaries(st.text(), values, max_size=9), st.sampled_from(["in", "out", "file"]), st.text("ab \n"))
def test_a_row_says_what_it_was_made_of(slots: dict[str, SlotRow], phase: str, remark: str) -> None:
    row = pack_state(ADDRESS, phase, tuple(slots), "", slots.values(), "", remark)
    found = states().unpack(row)
    assert (found.names, found.kept) == (tuple(slots), list(slots.values()))
    shaped = pack_state(ADDRESS, phase, tuple(slots), "3", slots.values(), "", remark)
    assert states({7 << SHIFT | 3: row.name}).unpack(shaped) == found
    assert shaped.digest == row.digest, "another log may have its names in the row"
    slot_rows = states().as_slots(row)
    assert [each[3] for each in slot_rows if each[2] >= 0] == list(slots)
    assert all(each[4] == states().digest(kept) for each, kept in zip(slot_rows, slots.values(), strict=False))


@given(st.dictionaries(st.text(), values, max_size=5), st.data())
def test_a_row_that_was_changed_is_told(slots: dict[str, SlotRow], data: st.DataObject) -> None:
    row = pack_state(ADDRESS, "in", tuple(slots), "", slots.values(), "", "")
    at = data.draw(st.integers(0, len(row.digest) * 8 - 1))
    flipped = bytearray(row.digest)
    flipped[at >> 3] ^= 1 << (at & 7)
    for other in (
        row._replace(digest=bytes(flipped)),
        row._replace(digest=row.digest[:-1]),
        row._replace(event=row.event + 1),
        row._replace(phase="out"),
        row._replace(remark="x"),
        row._replace(fidelity=Fidelity.REDACTED.value),
        row._replace(name=json.dumps([*slots, "more"])),
        row._replace(name="8"),
        row._replace(name="7"),
        row._replace(name="{}"),
    ):
        with pytest.raises(ValueError, match=r".+"):
            states({7 << SHIFT | 7: "7"}).unpack(other)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "store.db") as found:
        yield found


def taken(event: int, phase: str, **slots: object) -> CheckpointTaken:
    return CheckpointTaken(event, phase, {name: json.dumps(each).encode() for name, each in slots.items()})


def steps(count: int, **more: object) -> list[Record]:
    """Steps with what counts up, what stays, and a long value that changes at every third one."""
    found: list[Record] = []
    for n in range(count):
        state = {"n": n, "plan": "as it was", "text": f"{n // 3} " * 400, **more}
        found += [
            issued(n, kind=Kind.STEP, name="s"),
            taken(n, "in", **state),
            taken(n, "out", **{**state, "n": n + 1}),
        ]
        found.append(settled(n))
    return found


def recorded(store: SqliteStore, records: list[Record], **fields: object) -> Run:
    run = new_run(**fields)
    log = store.begin(run)
    log.write([*opening(run), *records, closing(run)])
    log.close()
    return run


def rows(store: SqliteStore, sql: str, *values: object) -> list[tuple[object, ...]]:
    with closed(sqlite3.connect(store.path)) as connection:
        return connection.execute(sql, values).fetchall()


def change(store: SqliteStore, sql: str, *values: object) -> None:
    with closed(sqlite3.connect(store.path)) as connection, connection:
        assert connection.execute(sql, values).rowcount > 0


def answers(store: SqliteStore, run: Run) -> list[object]:
    """Everything that is said of states, without digests, which are a store's own."""
    recording = store.open(run.id)
    found: list[object] = []
    snapshots = list(recording.snapshots())
    for each in snapshots:
        found.append((each.event, each.phase, each.lane, list(each.slots)))
        found.append(list((recording.checkpoint_slots(each.event, each.phase) or {}).items()))
        bodies = [recording.body(Payload(digest, 0)) if digest else b"" for digest in each.slots.values()]
        assert bodies == list((recording.checkpoint_slots(each.event, each.phase) or {}).values())
    for name in ("n", "plan", "text", "absent"):
        found.append([(each.event, each.phase, each.digest is None, each.body) for each in recording.versions(name)])
        found.append([(each.event, each.phase) for each in recording.snapshots(unlike=(name, None))])
        for each in snapshots[::5]:
            if name in each.slots:
                unlike = recording.snapshots(unlike=(name, each.slots[name]), backwards=True)
                found.append([(each.event, each.phase) for each in unlike])
    return found


def test_a_state_takes_one_row_and_its_short_values_no_others(store: SqliteStore) -> None:
    recorded(store, steps(30))
    assert rows(store, "SELECT count(*), min(n), max(n) FROM slot") == [(60, PACKED, PACKED)]
    assert rows(store, "SELECT names FROM shape") == [('["n","plan","text"]',)]
    assert rows(store, "SELECT count(*) FROM payload") == [(12,)], "ten long values, what is asked and what comes"


def test_states_read_alike_in_rows_of_each_sort(store: SqliteStore, tmp_path: Path) -> None:
    run = recorded(
        store, [*steps(20), issued(20), CheckpointTaken(20, "in", {}), CheckpointTaken(20, "out", {"n": b""})]
    )
    now = answers(store, run)
    assert last_set(store.open(run.id), ["plan"], store.open(run.id).event(19)).after == "as it was"
    store.close()
    age(tmp_path / "store.db", 2)
    with SqliteStore(tmp_path / "store.db") as old:
        assert rows(old, "SELECT count(*) FROM slot WHERE n = ?", PACKED) == [(0,)]
        assert answers(old, run) == now


def test_a_log_may_have_rows_of_both_sorts(store: SqliteStore) -> None:
    run = recorded(store, steps(9))
    now = answers(store, run)
    with closed(sqlite3.connect(store.path)) as connection, connection:
        (key,) = connection.execute("SELECT value FROM meta WHERE name = 'key'").fetchone()
        reader = StateReader(lambda sql, given: connection.execute(sql, given).fetchall(), KeyedHash(key))
        found = connection.execute("SELECT event, phase, n, name, digest, fidelity, remark FROM slot").fetchall()
        odd = [(row, reader.unpack(row).kept, reader.as_slots(row)) for row in found if row[0] & 1]
        for row, values, slots in odd:
            for kept in values:
                connection.execute(
                    "INSERT OR IGNORE INTO payload(digest, size, codec, owner, data) VALUES (?, ?, 0, ?, ?)",
                    (reader.digest(kept), len(kept.data), row[0] >> SHIFT, kept.data),
                )
            connection.execute("DELETE FROM slot WHERE event = ? AND phase = ?", row[:2])
            connection.executemany("INSERT INTO slot VALUES (?, ?, ?, ?, ?, ?, ?)", slots)
    assert answers(store, run) == now
    assert check_store(store.path).breaks == ()


def test_a_store_of_format_4_has_a_row_a_slot_until_it_is_one_of_today(store: SqliteStore) -> None:
    recorded(store, [])
    with closed(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("DROP TABLE shape")
        write_format(connection, Format(4, 4))
    with SqliteStore(store.path) as old:
        early = recorded(old, [issued(0), taken(0, "in", n=1, m=2)])
        assert rows(old, "SELECT n FROM slot ORDER BY n") == [(0,), (1,)]
        recorded(old, [issued(0, b"x" * 3000)])
        with closed(sqlite3.connect(old.path)) as connection:
            assert read_format(connection) == (WRITTEN, OLDEST_READER)
        late = recorded(old, [issued(0), taken(0, "in", n=1, m=2)])
        assert rows(old, "SELECT n FROM slot WHERE n < 0") == [(PACKED,)]
        for run in (early, late):
            assert old.open(run.id).checkpoint_slots(0, "in") == {"n": b"1", "m": b"2"}


@pytest.mark.parametrize("sort", ["of today", "a row a slot"])
def test_a_fork_leaves_equal_states_to_its_parent_and_has_them_when_that_goes(
    store: SqliteStore, tmp_path: Path, sort: str
) -> None:
    parent = recorded(store, steps(12))
    now = answers(store, parent)
    if sort != "of today":
        store.close()
        age(tmp_path / "store.db", 2)
        store = SqliteStore(tmp_path / "store.db")
        recorded(store, [issued(0, b"y" * 3000)])
        assert rows(store, "SELECT DISTINCT n FROM slot ORDER BY n") == [(0,), (1,), (2,)]
    fork = recorded(store, [*steps(11), *steps(12)[-4:-2], taken(11, "out", n=0), settled(11)],
                    parent=parent.id, relation="fork")  # fmt: skip
    (log,) = rows(store, "SELECT log FROM run WHERE run_id = ?", fork.id)
    own = rows(store, "SELECT count(*) FROM slot WHERE event >> 32 = ?", *log)
    assert own == [(2,)], "those of the last step only"
    before = answers(store, fork)
    assert before[: 4 * 22] == now[: 4 * 11] + before[4 * 11 : 4 * 22]
    store.delete(parent)
    assert answers(store, fork) == before
    assert check_store(store.path).breaks == ()
    store.close()


def test_what_is_short_is_found_by_its_digest(store: SqliteStore) -> None:
    run = recorded(store, steps(5))
    snapshot = next(store.open(run.id).snapshots())
    assert store.payload(snapshot.slots["plan"]) == b'"as it was"'
    assert store.open(run.id).body(Payload(snapshot.slots["n"], 1)) == b"0"
    other = recorded(store, [])
    with pytest.raises(BlobMissing):
        store.open(other.id).body(Payload(snapshot.slots["plan"], 11))


def test_what_is_short_is_taken_out_of_a_run_that_is_thinned(store: SqliteStore) -> None:
    run, other = recorded(store, steps(5, word="CANARY-1")), recorded(store, steps(5, word="CANARY-1"))
    digests = [each.slots for each in store.open(run.id).snapshots()]
    assert store.thin(run.id, "sample 0.1")
    recording = store.open(run.id)
    assert [each.slots for each in recording.snapshots()] == digests
    with pytest.raises(BlobMissing, match="was removed"):
        recording.checkpoint_slots(1, "in")
    assert store.open(other.id).checkpoint_slots(1, "in") is not None
    assert check_store(store.path).breaks == ()
    store.delete(other)
    store.close()
    assert b"CANARY-1" not in store.path.read_bytes()


def test_a_deleted_run_leaves_neither_values_nor_names_in_the_file(store: SqliteStore) -> None:
    kept = recorded(store, steps(3))
    run = recorded(store, steps(3, NAME_1="VALUE-1"))
    store.delete(run)
    store.close()
    found = b"".join(each.read_bytes() for each in store.path.parent.iterdir() if each.is_file())
    assert b"VALUE-1" not in found and b"NAME_1" not in found
    with SqliteStore(store.path) as again:
        assert again.open(kept.id).checkpoint_slots(0, "in") is not None


def test_names_that_change_with_every_step_stand_in_its_row(store: SqliteStore) -> None:
    said: list[Record] = []
    for n in range(SHAPES + 9):
        said += [issued(n), taken(n, "in", **{f"name {n}": n})]
    run = recorded(store, said)
    assert rows(store, "SELECT count(*) FROM shape") == [(SHAPES,)]
    recording = store.open(run.id)
    for n in range(SHAPES + 9):
        assert recording.checkpoint_slots(n, "in") == {f"name {n}": b"%d" % n}
    assert [each.event for each in recording.snapshots(unlike=(f"name {SHAPES + 3}", None))] == [SHAPES + 3]


def test_a_state_that_is_written_again_takes_the_place_of_the_first(store: SqliteStore) -> None:
    run = recorded(store, [issued(0), taken(0, "in", n=1, m=1), taken(0, "in", k=2)])
    assert store.open(run.id).checkpoint_slots(0, "in") == {"k": b"2"}


def test_names_of_a_batch_that_was_lost_are_written_again(store: SqliteStore) -> None:
    run = new_run()
    log = store.begin(run)
    log.write([*opening(run), issued(0)])
    with pytest.raises(StoreError):
        log.write([taken(0, "in", n=1), issued(1, head={"no": object()})])
    log.write([issued(1), taken(1, "in", n=2), closing(run)])
    log.close()
    assert store.open(run.id).checkpoint_slots(1, "in") == {"n": b"2"}
    assert store.open(run.id).checkpoint_slots(0, "in") is None
    assert check_store(store.path).breaks == ()


def test_a_damaged_state_is_named_wherever_it_is_read(store: SqliteStore) -> None:
    run = recorded(store, steps(4))
    change(store, "UPDATE slot SET digest = zeroblob(16) WHERE event & 4294967295 = 2 AND phase = 'in'")
    recording = store.open(run.id)
    for read in (
        lambda: recording.checkpoint_slots(2, "in"),
        lambda: list(recording.snapshots()),
        lambda: list(recording.versions("n")),
    ):
        with pytest.raises(StoreError, match="the state of event 2 is damaged"):
            read()
    with pytest.raises(StoreError, match="the state of event 2 is damaged"):
        recording.checkpoint_slots(2, "out")  # most of it is what the step was given
    assert recording.checkpoint_slots(1, "out") is not None and recording.checkpoint_slots(3, "in") is not None


def test_what_a_step_has_left_says_what_has_changed(store: SqliteStore) -> None:
    long, plan = "x" * 900, "stays as it was"
    run = new_run()
    log = store.begin(run)
    log.write(
        [
            *opening(run),
            issued(0),
            taken(0, "in", long=long, plan=plan, n=1),
            taken(0, "out", long=long, plan=plan, n=2),
        ]
    )
    log.write([issued(1), taken(1, "in", long=long, n=2)])
    log.write([taken(1, "out", n=2, more=True, long=long), taken(7, "out", n=3)])
    assert rows(store, "SELECT sum(length(digest)) FROM slot WHERE phase = 'out'") == [(4 + 4 + 4 + 7 + 4 + 2,)]
    recording = store.open(run.id)
    assert list((recording.checkpoint_slots(1, "out") or {}).items()) == [
        ("n", b"2"), ("more", b"true"), ("long", json.dumps(long).encode()),
    ]  # fmt: skip
    assert recording.checkpoint_slots(0, "out") == {**(recording.checkpoint_slots(0, "in") or {}), "n": b"2"}
    log.write([taken(0, "in", plan="another"), closing(run)])
    log.close()
    assert recording.checkpoint_slots(0, "in") == {"plan": b'"another"'}
    assert recording.checkpoint_slots(0, "out") == {
        "long": json.dumps(long).encode(), "plan": json.dumps(plan).encode(), "n": b"2"
    }  # fmt: skip
    assert check_store(store.path).breaks == ()


def test_what_a_step_has_left_is_whole_where_what_it_was_given_has_a_row_a_slot(
    store: SqliteStore, tmp_path: Path
) -> None:
    parent = recorded(store, steps(3))
    store.close()
    age(tmp_path / "store.db", 2)
    with SqliteStore(tmp_path / "store.db") as again:
        recorded(again, [issued(0, b"y" * 3000)])
        fork = new_run(parent=parent.id, relation="fork")
        log = again.begin(fork)
        said = steps(3)
        log.write([*opening(fork), *said[:10]])
        log.write([said[10], said[11], closing(fork)])
        log.close()
        assert answers(again, fork) == answers(again, parent)
        assert check_store(again.path).breaks == ()


def test_what_small_steps_are_given_and_leave_is_kept_as_what_is_new(store: SqliteStore) -> None:
    said: list[Record] = []
    bodies = [
        b'{"step":%d,"plan":"decide what is to be done next, and do it","budget":%d}' % (n, 9000 - n) for n in range(40)
    ]
    for n, body in enumerate(bodies):
        said += [issued(n, body, kind=Kind.STEP, name="s"), settled(n, body[:-1] + b',"done":true}')]
    said += [issued(40, bodies[0] + b" ", name="tool"), settled(40, bodies[1] + b" ")]
    run = recorded(store, said)
    assert rows(store, "SELECT codec, count(*) FROM payload GROUP BY codec") == [(0, 2), (2, 80)], "not those of a tool"
    recording = store.open(run.id)
    for n, body in enumerate(bodies):
        event = recording.event(n)
        assert (recording.body(event.request), recording.body(event.answer)) == (body, body[:-1] + b',"done":true}')
    assert rows(store, "SELECT sum(length(data)) < 80 * 24 FROM payload WHERE codec = 2") == [(1,)]


def test_a_state_that_comes_from_another_log_has_its_names_with_it(store: SqliteStore) -> None:
    one: list[Record] = [issued(0), taken(0, "in", a=1), taken(0, "out", a=1), settled(0)]
    other: list[Record] = [issued(1), taken(1, "in", b=1), taken(1, "out", b=1), settled(1)]
    parent = recorded(store, [*one, *other])
    fork = recorded(store, [*other, *one], parent=parent.id, relation="fork")
    (log,) = rows(store, "SELECT log FROM run WHERE run_id = ?", fork.id)
    assert rows(store, "SELECT count(*) FROM slot WHERE event >> 32 = ?", *log) == [(0,)]
    store.delete(parent)
    recording = store.open(fork.id)
    for phase in ("in", "out"):
        assert recording.checkpoint_slots(0, phase) == {"a": b"1"}
        assert recording.checkpoint_slots(1, phase) == {"b": b"1"}
    assert check_store(store.path).breaks == ()
