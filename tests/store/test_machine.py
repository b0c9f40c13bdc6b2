"""Any sequence of batches, forks, deaths, reopenings, forgettings and amendments leaves both stores saying the same and
every acknowledged record in its place; one of them shares the rows of forks with their parents, the other does not."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from reenact.abc.store import Log, Recording, Store
from reenact.facts.call import End, EndKind, Fidelity, Kind, Value
from reenact.facts.event import Event
from reenact.facts.record import (
    AmbientRead,
    CallIssued,
    CallSettled,
    CheckpointTaken,
    EvidenceNoted,
    GapNoted,
    HeadArrived,
    LaneOpened,
    OutputPrinted,
    Record,
    SegmentArrived,
    StreamEnded,
    TurnsDelivered,
)
from reenact.facts.run import Run, Status
from reenact.store.memory_store import MemoryStore
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_check import check_store
from tests.store.records import closing, failed, issued, new_run, opening, settled, turns

bodies = st.one_of(
    st.binary(max_size=40),
    # A history of which some is left out: bodies that are kept as changes.
    st.builds(
        lambda first, size: b"[" + b",".join(b'{"said": "%d"}' % n * 30 for n in range(first, first + size)) + b"]",
        st.integers(0, 9),
        st.integers(3, 30),
    ),
    st.sampled_from([b"", b"shared " * 60, bytes(range(256)) * 3, b"z" * 5000, b"w" * 600_000]),
)
values = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=4)
fidelities = st.sampled_from(Fidelity)


class Writer:
    """One run that is being written, into both stores, and what numbers come next."""

    def __init__(self, run: Run, logs: list[Log]) -> None:
        self.run = run
        self.logs = logs
        self.next_event = 0
        self.next_lane = 1
        self.next_turn = 0
        self.open: list[int] = []
        self.streams: set[int] = set()
        self.acknowledged: dict[int, CallIssued] = {}
        self.said: list[Record] = []

    def write(self, records: list[Record], *, durable: bool = False) -> None:
        """One batch into each of the stores."""
        for log in self.logs:
            log.write(records, durable=durable)
        self.acknowledged |= {record.event: record for record in records if isinstance(record, CallIssued)}
        self.said += records


def again(parent: Writer, data: st.DataObject) -> Writer:
    """A fork of a run, which has said again what that began with, as far as that was not left out or changed."""
    run = new_run(parent=parent.run.id, relation="fork")
    writer = Writer(run, [])
    writer.said = parent.said[: len(parent.said) - data.draw(st.integers(0, min(3, len(parent.said))))]
    left_out = data.draw(st.none() | st.integers(0, parent.next_event))
    lanes = 1
    turns_said = 0
    for record in writer.said:
        if isinstance(record, CallIssued) and record.event != left_out:
            writer.open.append(record.event)
        elif isinstance(record, HeadArrived):
            writer.streams.add(record.event)
        elif isinstance(record, (CallSettled, StreamEnded)) and record.event in writer.open:
            writer.open.remove(record.event)
        elif isinstance(record, LaneOpened):
            lanes = record.number + 1
        elif isinstance(record, TurnsDelivered):
            turns_said = record.deliveries[-1].number + 1
    writer.next_event, writer.next_lane, writer.next_turn = parent.next_event, lanes, turns_said
    writer.said = [each for each in writer.said if number_in(each) is None or number_in(each) != left_out]
    if len(writer.said) > 0 and data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(writer.said) - 1))
        writer.said[at] = otherwise(writer.said[at])
    return writer


def number_in(record: Record) -> int | None:
    """The event that a record is about."""
    return getattr(record, "event", None)


def otherwise(record: Record) -> Record:
    """A record that says something else, where that is easily said."""
    if isinstance(record, CallSettled) and isinstance(record.outcome, Value):
        return replace(record, outcome=Value(b"else"))
    if isinstance(record, (CallIssued, StreamEnded, HeadArrived, SegmentArrived)):
        return replace(record, at_us=77)
    if isinstance(record, CheckpointTaken):
        return replace(record, slots={"x": b"else"})
    if isinstance(record, EvidenceNoted):
        return replace(record, value="else")
    if isinstance(record, AmbientRead):
        return replace(record, data=b"else")
    if isinstance(record, TurnsDelivered):
        first, *rest = record.deliveries
        return TurnsDelivered((first._replace(proven=not first.proven), *rest))
    return record


def batch_of(writer: Writer, data: st.DataObject) -> list[Record]:
    """Some records that could come next."""
    records: list[Record] = []
    for _ in range(data.draw(st.integers(1, 6))):
        records.extend(_step(writer, data))
    return records


def _step(writer: Writer, data: st.DataObject) -> list[Record]:
    kinds = ["call", "call", "answer", "stream", "end", "ambient", "note", "print", "turns", "lane", "state", "gap"]
    what = data.draw(st.sampled_from(kinds))
    body = data.draw(bodies)
    event = data.draw(st.sampled_from(writer.open)) if writer.open else None
    lane = data.draw(st.integers(0, writer.next_lane - 1))
    if what == "call" or event is None:
        number = writer.next_event
        writer.next_event += 1
        writer.open.append(number)
        kind = data.draw(st.sampled_from([Kind.TOOL, Kind.HTTP, Kind.STEP]))
        return [
            issued(
                number, body, lane=lane, kind=kind, fidelity=data.draw(fidelities), note=data.draw(st.text(max_size=3))
            )
        ]
    if what in ("stream", "end"):
        records: list[Record] = []
        if event not in writer.streams:
            writer.streams.add(event)
            records.append(HeadArrived(event, 1, {"status": 200}, delivery=event))
        if what == "stream":
            return [
                *records,
                SegmentArrived(event, 2, body, data.draw(st.none() | st.integers(0, 9)), data.draw(fidelities)),
            ]
        writer.open.remove(event)
        return [*records, StreamEnded(event, 3, End(data.draw(st.sampled_from(EndKind))))]
    if what == "answer":
        if event in writer.streams:
            return []
        writer.open.remove(event)
        return [settled(event, body) if data.draw(st.booleans()) else failed(event, data.draw(st.text(max_size=9)))]
    return [_other(what, writer, data, body, lane, event)]


def _other(what: str, writer: Writer, data: st.DataObject, body: bytes, lane: int, event: int) -> Record:
    if what == "turns":
        size = data.draw(st.integers(1, 5))
        writer.next_turn += size
        return turns(writer.next_turn - size, size, data.draw(st.sampled_from(["root", "root/l#1", "root/unknown#1"])))
    if what == "lane":
        writer.next_lane += 1
        number = writer.next_lane - 1
        return LaneOpened(number, f"root/l#{number}", event, data.draw(st.booleans()))
    if what == "note":
        return EvidenceNoted(
            data.draw(st.none() | st.just(event)), data.draw(st.sampled_from("abc")), data.draw(values)
        )
    if what == "print":
        return OutputPrinted(data.draw(st.integers(1, 2)), 1, body)
    if what == "state":
        slots = data.draw(st.dictionaries(st.sampled_from(["", "x", "y"]), bodies))
        return CheckpointTaken(event, data.draw(st.sampled_from(["in", "out"])), slots)
    if what == "gap":
        return GapNoted(data.draw(st.sampled_from("pq")), "here", data.draw(st.integers(1, 3)))
    return AmbientRead(lane, data.draw(st.integers(0, 2)), data.draw(st.sampled_from(["wall", "mono"])), body)


def plain(recording: Recording, event: Event) -> dict[str, Any]:
    """An event with its bytes in place of their addresses, which differ between stores."""
    fields = {name: getattr(event, name) for name in Event.__slots__ if name not in ("request", "answer")}
    return {
        **fields,
        "attributes": dict(event.attributes),
        "request": recording.body(event.request),
        "answer": recording.body(event.answer),
        "parts": [*recording.parts(event.number)],
        "slots": [recording.checkpoint_slots(event.number, phase) for phase in ("in", "out")],
    }


def kept_states(recording: Recording) -> Iterator[Any]:
    """What the snapshots of a run say, with which slots hold the same, since digests differ between stores."""
    lanes = [lane.path for lane in recording.lanes()]
    choices: list[dict[str, Any]] = [{}, {"backwards": True}, {"lanes": lanes[:2]}, {"after": 0, "before": 6}]
    found = [*recording.snapshots()]
    choices += [{"unlike": (slot, None)} for slot in ("x", "absent")]
    choices += [{"unlike": ("x", each.slots["x"]), "backwards": True} for each in found if "x" in each.slots]
    for choice in choices:
        yield [(each.event, each.phase, each.lane, list(each.slots)) for each in recording.snapshots(**choice)]
    fewer: list[dict[str, Any]] = [
        {},
        {"lanes": lanes[:2]},
        {"before": 6},
        {"unended": [each.event for each in found[::3]]},
    ]
    for few in fewer:
        for slot in ("x", "absent"):
            versions = recording.versions(slot, **few)
            yield [(each.event, each.phase, each.lane, each.digest is None, each.body) for each in versions]
    digests = [digest for each in found for digest in each.slots.values()]
    yield [digests.index(digest) for digest in digests]


def together(reads: Iterable[AmbientRead]) -> dict[tuple[int, int, str], bytes]:
    """Reads by lane, position and source, continued ones joined."""
    found: dict[tuple[int, int, str], bytes] = {}
    for read in reads:
        place = (read.lane, read.position, read.source)
        found[place] = found.get(place, b"") + read.data
    return found


def everything(store: Store, run: Run) -> dict[str, Any]:
    """All that a store says about a run."""
    recording = store.open(run.id)
    lanes = [*recording.lanes()]
    return {
        "run": recording.run,
        "count": recording.count(),
        "events": [plain(recording, event) for event in recording.events()],
        "lanes": lanes,
        "by lane": [[event.number for event in recording.events(lane=lane.path)] for lane in lanes],
        "order": [*recording.deliveries()],
        "late order": [*recording.deliveries(3)],
        "ambient": [dict(recording.ambient(lane.path, n)) for lane in lanes for n in range(3)],
        "reads": together(recording.reads()),
        "printed": [b"".join(recording.printed(n)) for n in (1, 2)],
        "notes": dict(recording.notes(None)),
        "gaps": [*recording.gaps()],
        "backwards": [event.number for event in recording.events(before=5, backwards=True)],
        "one before": [event.number for event in recording.events(before=5, limit=1, backwards=True)],
        "snapshots": [*kept_states(recording)],
    }


class Stores(RuleBasedStateMachine):
    """Both stores, doing the same."""

    writers = Bundle("writers")
    runs = Bundle("runs")

    @initialize()
    def make(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "store.db"
        self.memory = MemoryStore()
        self.sqlite = SqliteStore(self.path)
        self.made: dict[str, Writer] = {}
        self.deleted: set[str] = set()

    @rule(target=writers, agent=st.sampled_from("ab"))
    def begin(self, agent: str) -> Writer:
        run = new_run(agent=agent)
        writer = Writer(run, [store.begin(run) for store in (self.memory, self.sqlite)])
        for log in writer.logs:
            log.write(opening(run))
        self.made[run.id] = writer
        return writer

    @rule(writer=writers, data=st.data(), durable=st.booleans())
    def write(self, writer: Writer, data: st.DataObject, durable: bool) -> None:
        writer.write(batch_of(writer, data), durable=durable)

    @rule(target=writers, run=runs, data=st.data())
    def fork(self, run: Run, data: st.DataObject) -> Any:
        if run.id in self.deleted:
            return multiple()
        writer = again(self.made[run.id], data)
        records, writer.said = writer.said, []
        writer.logs = [store.begin(writer.run) for store in (self.memory, self.sqlite)]
        for log in writer.logs:
            log.write(opening(writer.run))
        self.made[writer.run.id] = writer
        while records:
            size = data.draw(st.integers(1, len(records)))
            writer.write(records[:size])
            del records[:size]
        return writer

    @rule(target=runs, writer=consumes(writers), status=st.sampled_from([Status.OK, Status.FAILED, None]))
    def finish(self, writer: Writer, status: Status | None) -> Run:
        """The run ends, or its recorder does."""
        for log in writer.logs:
            if status is not None:
                log.write([closing(writer.run, status)])
            log.close()
        return writer.run

    @rule()
    def reopen(self) -> None:
        """A reader that has not seen anything yet; the writer's store stays open beside it."""
        fresh = SqliteStore(self.path)
        try:
            for each in self.made:
                if each not in self.deleted:
                    assert fresh.run(each).id == each
        finally:
            fresh.close()

    @rule(
        run=runs, flag=st.none() | st.text(max_size=3), tags=st.dictionaries(st.sampled_from("kl"), st.text(max_size=2))
    )
    def amend(self, run: Run, flag: str | None, tags: dict[str, str]) -> None:
        if run.id not in self.deleted:
            assert self.sqlite.amend(run, flag=flag, tags=tags) == self.memory.amend(run, flag=flag, tags=tags)

    @rule(target=runs, run=consumes(runs))
    def delete(self, run: Run) -> Any:
        if run.id in self.deleted:
            return multiple()
        for store in (self.memory, self.sqlite):
            store.delete(run)
        self.deleted.add(run.id)
        return multiple()

    @invariant()
    def both_say_the_same(self) -> None:
        if not hasattr(self, "made") or not self.path.exists():
            return
        assert [*self.sqlite.runs()] == [*self.memory.runs()]
        for each, writer in self.made.items():
            if each in self.deleted:
                continue
            found = everything(self.sqlite, writer.run)
            assert found == everything(self.memory, writer.run)
            said = {event["number"]: (event["call"].name, event["request"]) for event in found["events"]}
            assert said == {n: (record.call.name, record.call.body) for n, record in writer.acknowledged.items()}

    def teardown(self) -> None:
        if hasattr(self, "sqlite"):
            if self.path.exists():
                assert check_store(self.path).breaks == ()
            self.sqlite.close()
            self.folder.cleanup()


TestStores = Stores.TestCase
TestStores.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=20, deadline=None)
