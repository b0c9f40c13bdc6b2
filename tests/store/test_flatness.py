"""What a look at a run costs does not depend on how long it is: statements and rows are counted, not time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from reenact.facts.call import Kind
from reenact.facts.record import AmbientRead, LaneOpened, Record
from reenact.store.connection import PAGE, WriteConnection
from reenact.store.salvaged_store import Rows
from reenact.store.sqlite_store import SqliteStore
from tests.store.records import closing, issued, new_run, opening, settled, turns

LONG = 100_000
SHORT = 4_000


def events_of(size: int) -> Iterator[Record]:
    """A run of so many calls in four lanes, with its order and some clock reads."""
    yield from (LaneOpened(n, f"root/l#{n}", None) for n in range(1, 4))
    for n in range(size):
        yield issued(n, b"%d" % n, lane=n % 4, name="rare" if n == size - 1 else "search_docs", kind=Kind.TOOL)
        yield settled(n, b"[%d]" % n)
        if n % 100 == 0:
            yield AmbientRead(0, n, "wall", b"12345678")
            yield turns(n, 100)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, SqliteStore]]:
    """A store with a short run, and one with a long one."""
    found = {}
    for size in (SHORT, LONG):
        store = found[size] = SqliteStore(tmp_path_factory.mktemp(f"run{size}") / "store.db")
        run = new_run()
        log = store.begin(run)
        log.write(opening(run))
        records = events_of(size)
        while batch := [*islice(records, 5000)]:
            log.write(batch)
        log.write([closing(run)])
        log.close()
    yield found
    for store in found.values():
        store.close()


class Counter:
    """Counts the statements and rows of a store's reading connection."""

    def __init__(self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.statements = self.rows = 0
        reading, _ = store._file.read()
        ask = reading.rows

        def counting(sql: str, values: object = ()) -> list[object]:
            found: list[object] = ask(sql, values)  # type: ignore[arg-type]
            self.statements += 1
            self.rows += len(found)
            return found

        monkeypatch.setattr(reading, "rows", counting)


LOOKS: dict[str, Callable[[SqliteStore, Rows, int], object]] = {
    "open": lambda store, recording, size: store.open("@"),
    "count": lambda store, recording, size: recording.count(),
    "one event": lambda store, recording, size: recording.event(size // 2),
    "next event of a lane": lambda store, recording, size: next(recording.events(lane="root/l#3", after=size // 2)),
    "by name": lambda store, recording, size: store.event("@:rare#1"),
    "the order from the middle": lambda store, recording, size: next(recording.deliveries(size // 2)),
    "an ambient read": lambda store, recording, size: recording.ambient("root", size - 100),
    "a body": lambda store, recording, size: recording.body(recording.event(size // 2).answer),
    "the last event": lambda store, recording, size: recording.last(),
    "the runs": lambda store, recording, size: [*store.runs(agent="")],
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_costs_the_same_in_a_long_run(
    stores: dict[int, SqliteStore], monkeypatch: pytest.MonkeyPatch, look: str
) -> None:
    costs = {}
    for size, store in stores.items():
        recording = store.open("@")
        counter = Counter(store, monkeypatch)
        LOOKS[look](store, recording, size)
        costs[size] = counter.statements, counter.rows
        monkeypatch.undo()
    assert costs[LONG] == costs[SHORT]
    assert costs[LONG][0] <= 5 and costs[LONG][1] <= PAGE + 5


def test_a_walk_costs_one_statement_a_page(stores: dict[int, SqliteStore], monkeypatch: pytest.MonkeyPatch) -> None:
    store = stores[LONG]
    recording = store.open("@")
    counter = Counter(store, monkeypatch)
    for event in recording.events(lane="root/l#1"):
        recording.body(event.request)
        recording.body(event.answer)
    assert counter.statements <= LONG / 4 / PAGE + 5
    assert counter.rows <= LONG / 4 + 3


def test_no_view_of_a_run_scans_a_table(stores: dict[int, SqliteStore], monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked of SQLite itself: every query of a run's views searches by a key."""
    store = stores[SHORT]
    reading, _ = store._file.read()
    asked: list[tuple[str, tuple[object, ...]]] = []
    ask = reading.rows

    def noting(sql: str, values: object = ()) -> list[object]:
        asked.append((sql, tuple(values)))  # type: ignore[arg-type]
        return ask(sql, values)  # type: ignore[arg-type]

    monkeypatch.setattr(reading, "rows", noting)
    recording = store.open("@")
    for look in LOOKS.values():
        look(store, recording, SHORT)
    list(recording.parts(0)), list(recording.printed(1)), recording.notes(0), list(recording.gaps())
    recording.checkpoint_slots(0, "in"), recording.lane("root"), list(recording.lanes())
    monkeypatch.undo()
    assert len(asked) > 15
    for sql, values in asked:
        for *_, detail in reading.rows(f"EXPLAIN QUERY PLAN {sql}", values):
            assert not detail.startswith("SCAN") or "run_started" in detail, (detail, sql)


def test_a_batch_costs_the_same_late_in_a_run(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "store.db") as store:
        run = new_run()
        log = store.begin(run)
        log.write(opening(run))
        connection = store._file.write()[0]._mine()
        counts = []
        statements: list[str] = []
        for n in range(3000):
            if n in (10, 2990):
                statements.clear()
                connection.set_trace_callback(statements.append)
            log.write([issued(n, b"%d" % n), settled(n), turns(n, 1)])
            if n in (10, 2990):
                connection.set_trace_callback(None)
                counts.append(len(statements))
        log.close()
    assert counts[0] == counts[1] <= 12


@pytest.mark.parametrize(("chosen", "index"), [({"lane": "root"}, "event_strand"), ({"name": "rare"}, "event_name")])
def test_a_choice_of_events_is_served_by_an_index(
    stores: dict[int, SqliteStore], monkeypatch: pytest.MonkeyPatch, chosen: dict[str, str], index: str
) -> None:
    store = stores[SHORT]
    reading, _ = store._file.read()
    ask = reading.rows
    plans: list[str] = []

    def noting(sql: str, values: object = ()) -> list[object]:
        plans.extend(row[3] for row in ask(f"EXPLAIN QUERY PLAN {sql}", values))  # type: ignore[arg-type]
        return ask(sql, values)  # type: ignore[arg-type]

    monkeypatch.setattr(reading, "rows", noting)
    assert [*store.open("@").events(**chosen, limit=1)]  # type: ignore[arg-type]
    assert any(f"INDEX {index} " in plan for plan in plans), plans


def test_the_write_ahead_log_stays_short_however_much_is_written(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    chance = random.Random(3)
    with SqliteStore(path) as store:
        run = new_run()
        log = store.begin(run)
        log.write(opening(run))
        longest = 0
        for n in range(120):
            log.write([issued(n, chance.randbytes(250_000))])
            longest = max(longest, path.with_name("store.db-wal").stat().st_size)
        assert longest < 3 * WriteConnection.CHECKPOINT_BYTES
        assert path.stat().st_size > 20_000_000
        log.close()


def test_a_durable_batch_never_waits_for_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    brought_in: list[int] = []
    monkeypatch.setattr(WriteConnection, "checkpoint", lambda self, *, least_growth=0: brought_in.append(least_growth))
    with SqliteStore(tmp_path / "store.db") as store:
        run = new_run()
        log = store.begin(run)
        log.write(opening(run), durable=True)
        assert brought_in == []
        log.write([issued(0)])
        log.close()
    assert brought_in == [WriteConnection.CHECKPOINT_BYTES] * 2, "and the end of a run brings in only what is worth it"
