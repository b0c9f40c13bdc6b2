"""The HTTP exchanges of a run for export, and the facts that no format of exchanges can hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from reenact.abc.store import Recording
from reenact.facts.call import EndKind, Failure, Fidelity, Json, Kind, Outcome, Stream
from reenact.facts.event import Event
from reenact.facts.framing import unframed
from reenact.facts.imported_runs import is_imported, times_known
from reenact.facts.lazy_dataclass import dataclass
from reenact.interop.exchanges import Headers, ImportedExchange
from reenact.replaying.ambient_replay import clock_of

_LARGEST: Final = 64 << 20
_UPGRADED: Final = 101


@dataclass(frozen=True, slots=True)
class ExchangeExport:
    """The exported exchanges.

    Attributes:
        exchanges: The exchanges, in the order of their requests.
        lost: The facts of the run that the exchanges lack: in words, with their number.
    """

    exchanges: tuple[ImportedExchange, ...]
    lost: Mapping[str, int]


def export_exchanges(recording: Recording) -> ExchangeExport:
    """The exchanges of a run that other tools can hold, and the number of lost events.

    Args:
        recording: The run.
    """
    run = recording.run
    clock_us = clock_of(run)[0]
    lost: Counter[str] = Counter()
    exchanges = []
    for event in recording.events():
        why = _unfit(event)
        if why:
            lost[why] += 1
            continue
        exchange = _exchange(recording, event, clock_us if times_known(run) else None)
        assert isinstance(event.outcome, Stream)  # else the event would be unfit
        if event.outcome.segments > 1 and not is_imported(run):
            lost["streams in pieces, kept as one"] += 1
        if event.outcome.end is not None and event.outcome.end.kind is EndKind.CLOSED:
            lost["answers that were not read to their end, kept as far as they were read"] += 1
        if event.fidelity is not Fidelity.EXACT:
            lost["exchanges with stand-ins in place of credentials"] += 1
        exchanges.append(exchange)
    if run.totals.deliveries:
        lost["turns, and with them the order of strands"] = run.totals.deliveries
    return ExchangeExport(tuple(exchanges), dict(lost))


def _unfit(event: Event) -> str:
    """Why an event cannot be exported as an exchange; empty when it can."""
    if event.call.kind is not Kind.HTTP:
        return f"events of kind {event.kind}"
    if event.call.head.get("transport") == "grpc":
        return "gRPC calls"
    if event.fidelity is Fidelity.WITHHELD:
        return "exchanges whose bytes were withheld"
    return _unanswered(event.outcome)


def _unanswered(outcome: Outcome | None) -> str:
    """Why an outcome is no whole answer; empty when it is one."""
    if isinstance(outcome, Failure):
        return "exchanges that failed without an answer"
    if not isinstance(outcome, Stream) or not outcome.head:
        return "exchanges that were never answered"
    if outcome.head.get("status") == _UPGRADED:
        return "connections that became something else"
    if outcome.end is None or outcome.end.kind in (EndKind.ERROR, EndKind.CANCELLED):
        return "answers that broke off"
    return "answers that are too large" if outcome.size > _LARGEST else ""


def _exchange(recording: Recording, event: Event, clock_us: int | None) -> ImportedExchange:
    outcome = event.outcome
    assert isinstance(outcome, Stream)
    head, asked = outcome.head, event.call.head
    body = b"".join(data for _, _, data in recording.parts(event.number))
    return ImportedExchange(
        method=str(asked.get("method") or "GET"),
        url=str(asked.get("url") or ""),
        asked=_pairs(asked),
        body=recording.body(event.request),
        status=int(head["status"]),
        reason=str(head.get("reason") or ""),
        headers=_pairs(head),
        answer=unframed(head, body),
        version=str(head.get("version") or ""),
        at_us=None if clock_us is None else clock_us + event.issued_us,
        first_us=max(0, (event.first_us or event.issued_us) - event.issued_us),
        client=str(asked.get("transport") or ""),
        ended_us=max(0, (event.ended_us or event.issued_us) - event.issued_us),
    )


def _pairs(head: Mapping[str, Json]) -> Headers:
    return tuple((str(name), str(value)) for name, value in head.get("headers") or ())
