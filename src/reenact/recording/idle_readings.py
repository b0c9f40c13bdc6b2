"""Neutral readings of model calls, made by the writer when it has nothing to write.

A reading is derived from the bytes. If time or memory does not allow it, it is left out, and is derived when the run is
read.
"""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from reenact.facts.call import Call, Json, Kind
from reenact.facts.event import REWRITTEN
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import dataclass, field, replace
from reenact.facts.record import (
    CallIssued,
    CallSettled,
    EvidenceNoted,
    HeadArrived,
    LaneOpened,
    Record,
    RunClosed,
    RunOpened,
    SegmentArrived,
    StreamEnded,
)
from reenact.facts.run import Run
from reenact.recording.tallies import belongs

if TYPE_CHECKING:
    from reenact.facts.dialects import read, recognise
    from reenact.facts.dialects.request_rewriting import as_sent
else:
    as_sent = late("reenact.facts.dialects.request_rewriting", "as_sent")
    read = late("reenact.facts.dialects", "read")
    recognise = late("reenact.facts.dialects", "recognise")

LARGEST = 4 << 20
"""Larger answers are parsed only when the run is read."""
WAITED = 12
"""Idle rounds of the writer (20 ms each) after which the request of a waiting call is noted, so that a program that is
killed leaves a model call."""


@dataclass(slots=True)
class _Exchange:
    call: Call
    lane: str = ""
    head: Mapping[str, Json] | None = None
    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    rounds: int = 0


@dataclass(frozen=True, slots=True)
class ModelSums:
    """Sums over model calls: their number, and the tokens that providers reported."""

    models: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def plus(self, usage: Mapping[str, int]) -> ModelSums:
        """These sums and one more call."""
        tokens = usage.get("tokens_in", 0), usage.get("tokens_out", 0)
        return ModelSums(self.models + 1, self.tokens_in + tokens[0], self.tokens_out + tokens[1])


class Readings:
    """Collects model exchanges as they are recorded, and reads them in idle time.

    The sums of a child run are known when its exchanges have been parsed; then its end is written again.
    """

    def __init__(self) -> None:
        self._open: dict[int, _Exchange] = {}
        self._done: collections.deque[tuple[int, _Exchange] | RunOpened | RunClosed] = collections.deque()
        self._reading = threading.Lock()
        self._sums = ModelSums()
        self._paths: dict[int, str] = {}
        self._inside: dict[str, ModelSums] = {}
        """The sums of each child run so far, by the run's lane."""

    def saw(self, record: Record) -> None:
        """Look at one record, in the writer's thread. About 0.2 µs for a record that belongs to no model call."""
        see = _SEEN_BY.get(type(record))
        if see is not None:
            see(self, record)

    def _segment(self, record: SegmentArrived) -> None:
        exchange = self._open.get(record.event)
        if exchange is not None:
            exchange.size += len(record.data)
            if exchange.size > LARGEST:
                del self._open[record.event]
            else:
                exchange.parts.append(record.data)

    def _issued(self, record: CallIssued) -> None:
        if record.call.kind is Kind.HTTP and record.call.head.get("method") == "POST":
            self._open[record.event] = _Exchange(record.call, self._paths.get(record.lane, ""))

    def _head(self, record: HeadArrived) -> None:
        exchange = self._open.get(record.event)
        if exchange is not None:
            exchange.head = record.head

    def _noted(self, record: EvidenceNoted) -> None:
        exchange = self._open.get(record.event) if record.event is not None else None
        if exchange is not None and record.key == REWRITTEN:
            exchange.call = as_sent(exchange.call, record.value)

    def _answered(self, record: StreamEnded | CallSettled) -> None:
        exchange = self._open.pop(record.event, None)
        if exchange is not None:  # a call without a response (refused, timed out) is known by its request
            self._done.append((record.event, exchange))

    def _lane(self, record: LaneOpened) -> None:
        self._paths[record.number] = record.path

    def _run(self, record: RunOpened | RunClosed) -> None:
        if record.run.relation == "child":
            self._done.append(record)

    def ends(self) -> None:
        """The run ends: of an answer that the agent left open, the part that it read is read here too."""
        self._done.extend(self._open.items())
        self._open.clear()

    def sums(self) -> ModelSums:
        """The sums so far; calls whose answers are not parsed yet are counted, without their tokens."""
        with self._reading:
            unread = sum(_recognised(each[1].call) for each in self._done if isinstance(each, tuple))
            return replace(self._sums, models=self._sums.models + unread) if unread else self._sums

    def work(self) -> list[Record]:
        """Read one exchange; empty when there is nothing to read. A second thread that calls it waits."""
        with self._reading:
            while self._done:
                waiting = self._done.popleft()
                if isinstance(waiting, RunOpened):
                    self._inside[waiting.run.lane] = ModelSums()
                    continue
                found = self._ended(waiting.run) if isinstance(waiting, RunClosed) else self._read(*waiting)
                if found is not None:
                    return [found]
            return [noted for event, exchange in tuple(self._open.items()) for noted in _waiting(event, exchange)]

    def _read(self, event: int, exchange: _Exchange) -> EvidenceNoted | None:
        call = exchange.call
        if not _recognised(call):
            return None
        reading = read(call.head, call.body, exchange.head or {}, b"".join(exchange.parts))
        if reading is None:
            return None
        self._sums = self._sums.plus(reading.usage)
        for lane, sums in self._inside.items():
            if belongs(exchange.lane, lane):
                self._inside[lane] = sums.plus(reading.usage)
        return EvidenceNoted(event, "reading", reading.to_json(brief=True))

    def _ended(self, run: Run) -> RunClosed | None:
        """The end of a child run with the sums of its model calls; None where it made none."""
        sums = self._inside.pop(run.lane, ModelSums())
        if not sums.models:
            return None
        models = run.totals.models + sums.models
        totals = replace(run.totals, models=models, tokens_in=sums.tokens_in, tokens_out=sums.tokens_out)
        return RunClosed(replace(run, totals=totals))


_SEEN_BY: Final[Mapping[type, Callable[[Readings, Any], None]]] = {
    SegmentArrived: Readings._segment,
    CallIssued: Readings._issued,
    HeadArrived: Readings._head,
    StreamEnded: Readings._answered,
    CallSettled: Readings._answered,
    EvidenceNoted: Readings._noted,
    LaneOpened: Readings._lane,
    RunOpened: Readings._run,
    RunClosed: Readings._run,
}
"""The function that looks at each sort of record; other records do not matter here."""


def _waiting(event: int, exchange: _Exchange) -> Iterator[EvidenceNoted]:
    """The request of a call that waits long for its response, noted once."""
    if exchange.head is None:
        exchange.rounds += 1
        if exchange.rounds == WAITED and (reading := read(exchange.call.head, exchange.call.body, {}, b"")) is not None:
            yield EvidenceNoted(event, "reading", reading.to_json(brief=True))


def _recognised(call: Call) -> bool:
    return recognise(call.head, call.body) is not None
