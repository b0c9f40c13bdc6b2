"""A store of records: the smallest reading of ``abc.store`` over records, to test the views without a back end."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from reenact.abc.hash_protocol import Hash
from reenact.errors import EventNotFound, RunNotFound
from reenact.facts.call import End, Stream, Value
from reenact.facts.checkpoint import SlotVersion, Snapshot
from reenact.facts.event import Event, LaneFact, Payload
from reenact.facts.ids import tail
from reenact.facts.marks import Mark
from reenact.facts.order import Delivery
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
    RunClosed,
    RunOpened,
    SegmentArrived,
    StreamEnded,
)
from reenact.facts.run import TRIES, Run
from reenact.store.reference_lookup import find_event

FAILED = ("failed", "timeout", "interrupted")


class ShelfLog:
    """The write side and the read side of one run."""

    def __init__(self) -> None:
        self.kept: list[Event] = []
        self.bodies: dict[str, bytes] = {}
        self.paths: dict[int, str] = {}
        self.slots: dict[tuple[int, str], Mapping[str, bytes]] = {}
        self.noted: dict[int | None, dict[str, Any]] = {}
        self.out: list[OutputPrinted] = []
        self.missing: list[tuple[str, str, int]] = []
        self._run: Run | None = None

    @property
    def run(self) -> Run:
        assert self._run is not None
        return self._run

    def write(self, records: Sequence[Record], *, durable: bool = False) -> None:
        for record in records:
            self._take(record)

    def close(self) -> None:
        pass

    def _take(self, record: Record) -> None:
        match record:
            case RunOpened(run=run) | RunClosed(run=run):
                self._run = run
            case LaneOpened(number=number, path=path):
                self.paths[number] = path
            case CallIssued(event=number, call=call):
                key = hashlib.sha256(f"{call.kind} {call.name} {call.head.get('url')}".encode() + call.body).hexdigest()
                event = Event(self.run.id, number, self.paths[record.lane], record.position, record.parent,
                              replace(call, body=b""), issued_us=record.at_us, key=key)  # fmt: skip
                self.kept.append(replace(event, request=self._keep(call.body)))
            case CallSettled(event=number, outcome=Value() as value):
                self._change(
                    number, outcome=replace(value, body=b""), answer=self._keep(value.body), ended_us=record.at_us
                )
            case CallSettled(event=number, outcome=outcome):
                self._change(number, outcome=outcome, ended_us=record.at_us)
            case HeadArrived(event=number, head=head, at_us=at_us):
                self._change(number, outcome=Stream(head, None), first_us=at_us)
            case SegmentArrived(event=number, data=data):
                event = self.kept[number]
                body = self.body(event.answer) + data
                assert isinstance(event.outcome, Stream)
                grown = replace(event.outcome, size=len(body), segments=event.outcome.segments + 1)
                self._change(number, outcome=grown, answer=self._keep(body))
            case StreamEnded(event=number, end=End() as end, at_us=at_us):
                streamed = self.kept[number].outcome
                assert isinstance(streamed, Stream)
                self._change(number, outcome=replace(streamed, end=end), ended_us=at_us)
            case EvidenceNoted(event=where, key=key, value=value):
                self.noted.setdefault(where, {})[key] = value
                if where is not None:
                    self._change(where, attributes=dict(self.kept[where].attributes) | {key: value})
            case CheckpointTaken(event=number, phase=phase, slots=slots):
                self.slots[number, phase] = slots
            case OutputPrinted():
                self.out.append(record)
            case GapNoted(what=what, place=place, count=count):
                self.missing.append((what, place, count))

    def _keep(self, data: bytes) -> Payload | None:
        if not data:
            return None
        digest = hashlib.sha256(data).hexdigest()
        self.bodies[digest] = data
        return Payload(digest, len(data))

    def _change(self, number: int, **fields: Any) -> None:
        self.kept[number] = replace(self.kept[number], **fields)

    def event(self, number: int) -> Event:
        if number >= len(self.kept):
            raise EventNotFound(f"the run has no event {number}", cause=f"it has {len(self.kept)} events")
        return self.kept[number]

    def events(
        self,
        *,
        lane: str | None = None,
        after: int = -1,
        before: int | None = None,
        kinds: Iterable[str] = (),
        name: str | None = None,
        limit: int | None = None,
        skip: int = 0,
        backwards: bool = False,
    ) -> Iterator[Event]:
        wanted = tuple(kinds)
        found = [
            event
            for event in (reversed(self.kept) if backwards else self.kept)
            if event.number > after
            and (before is None or event.number < before)
            and (lane is None or event.lane == lane)
            and (not wanted or event.kind in wanted)
            and (name is None or event.name == name)
        ]
        return iter(found[skip:][:limit])

    def count(self) -> int:
        return len(self.kept)

    def body(self, payload: Payload | None) -> bytes:
        return b"" if payload is None else self.bodies[payload.digest]

    def pieces(self, payload: Payload) -> Iterator[bytes]:
        yield self.body(payload)

    def holds(self, payload: Payload | None, data: bytes) -> bool:
        return self.body(payload) == data

    def parts(self, event: int) -> Iterator[tuple[int | None, int, bytes]]:
        yield None, 0, self.body(self.kept[event].answer)

    def lanes(self) -> Iterator[LaneFact]:
        return iter(())

    def lane(self, path: str) -> LaneFact | None:
        return None

    def deliveries(self, start: int = 0) -> Iterator[Delivery]:
        return iter(())

    def ambient(self, lane: str, position: int) -> Mapping[str, bytes]:
        return {}

    def reads(self) -> Iterator[AmbientRead]:
        return iter(())

    def printed(self, stream: int) -> Iterator[bytes]:
        return (each.data for each in self.out if each.stream == stream)

    def checkpoint_slots(self, event: int, phase: str, *, proven: bool = True) -> Mapping[str, bytes] | None:
        return self.slots.get((event, phase))

    def checkpoint_digests(self, event: int, phase: str) -> Mapping[str, str] | None:
        slots = self.slots.get((event, phase))
        return None if slots is None else {name: hashlib.sha256(body).hexdigest() for name, body in slots.items()}

    def begin_digest(self) -> Hash:
        return hashlib.sha256()

    def checkpoint_note(self, event: int, phase: str) -> str:
        return ""

    def snapshots(
        self,
        *,
        lanes: Collection[str] = (),
        after: int = -1,
        before: int | None = None,
        unlike: tuple[str, str | None] | None = None,
        backwards: bool = False,
    ) -> Iterator[Snapshot]:
        for number, phase in sorted(self.slots, reverse=backwards):
            digests = {name: hashlib.sha256(body).hexdigest() for name, body in self.slots[number, phase].items()}
            if (
                after < number < (len(self.kept) if before is None else before)
                and (not lanes or self.kept[number].lane in lanes)
                and (unlike is None or digests.get(unlike[0]) != unlike[1])
            ):
                yield Snapshot(number, phase, self.kept[number].lane, digests)

    def versions(
        self, slot: str, *, lanes: Collection[str] = (), before: int | None = None, unended: Collection[int] = ()
    ) -> Iterator[SlotVersion]:
        places = [
            each
            for each in self.snapshots(lanes=lanes, before=before, backwards=True)
            if each.phase == "in" or each.event not in unended
        ]
        for digest, alike in groupby(places, key=lambda each: each.slots.get(slot)):
            newest = next(alike)
            body = self.slots[newest.event, newest.phase].get(slot, b"")
            yield SlotVersion(newest.event, newest.phase, newest.lane, digest, body)

    def notes(self, event: int | None) -> Mapping[str, Any]:
        return self.noted.get(event, {})

    def gaps(self) -> Iterator[tuple[str, str, int]]:
        return iter(self.missing)


class RecordStore:
    """Runs as records, newest first."""

    url = "records:"

    def __init__(self) -> None:
        self.logs: list[ShelfLog] = []
        self.filters: list[dict[str, Any]] = []

    def begin(self, run: Run) -> ShelfLog:
        log = ShelfLog()
        log.write([RunOpened(run)])
        self.logs.append(log)
        return log

    def runs(self, **filters: Any) -> Iterator[Run]:
        self.filters.append(filters)
        found = [log.run for log in reversed(self.logs)]
        if filters.get("failed"):
            found = [run for run in found if run.status.value in FAILED]
        if "parent" in filters:
            found = [run for run in found if run.parent == filters["parent"]]
        for name in ("agent", "user", "tenant", "session"):
            found = [run for run in found if name not in filters or getattr(run, name) == filters[name]]
        return iter(found[: filters.get("limit")])

    def run(self, ref: str) -> Run:
        runs = list(self.runs())
        if ref == "@":
            found = runs[:1]
        elif ref == "@failed":
            found = [run for run in runs if run.status.value in FAILED and run.relation not in TRIES][:1]
        else:
            found = [run for run in runs if run.id.startswith(ref) or tail(run.id).startswith(ref)]
        if len(found) != 1:
            raise RunNotFound(f"no run matches {ref}", cause="none is there", next_command="reenact ls")
        return found[0]

    def open(self, run: Run | str) -> ShelfLog:
        wanted = run if isinstance(run, str) else run.id
        return next(log for log in self.logs if log.run.id == wanted)

    def event(self, ref: str) -> Event:
        run, _, rest = ref.partition(":")
        return find_event(self.open(self.run(run)), rest)

    def amend(self, run: Run | str, *, flag: str | None = None, tags: Mapping[str, str] | None = None) -> Run:
        log = self.open(run)
        log._run = replace(log.run, tags={**log.run.tags, **(tags or {})})
        if flag is not None:
            log._run = replace(log.run, flag=flag, flagged=True)
        return log.run

    def marks(self) -> tuple[Mark, ...]:
        return ()

    def close(self) -> None:
        pass

    def __enter__(self) -> RecordStore:
        return self

    def __exit__(self, *exc: object) -> None:
        pass
