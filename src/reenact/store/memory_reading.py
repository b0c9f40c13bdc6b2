"""Reads a run of the reference store: every answer is computed from the records of the run."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import groupby, islice
from typing import Any

from reenact.abc.hash_protocol import Hash
from reenact.facts.call import Call, End, Outcome, Stream, Value
from reenact.facts.checkpoint import SlotVersion, Snapshot
from reenact.facts.event import Event, LaneFact, Payload
from reenact.facts.growth import unproven
from reenact.facts.large_values import is_withheld
from reenact.facts.order import Delivery
from reenact.facts.record import (
    AmbientRead,
    GapNoted,
    OutputPrinted,
)
from reenact.facts.run import Run, Totals
from reenact.store.codec import joined, weaker
from reenact.store.keyed_hash import KeyedHash
from reenact.store.memory_log import EventRecords, KeptLog, number_of
from reenact.store.payloads import missing, taken_out
from reenact.store.proofs import not_proven, require_proven
from reenact.store.reference_lookup import no_event
from reenact.store.unfinished_totals import totalled


class MemoryRecording:
    """The read side of one run.

    Args:
        run: The run.
        log: The run's records, and those of the runs around and inside it.
        hasher: Makes the digests of payloads.
        at_end: Gives the notes that came with the end of the run.
    """

    def __init__(self, run: Run, log: KeptLog, hasher: KeyedHash, at_end: Callable[[], Mapping[str, Any]]) -> None:
        self._run = run
        self._log = log
        self._hasher = hasher
        self._at_end = at_end

    @property
    def run(self) -> Run:
        return self._run

    def _holds(self, path: str) -> bool:
        own = self._run.lane
        return not own or path == own or path.startswith((f"{own}/", f"{own}>"))

    def _path(self, lane: int) -> str:
        fact = self._log.lanes.get(lane)
        return f"?{lane}" if fact is None else fact.path

    def _calls(self) -> list[EventRecords]:
        calls = self._log.in_order(None)
        return calls if not self._run.lane else [call for call in calls if self._holds(self._path(call.issued.lane))]

    def _payload(self, data: bytes, media: str = "") -> Payload | None:
        if not data:
            return None
        digest = self._hasher.of_body(data).hex()
        self._log.bodies[digest] = data
        return Payload(digest, len(data), media)

    def event(self, number: int) -> Event:
        call = self._log.calls.get(number)
        if call is None or not self._holds(self._path(call.issued.lane)):
            raise no_event(self._run.id, number, self.last())
        return self._event(call)

    def _event(self, call: EventRecords) -> Event:
        """The event of a call; in a log that has ended, the event is made once."""
        if self._log.live:
            return self._made(call)
        made, place = self._log.events, (self._run.id, call.issued.event)
        found = made.get(place)
        if found is None:
            found = made[place] = self._made(call)
        return found

    def _made(self, call: EventRecords) -> Event:
        issued = call.issued
        fidelity, remark = issued.fidelity, issued.note
        for said in (call.settled or call.head, *call.segments):
            if said is not None:
                fidelity, remark = weaker(fidelity, said.fidelity), joined(remark, said.note)
        outcome: Outcome | None = None
        answer = delivery = first_us = ended_us = None
        if call.settled is not None:
            outcome, ended_us, delivery = call.settled.outcome, call.settled.at_us, call.settled.delivery
            if isinstance(outcome, Value):
                answer = self._payload(outcome.body, outcome.media)
                outcome = Value(b"", outcome.media, outcome.changes, outcome.head)
        elif call.head is not None or call.ended is not None:
            data = b"".join(segment.data for segment in call.segments)
            end: End | None = None
            if call.ended is not None:
                end, ended_us, answer = call.ended.end, call.ended.at_us, self._payload(data)
            if call.head is not None:
                first_us, delivery = call.head.at_us, call.head.delivery
            outcome = Stream(call.head.head if call.head else {}, end, len(data), len(call.segments))
        asked = issued.call
        bare = Call(
            asked.kind, asked.name, asked.effect, asked.rule, asked.head, b"", asked.media, asked.channel,
            asked.ordinal, asked.source, asked.observed,
        )  # fmt: skip
        return Event(
            self._run.id, issued.event, self._path(issued.lane), issued.position, issued.parent,
            bare, self._payload(asked.body, asked.media), outcome, answer, issued.at_us,
            first_us, ended_us, delivery, "", fidelity, remark, self.notes(issued.event),
        )  # fmt: skip

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
        wanted = {str(each) for each in kinds}
        calls = self._calls() if lane is None else self._of_lane(lane)
        first = bisect_right(calls, after, key=number_of)
        end = len(calls) if before is None else bisect_left(calls, before, key=number_of)
        numbers = range(first, end)
        found = (
            call
            for call in (calls[n] for n in (reversed(numbers) if backwards else numbers))
            if (not wanted or call.issued.call.kind in wanted) and (name is None or call.issued.call.name == name)
        )
        return (self._event(call) for call in islice(found, skip, None if limit is None else skip + limit))

    def _of_lane(self, path: str) -> list[EventRecords]:
        if not self._holds(path):
            return []
        known = self._log.paths.get(path)
        if known is None:  # the opening of the lane was lost: its path is made from its number
            return [call for call in self._calls() if self._path(call.issued.lane) == path]
        return self._log.in_order(known)

    def count(self) -> int:
        return len(self._calls())

    def totals(self) -> Totals:
        """The totals of a run whose end was not written."""
        kinds = Counter(str(call.issued.call.kind) for call in self._calls())
        readings = [self.notes(call.issued.event).get("reading") for call in self._calls()]
        return totalled(self.count(), kinds["tool"], kinds["model"], [each for each in readings if each])

    def last(self) -> int | None:
        """The number of the last event; None where the run has no event."""
        return max((call.issued.event for call in self._calls()), default=None)

    def body(self, payload: Payload | None) -> bytes:
        if payload is None:
            return b""
        found = self._log.bodies.get(payload.digest)
        if found is None:
            found = self.find(payload.digest)
        if found is None:
            raise missing(payload.digest, self._run.id)
        if is_withheld(found):
            raise taken_out(payload.digest, self._run.id)
        return found

    def pieces(self, payload: Payload) -> Iterator[bytes]:
        yield self.body(payload)

    def find(self, digest: str) -> bytes | None:
        """The bytes with a digest; None where the log does not have them."""
        for data in self._every_body():
            if data and self._hasher.of_body(data).hex() == digest:
                return data
        return None

    def _every_body(self) -> Iterator[bytes]:
        for call in self._log.calls.values():
            yield call.issued.call.body
            if call.settled is not None and isinstance(call.settled.outcome, Value):
                yield call.settled.outcome.body
            if call.ended is not None:
                yield b"".join(segment.data for segment in call.segments)
        for slots in self._log.slots.values():
            yield from slots.values()

    def holds(self, payload: Payload | None, data: bytes) -> bool:
        if payload is None:
            return not data
        return payload.size == len(data) and self._hasher.named(data, payload.digest)

    def parts(self, event: int) -> Iterator[tuple[int | None, int, bytes]]:
        call = self._log.calls.get(event)
        for segment in call.segments if call is not None else ():
            yield segment.delivery, segment.at_us, segment.data

    def lanes(self) -> Iterator[LaneFact]:
        return (self._log.lanes[n] for n in sorted(self._log.lanes) if self._holds(self._log.lanes[n].path))

    def lane(self, path: str) -> LaneFact | None:
        return next((fact for fact in self.lanes() if fact.path == path), None)

    def deliveries(self, start: int = 0) -> Iterator[Delivery]:
        turns = self._log.turns
        return islice(turns, bisect_left(turns, start, key=lambda each: each.number), None)

    def ambient(self, lane: str, position: int) -> Mapping[str, bytes]:
        found: dict[str, bytes] = {}
        number = self._log.paths.get(lane)
        if number is not None and self._holds(lane):
            for record in self._log.reads.get((number, position), ()):
                found[record.source] = found.get(record.source, b"") + record.data
        return found

    def reads(self) -> Iterator[AmbientRead]:
        for lane, position in sorted(self._log.reads):
            if self._holds(self._path(lane)):
                yield from self._log.reads[lane, position]

    def printed(self, stream: int) -> Iterator[bytes]:
        return (each.data for each in self._log.records if isinstance(each, OutputPrinted) and each.stream == stream)

    def checkpoint_slots(self, event: int, phase: str, *, proven: bool = True) -> Mapping[str, bytes] | None:
        found = self._log.slots.get((event, phase))
        if found is not None and proven:
            note, proofs = self.checkpoint_note(event, phase), self._log.noted.get(None, {})
            require_proven(self.run.id, event, list(found), note, proofs)
        return None if found is None else dict(found)

    def checkpoint_digests(self, event: int, phase: str) -> Mapping[str, str] | None:
        """See ``abc.store.Recording``. It reads the whole state, which is in memory."""
        slots = self.checkpoint_slots(event, phase)
        return None if slots is None else {name: self._digest_of(body) for name, body in slots.items()}

    def _digest_of(self, body: bytes) -> str:
        return self._hasher.of_body(body).hex() if body else ""

    def begin_digest(self) -> Hash:
        return self._hasher.begin()

    def checkpoint_note(self, event: int, phase: str) -> str:
        return self._log.growth.get((event, phase), "")

    def snapshots(
        self,
        *,
        lanes: Collection[str] = (),
        after: int = -1,
        before: int | None = None,
        unlike: tuple[str, str | None] | None = None,
        backwards: bool = False,
    ) -> Iterator[Snapshot]:
        kept: dict[tuple[int, str], Snapshot] = {}
        for (event, phase), bodies in self._log.slots.items():
            if event in self._log.calls:
                slots = {name: self._hasher.of(body).hex() if body else "" for name, body in bodies.items()}
                names = list(slots)
                places = unproven(self.checkpoint_note(event, phase), self._log.noted.get(None, {}))
                kept[event, phase] = Snapshot(
                    *(event, phase, self._path(self._log.calls[event].issued.lane), slots),
                    unproven=tuple(names[n] for n in places if n < len(names)),
                )
        found = (kept[place] for place in sorted(kept, reverse=backwards))
        return (
            each
            for each in found
            if each.event > after
            and (before is None or each.event < before)
            and self._holds(each.lane)
            and (not lanes or each.lane in lanes)
            and (unlike is None or each.slots.get(unlike[0]) != unlike[1])
        )

    def versions(
        self, slot: str, *, lanes: Collection[str] = (), before: int | None = None, unended: Collection[int] = ()
    ) -> Iterator[SlotVersion]:
        places = (
            each
            for each in self.snapshots(lanes=lanes, before=before, backwards=True)
            if each.phase == "in" or each.event not in unended
        )
        for digest, alike in groupby(places, key=lambda each: each.slots.get(slot)):
            newest = next(alike)
            if slot in newest.unproven:
                raise not_proven(self.run.id, newest.event, slot)
            body = self._log.slots[newest.event, newest.phase].get(slot, b"")
            yield SlotVersion(newest.event, newest.phase, newest.lane, digest, body)

    def notes(self, event: int | None) -> Mapping[str, Any]:
        own = event is not None or not self._run.lane
        found = self._log.noted.get(event, {})
        return {**(found if own else {}), **(self._at_end() if event is None else {})}

    def gaps(self) -> Iterator[tuple[str, str, int]]:
        found: dict[tuple[str, str], int] = {}
        for record in self._log.records:
            if isinstance(record, GapNoted):
                found[record.what, record.place] = found.get((record.what, record.place), 0) + record.count
        return ((what, where, count) for (what, where), count in found.items())
