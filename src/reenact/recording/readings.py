"""Neutral readings of model calls, made by the writer when it has nothing to write.

The bytes are the truth and a reading is derived: where time or memory does not allow one, it is left out, and whoever
reads the run derives it then.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
from dataclasses import dataclass, field

from reenact.facts.call import Call, Json, Kind
from reenact.facts.dialects import read, recognise
from reenact.facts.record import CallIssued, CallSettled, HeadArrived, Noted, Record, SegmentArrived, StreamEnded

LARGEST = 4 << 20
"""Answers above this many bytes are read when somebody looks at them."""


@dataclass(slots=True)
class _Exchange:
    call: Call
    head: Mapping[str, Json] | None = None
    parts: list[bytes] = field(default_factory=list)
    size: int = 0


class Readings:
    """Collects model exchanges as they are recorded, and reads them in idle time.

    Attributes:
        tokens: Sums of what providers reported, ``[in, out]``; shared with the session.
    """

    def __init__(self) -> None:
        self._open: dict[int, _Exchange] = {}
        self._done: collections.deque[tuple[int, _Exchange]] = collections.deque()
        self.tokens = [0, 0]
        self.models = 0

    def saw(self, record: Record) -> None:
        """Look at one record, in the thread that made it. About 0.2 µs for what is no model call."""
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

    def work(self) -> list[Record]:
        """Read one exchange; empty when there is nothing to read."""
        while self._done:
            event, exchange = self._done.popleft()
            if recognise(exchange.call.head, exchange.call.body) is None:
                continue
            reading = read(exchange.call.head, exchange.call.body, exchange.head or {}, b"".join(exchange.parts))
            if reading is None:
                continue
            self.models += 1
            usage = reading.usage
            self.tokens[0] += usage.get("tokens_in", 0)
            self.tokens[1] += usage.get("tokens_out", 0)
            return [Noted(event, "reading", reading.to_json(brief=True))]
        return []
