"""The reference store: a run is the records it was given, and every view is read off them.

For tests and throw-away runs. Nothing survives the process; otherwise it answers exactly as the others do.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice
from typing import Any

from reenact.abc.sources import ENTROPY, Entropy
from reenact.abc.store import Log
from reenact.errors import StoreBusy, StoreError, UsageError
from reenact.facts.call import End, Outcome, Stream, Value
from reenact.facts.checkpoint import Snapshot, Version
from reenact.facts.effects import Claim
from reenact.facts.event import Event, LaneFact, Payload
from reenact.facts.ids import tail
from reenact.facts.order import Delivery
from reenact.facts.record import (
    AmbientRead,
    GapNoted,
    Printed,
    Record,
    RunClosed,
    RunOpened,
)
from reenact.facts.run import INNER, Run, Status, Totals
from reenact.store.codec import joined, weaker
from reenact.store.kept import Answered, Kept, number_of
from reenact.store.payloads import KeyedHash
from reenact.store.reading import missing
from reenact.store.references import Latest, no_event, parse_run, refuse_run
from reenact.store.runrows import amended_run
from reenact.store.unfinished import totalled
from reenact.store.views import Views, check_filters
from reenact.store.words import occurs, words_of

_FAILED = (Status.FAILED, Status.TIMEOUT, Status.INTERRUPTED)


class MemoryStore(Views):
    """Runs in this process.

    Args:
        url: What to call the store.
        entropy: Where the secret of its hash comes from.
        hasher: Its hash, where that is another one.
    """

    def __init__(self, url: str = "memory:", *, entropy: Entropy = ENTROPY, hasher: KeyedHash | None = None) -> None:
        self.url = url
        self.hasher = hasher or KeyedHash(entropy.bytes(32))
        self._runs: dict[str, Run] = {}
        self._logs: dict[str, Kept] = {}
        self._amended: dict[str, dict[str, Any]] = {}
        self.extra: dict[str, dict[str, Any]] = {}
        self._claims: dict[str, Claim] = {}

    def runs(self, **filters: Any) -> Iterator[Run]:
        """See ``abc.store.Store``."""
        check_filters(filters)
        found = [run for run in self._newest() if self._agrees(run, filters)]
        return islice(found, filters.get("limit"))

    def _newest(self) -> list[Run]:
        order = sorted(enumerate(self._runs.values()), key=lambda each: (each[1].started_us, each[0]), reverse=True)
        return [self._now(run) for _, run in order]

    def _agrees(self, run: Run, filters: Mapping[str, Any]) -> bool:
        for name in ("agent", "user", "tenant", "session", "parent", "status"):
            if filters.get(name) is not None and getattr(run, name) != filters[name]:
                return False
        failed = filters.get("failed")
        return (
            (failed is None or failed == (run.status in _FAILED))
            and all(run.tags.get(name) == value for name, value in (filters.get("tag") or {}).items())
            and run.started_us >= (filters.get("since_us") or 0)
            and (not words_of(filters.get("text") or "") or self._mentions(run, filters["text"]))
        )

    def _mentions(self, run: Run, text: str) -> bool:
        closed = self._runs[run.id].status is not Status.RECORDING
        return closed and not run.lane and occurs(self._logs[run.id].words.text(), text)

    def _now(self, run: Run) -> Run:
        """A run as it stands now; it knows that it is kept here."""
        return self._stands(run).kept_in(self)

    def _stands(self, run: Run) -> Run:
        run = amended_run(run, self._amended.get(run.id))
        log = self.log_of(run)
        if run.status is not Status.RECORDING:
            return run
        recording = MemoryRecording(run, log, self)
        run = replace(run, totals=recording.totals())
        return run if log.live else replace(run, status=Status.INTERRUPTED, interrupted_at=recording.last())

    def log_of(self, run: Run) -> Kept:
        """The log that holds a run's events."""
        if run.id in self._logs:
            return self._logs[run.id]
        return next(log for log in self._logs.values() if run.id in (each.run.id for each in opened(log)))

    def run(self, ref: str) -> Run:
        """See ``abc.store.Store``."""
        wanted = parse_run(ref)
        if isinstance(wanted, Latest):
            alone = [run for run in self._newest() if not run.lane and run.relation not in INNER]
            own = [run for run in alone if not wanted.failed or run.status in _FAILED]
            if wanted.back < len(own):
                return own[wanted.back]
            refuse_run(ref, ())
        if wanted.text in self._runs:
            return self._now(self._runs[wanted.text])
        found = [each for each in self._runs if each.startswith(wanted.text) or tail(each).startswith(wanted.text)]
        if len(found) != 1:
            refuse_run(ref, sorted(found, reverse=True))
        return self._now(self._runs[found[0]])

    def open(self, run: Run | str) -> MemoryRecording:
        """See ``abc.store.Store``."""
        found = self.run(run if isinstance(run, str) else run.id)
        if isinstance(run, Run) and run.status is not Status.RECORDING:
            found = run
        return MemoryRecording(found, self.log_of(found), self)

    def payload(self, digest: str) -> bytes:
        """See ``abc.store.Store``."""
        for run in self._runs.values():
            found = MemoryRecording(run, self.log_of(run), self).find(digest)
            if found is not None:
                return found
        raise missing(digest)

    def begin(self, run: Run) -> Log:
        """See ``abc.store.Store``."""
        if run.id in self._runs:
            raise StoreError(f"there is a run {run.id} already", cause="the same id was used twice")
        self._runs[run.id] = run
        log = self._logs[run.id] = Kept(run.id)
        return MemoryLog(log, self._set)

    def adopt(self, logs: Sequence[tuple[Run, Iterable[Record]]]) -> None:
        """See ``abc.store.Store``. What was taken in before a fault is forgotten again."""
        before = dict(self._runs), dict(self._logs), dict(self.extra)
        try:
            for run, records in logs:
                log = self.begin(run)
                log.write(list(records))
                log.close()
        except BaseException:
            self._runs, self._logs, self.extra = before
            raise

    def _set(self, run: Run, extra: Mapping[str, Any]) -> None:
        self._runs[run.id] = run
        self.extra.setdefault(run.id, {}).update(extra)

    def amend(self, run: Run | str, *, flag: str | None = None, tags: Mapping[str, str] | None = None) -> Run:
        """See ``abc.store.Store``."""
        found = self.open(run).run
        said = self._amended.setdefault(found.id, {"flag": None, "tags": {}})
        said["flag"] = said["flag"] if flag is None else flag
        said["tags"].update(tags or {})
        return self.run(found.id)

    def conclude(self, run: Run) -> Run:
        """See ``abc.store.Store``."""
        self._set(run, {})
        return self.run(run.id)

    def claimed(self, address: str) -> Claim | None:
        """See ``abc.store.Store``."""
        return self._claims.get(address)

    def claim(self, claim: Claim, *, over: Claim | None = None) -> bool:
        """See ``abc.store.Store``."""
        return (self._claims.setdefault(claim.address, claim) if over is None else self._taken(claim, over)) == claim

    def _taken(self, claim: Claim, over: Claim) -> Claim | None:
        if self._claims.get(claim.address) == over:
            self._claims[claim.address] = claim
        return self._claims.get(claim.address)

    def note_claims(self, claims: Iterable[Claim]) -> None:
        """See ``abc.store.Store``."""
        for claim in claims:
            self._claims.setdefault(claim.address, claim)

    def exchange(self, left: Run, right: Run) -> Run:
        """See ``abc.store.Store``."""
        for before, now in ((left.id, right.id), (right.id, left.id)):
            log = self._logs[before]
            for nested in {record.run.id for record in opened(log)} - {before}:
                if self._runs[nested].parent == before:
                    self._runs[nested] = replace(self._runs[nested], parent=now)
            log.records = [_renamed(record, before, now) for record in log.records]
        self._logs[left.id], self._logs[right.id] = self._logs[right.id], self._logs[left.id]
        first, second = self.extra.get(left.id, {}), self.extra.get(right.id, {})
        self.extra[left.id], self.extra[right.id] = second, first
        self._runs[left.id], self._runs[right.id] = left, right
        other = {left.id: right.id, right.id: left.id}
        for address, claim in self._claims.items():
            self._claims[address] = replace(claim, run=other.get(claim.run, claim.run))
        return self.run(left.id)

    def delete(self, run: Run | str) -> None:
        """See ``abc.store.Store``."""
        found = self.open(run).run
        if found.lane:
            raise UsageError(
                f"run {tail(found.id)} lies in the log of another run",
                cause="a nested recording is part of the run around it",
                next_command=f"reenact show {tail(found.parent or found.id)}",
            )
        if found.status is Status.RECORDING:
            raise StoreBusy(f"run {tail(found.id)} is being recorded", cause="its process still lives")
        if not any((run.parent == found.id and not run.lane) or run.id == found.parent for run in self._runs.values()):
            self._claims = {name: claim for name, claim in self._claims.items() if claim.run != found.id}
        log = self._logs.pop(found.id)
        for each in (found.id, *(record.run.id for record in opened(log))):
            self._runs.pop(each, None)
            self._amended.pop(each, None)
            self.extra.pop(each, None)

    def close(self) -> None:
        """See ``abc.store.Store``. The runs stay as long as the process."""


def opened(log: Kept) -> Iterator[RunOpened | RunClosed]:
    """What a log says about runs."""
    return (record for record in log.records if isinstance(record, RunOpened | RunClosed))


def _renamed(record: Record, before: str, now: str) -> Record:
    """A record of a log that goes to another run."""
    if isinstance(record, RunOpened | RunClosed) and record.run.id == before:
        return replace(record, run=replace(record.run, id=now))
    return record


class MemoryLog:
    """The write side of one run."""

    def __init__(self, log: Kept, set_run: Any) -> None:
        self._log = log
        self._set_run = set_run

    def write(self, records: Sequence[Record], *, durable: bool = False) -> None:
        """See ``abc.store.Log``. (Nothing here is durable.)"""
        if not self._log.live:
            raise StoreError("the log is closed", cause="records came after the end of their recording")
        for record in records:
            self._log.take(record)
            if isinstance(record, RunOpened | RunClosed):
                self._set_run(record.run, record.extra if isinstance(record, RunClosed) else {})

    def close(self) -> None:
        """See ``abc.store.Log``."""
        self._log.live = False


class MemoryRecording:
    """The read side of one run."""

    def __init__(self, run: Run, log: Kept, store: MemoryStore) -> None:
        self._run = run
        self._log = log
        self._store = store

    @property
    def run(self) -> Run:
        """See ``abc.store.Recording``."""
        return self._run

    def _holds(self, path: str) -> bool:
        own = self._run.lane
        return not own or path == own or path.startswith((f"{own}/", f"{own}>"))

    def _path(self, lane: int) -> str:
        fact = self._log.lanes.get(lane)
        return f"?{lane}" if fact is None else fact.path

    def _calls(self) -> list[Answered]:
        calls = self._log.in_order(None)
        return calls if not self._run.lane else [call for call in calls if self._holds(self._path(call.issued.lane))]

    def _payload(self, data: bytes, media: str = "") -> Payload | None:
        if not data:
            return None
        digest = self._store.hasher.of(data).hex()
        self._log.bodies[digest] = data
        return Payload(digest, len(data), media)

    def event(self, number: int) -> Event:
        """See ``abc.store.Recording``."""
        call = self._log.calls.get(number)
        if call is None or not self._holds(self._path(call.issued.lane)):
            raise no_event(self._run.id, number, self.last())
        return self._event(call)

    def _event(self, call: Answered) -> Event:
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
                outcome = replace(outcome, body=b"")
        elif call.head is not None or call.ended is not None:
            data = b"".join(segment.data for segment in call.segments)
            end: End | None = None
            if call.ended is not None:
                end, ended_us, answer = call.ended.end, call.ended.at_us, self._payload(data)
            if call.head is not None:
                first_us, delivery = call.head.at_us, call.head.delivery
            outcome = Stream(call.head.head if call.head else {}, end, len(data), len(call.segments))
        body = issued.call.body
        return Event(
            self._run.id, issued.event, self._path(issued.lane), issued.position, issued.parent,
            replace(issued.call, body=b""), self._payload(body, issued.call.media), outcome, answer, issued.at_us,
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
        """See ``abc.store.Recording``."""
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

    def _of_lane(self, path: str) -> list[Answered]:
        if not self._holds(path):
            return []
        known = self._log.paths.get(path)
        if known is None:  # a lane whose opening was lost is called by its number
            return [call for call in self._calls() if self._path(call.issued.lane) == path]
        return self._log.in_order(known)

    def count(self) -> int:
        """See ``abc.store.Recording``."""
        return len(self._calls())

    def totals(self) -> Totals:
        """What a run that has no end has added up to."""
        kinds = Counter(str(call.issued.call.kind) for call in self._calls())
        readings = [self.notes(call.issued.event).get("reading") for call in self._calls()]
        return totalled(self.count(), kinds["tool"], kinds["model"], [each for each in readings if each])

    def last(self) -> int | None:
        """Number of the last event; None where there is none."""
        return max((call.issued.event for call in self._calls()), default=None)

    def body(self, payload: Payload | None) -> bytes:
        """See ``abc.store.Recording``."""
        if payload is None:
            return b""
        found = self._log.bodies.get(payload.digest)
        if found is None:
            found = self.find(payload.digest)
        if found is None:
            raise missing(payload.digest, self._run.id)
        return found

    def find(self, digest: str) -> bytes | None:
        """Bytes by digest, or None."""
        for data in self._every_body():
            if data and self._store.hasher.of(data).hex() == digest:
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
        """See ``abc.store.Recording``."""
        return self.body(payload) == data

    def parts(self, event: int) -> Iterator[tuple[int | None, int, bytes]]:
        """See ``abc.store.Recording``."""
        call = self._log.calls.get(event)
        for segment in call.segments if call is not None else ():
            yield segment.delivery, segment.at_us, segment.data

    def lanes(self) -> Iterator[LaneFact]:
        """See ``abc.store.Recording``."""
        return (self._log.lanes[n] for n in sorted(self._log.lanes) if self._holds(self._log.lanes[n].path))

    def lane(self, path: str) -> LaneFact | None:
        """See ``abc.store.Recording``."""
        return next((fact for fact in self.lanes() if fact.path == path), None)

    def deliveries(self, start: int = 0) -> Iterator[Delivery]:
        """See ``abc.store.Recording``."""
        turns = self._log.turns
        return islice(turns, bisect_left(turns, start, key=lambda each: each.number), None)

    def ambient(self, lane: str, position: int) -> Mapping[str, bytes]:
        """See ``abc.store.Recording``."""
        found: dict[str, bytes] = {}
        number = self._log.paths.get(lane)
        if number is not None and self._holds(lane):
            for record in self._log.reads.get((number, position), ()):
                found[record.source] = found.get(record.source, b"") + record.data
        return found

    def reads(self) -> Iterator[AmbientRead]:
        """See ``abc.store.Recording``."""
        for lane, position in sorted(self._log.reads):
            if self._holds(self._path(lane)):
                yield from self._log.reads[lane, position]

    def printed(self, stream: int) -> Iterator[bytes]:
        """See ``abc.store.Recording``."""
        return (each.data for each in self._log.records if isinstance(each, Printed) and each.stream == stream)

    def checkpoint_slots(self, event: int, phase: str) -> Mapping[str, bytes] | None:
        """See ``abc.store.Recording``."""
        found = self._log.slots.get((event, phase))
        return None if found is None else dict(found)

    def snapshots(
        self,
        *,
        lanes: Collection[str] = (),
        after: int = -1,
        before: int | None = None,
        unlike: tuple[str, str | None] | None = None,
        backwards: bool = False,
    ) -> Iterator[Snapshot]:
        """See ``abc.store.Recording``."""
        kept: dict[tuple[int, str], Snapshot] = {}
        for (event, phase), bodies in self._log.slots.items():
            if event in self._log.calls:
                slots = {name: self._store.hasher.of(body).hex() if body else "" for name, body in bodies.items()}
                kept[event, phase] = Snapshot(event, phase, self._path(self._log.calls[event].issued.lane), slots)
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
    ) -> Iterator[Version]:
        """See ``abc.store.Recording``."""
        places = (
            each
            for each in self.snapshots(lanes=lanes, before=before, backwards=True)
            if each.phase == "in" or each.event not in unended
        )
        for digest, alike in groupby(places, key=lambda each: each.slots.get(slot)):
            newest = next(alike)
            body = self._log.slots[newest.event, newest.phase].get(slot, b"")
            yield Version(newest.event, newest.phase, newest.lane, digest, body)

    def notes(self, event: int | None) -> Mapping[str, Any]:
        """See ``abc.store.Recording``."""
        own = event is not None or not self._run.lane
        found = self._log.noted.get(event, {})
        return {**(found if own else {}), **(self._store.extra.get(self._run.id, {}) if event is None else {})}

    def gaps(self) -> Iterator[tuple[str, str, int]]:
        """See ``abc.store.Recording``."""
        found: dict[tuple[str, str], int] = {}
        for record in self._log.records:
            if isinstance(record, GapNoted):
                found[record.what, record.place] = found.get((record.what, record.place), 0) + record.count
        return ((what, where, count) for (what, where), count in found.items())
