"""Short ways to say what a recording appends, for the tests of the stores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from reenact.facts.call import Call, Effect, End, EndKind, ErrorFact, Failure, Kind, Value
from reenact.facts.ids import make_run_id
from reenact.facts.order import Delivery, Tag, TimerSpan, event_tag
from reenact.facts.record import (
    CallIssued,
    CallSettled,
    HeadArrived,
    LaneOpened,
    Record,
    RunClosed,
    RunOpened,
    SegmentArrived,
    StreamEnded,
    TurnsDelivered,
)
from reenact.facts.run import Run, Status

_ids = count(1)


def new_run(**fields: Any) -> Run:
    """A run with an id of its own, later than those before it."""
    n = next(_ids)
    fields.setdefault("started_us", 1_700_000_000_000_000 + n * 1000)
    return Run(make_run_id(fields["started_us"], n.to_bytes(5, "big")), **fields)


def opening(run: Run) -> list[Record]:
    """A run begins, with its root lane."""
    return [RunOpened(run), LaneOpened(0, "root", None)]


def closing(run: Run, status: Status = Status.OK, **fields: Any) -> RunClosed:
    """A run ends."""
    return RunClosed(replace(run, status=status, ended_us=run.started_us + 5, **fields))


def issued(event: int, body: bytes = b'{"query":"x"}', **fields: Any) -> CallIssued:
    """A tool is called; fields of ``CallIssued`` or ``Call`` may be given."""
    own = {
        name: fields.pop(name) for name in ("lane", "position", "parent", "at_us", "fidelity", "note") if name in fields
    }
    call: dict[str, Any] = {
        "kind": Kind.TOOL, "name": "search_docs", "effect": Effect.READ, "rule": "value/1", "media": "application/json",
    }  # fmt: skip
    return CallIssued(
        event, **{"lane": 0, "position": event, "parent": None, "at_us": event * 10, **own},
        call=Call(**{**call, "body": body, **fields}),
    )  # fmt: skip


def settled(event: int, body: bytes = b'{"docs":[]}', **fields: Any) -> CallSettled:
    """A tool returns."""
    return CallSettled(event, event * 10 + 5, Value(body), **fields)


def failed(event: int, text: str = "boom") -> CallSettled:
    """A tool raises, with a cause, notes and arguments that are not UTF-8."""
    cause = ErrorFact("builtins.OSError", "refused", args=b"[111]")
    error = ErrorFact(
        "builtins.ValueError", text, args=b"\xff\x00", state=b"{}", cause=cause, notes=("look here",), members=(cause,)
    )
    return CallSettled(event, event * 10 + 5, Failure(error, changes=b"\xfe"), delivery=event)


def streamed(event: int, pieces: list[bytes], *, end: bool = True) -> Iterator[Record]:
    """The answer of an HTTP call, in pieces."""
    yield HeadArrived(event, 100, {"status": 200, "headers": [["x", "y"]]}, delivery=10)
    for n, piece in enumerate(pieces):
        yield SegmentArrived(event, 200 + n, piece, delivery=None if n % 3 == 2 else 11 + n)
    if end:
        yield StreamEnded(event, 900, End(EndKind.EOF))


def turns(first: int, size: int, lane: str = "root") -> TurnsDelivered:
    """Turns at the gate."""
    return TurnsDelivered(
        tuple(
            Delivery(n, event_tag(n, 0), n * 7, n % 5 != 0)
            if n % 2
            else Delivery(n, Tag("t", lane, n, 1), n * 7, n % 5 != 0, TimerSpan(n * 5, n * 6) if n % 3 else None)
            for n in range(first, first + size)
        )
    )
