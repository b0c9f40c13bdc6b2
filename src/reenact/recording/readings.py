"""Neutral readings of model calls, made by the writer when it has nothing to write.

The bytes are the truth and a reading is derived: where time or memory does not allow one, it is left out, and whoever
reads the run derives it then.
"""

from __future__ import annotations

import collections
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from reenact.facts.call import Call, Json, Kind
from reenact.facts.dialects import read, recognise
from reenact.facts.record import (
    CallIssued,
    CallSettled,
    HeadArrived,
    Noted,
    Record,
    RunClosed,
    RunOpened,
    SegmentArrived,
    StreamEnded,
)
from reenact.facts.run import Run

LARGEST = 4 << 20
"""Answers above this many bytes are read when somebody looks at them."""


@dataclass(slots=True)
class _Exchange:
    call: Call
    head: Mapping[str, Json] | None = None
    parts: list[bytes] = field(default_factory=list)
    size: int = 0


@dataclass(frozen=True, slots=True)
class Sums:
    """What model calls have added up to: how many, and the tokens that providers reported."""

    models: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


class Readings:
    """Collects model exchanges as they are recorded, and reads them in idle time.

    What a child run comes to is known when the exchanges that it made have been read: its end is then written again.
    """

    def __init__(self) -> None:
        self._open: dict[int, _Exchange] = {}
        self._done: collections.deque[tuple[int, _Exchange] | RunOpened | RunClosed] = collections.deque()
        self._reading = threading.Lock()
        self._sums = Sums()
        self._before: dict[str, Sums] = {}

    def saw(self, record: Record) -> None:
        """Look at one record, in the writer's thread. About 0.2 µs for what is no model call."""
        if isinstance(record, SegmentArrived):
            exchange = self._open.get(record.event)
            if exchange is not None:
                exchange.size += len(record.data)
                if exchange.size > LARGEST:
                    del self._open[record.event]
                else:
                    exchange.parts.append(record.data)
        elif isinstance(record, CallIssued):
            if record.call.kind is Kind.HTTP and record.call.head.get("method") == "POST":
                self._open[record.event] = _Exchange(record.call)
        elif isinstance(record, HeadArrived):
            exchange = self._open.get(record.event)
            if exchange is not None:
                exchange.head = record.head
        elif isinstance(record, StreamEnded | CallSettled):
            exchange = self._open.pop(record.event, None)
            if exchange is not None and exchange.head is not None:
                self._done.append((record.event, exchange))
        elif isinstance(record, RunOpened | RunClosed) and record.run.relation == "child":
            self._done.append(record)

    def sums(self) -> Sums:
        """What has been added up so far; calls whose answers are not read yet are counted, without their tokens."""
        with self._reading:
            unread = [each[1].call for each in self._done if isinstance(each, tuple)]
            return replace(self._sums, models=self._sums.models + sum(map(_recognised, unread)))

    def work(self) -> list[Record]:
        """Read one exchange; empty when there is nothing to read. Whoever comes meanwhile waits for it."""
        with self._reading:
            while self._done:
                waiting = self._done.popleft()
                if isinstance(waiting, RunOpened):
                    self._before[waiting.run.id] = self._sums
                    continue
                found = self._ended(waiting.run) if isinstance(waiting, RunClosed) else self._read(*waiting)
                if found is not None:
                    return [found]
            return []

    def _read(self, event: int, exchange: _Exchange) -> Noted | None:
        call = exchange.call
        if not _recognised(call):
            return None
        reading = read(call.head, call.body, exchange.head or {}, b"".join(exchange.parts))
        if reading is None:
            return None
        usage = reading.usage
        self._sums = Sums(
            self._sums.models + 1,
            self._sums.tokens_in + usage.get("tokens_in", 0),
            self._sums.tokens_out + usage.get("tokens_out", 0),
        )
        return Noted(event, "reading", reading.to_json(brief=True))

    def _ended(self, run: Run) -> RunClosed | None:
        """The end of a child run with what its model calls came to (those of siblings meanwhile are counted too)."""
        before = self._before.pop(run.id, None)
        if before is None or before == self._sums:
            return None
        totals = replace(
            run.totals,
            models=run.totals.models + self._sums.models - before.models,
            tokens_in=self._sums.tokens_in - before.tokens_in,
            tokens_out=self._sums.tokens_out - before.tokens_out,
        )
        return RunClosed(replace(run, totals=totals))


def _recognised(call: Call) -> bool:
    return recognise(call.head, call.body) is not None
