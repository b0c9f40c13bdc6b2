"""Runs and events as JSON-able data, in the form that ``--json`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reenact.facts.call import EndKind, Failure, Stream, Value
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import asdict
from reenact.timetravel.event_contents import error_data

if TYPE_CHECKING:
    from reenact.facts.call import Json
    from reenact.facts.event import Event
    from reenact.facts.run import Run


def run_data(run: Run) -> dict[str, Json]:
    """One run, with every field under its own name, and its short id."""
    return {"run": run.id, "tail": tail(run.id)} | {
        key: value for key, value in asdict(run).items() if key not in ("id", "origin_us")
    }


def event_data(event: Event) -> dict[str, Json]:
    """One event: its request, the places of its exact bytes, and its answer."""
    call = event.call
    return {
        "run": event.run,
        "event": event.number,
        "kind": event.kind,
        "name": event.name,
        "effect": call.effect.value,
        "lane": event.lane,
        "position": event.position,
        "parent": event.parent,
        "source": call.source,
        "request": {"head": dict(call.head), "media": call.media} | _payload(event.request),
        "outcome": outcome_data(event),
        "issued_us": event.issued_us,
        "first_us": event.first_us,
        "ended_us": event.ended_us,
        "delivery": event.delivery,
        "key": event.key,
        "fidelity": event.fidelity.value,
        "fidelity_note": event.fidelity_note,
        "attributes": dict(event.attributes),
    }


def outcome_data(event: Event) -> dict[str, Json] | None:
    """The answer of an event, without its bytes; None while open."""
    match event.outcome:
        case Value(head=head, media=media):
            return {"form": "value", "head": dict(head), "media": media} | _payload(event.answer)
        case Failure(error=error, head=head):
            return {"form": "error", "head": dict(head), "error": error_data(error)}
        case Stream(head=head, end=end, segments=segments):
            data: dict[str, Json] = {"form": "stream", "head": dict(head), "segments": segments}
            data["end"] = end.kind.value if end is not None else None
            if end is not None and end.kind is EndKind.ERROR and end.error is not None:
                data["error"] = error_data(end.error)
            return data | _payload(event.answer)
    return None


def _payload(payload: Any) -> dict[str, Json]:
    return {"size": 0} if payload is None else {"digest": payload.digest, "size": payload.size}
