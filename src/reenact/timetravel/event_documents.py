"""Documents: an event as one JSON value with its request and its answer, for comparisons and patches.

Of the answer of a recognised model call, the document has the model's decision alone, because ids and times differ in
every answer. Of other answers it has the content. Bytes that are no text are shown by size and digest.
"""

from __future__ import annotations

from reenact.abc.store import Recording
from reenact.facts.call import EndKind, Failure, Json, Kind, Stream
from reenact.facts.event import Event, Payload
from reenact.timetravel.event_contents import (
    Unread,
    answered,
    arguments_of,
    asked,
    asked_head,
    error_data,
    error_of,
    status_of,
)
from reenact.timetravel.model_readings import decision_of
from reenact.timetravel.step_view import event_state

_LIMIT = 16 << 20


def document(recording: Recording, event: Event | None, *, sent: bool = True) -> Json:
    """An event as JSON; None for no event. ``sent``: see ``event_contents.asked``."""
    if event is None:
        return None
    told = {"kind": event.kind, "name": event.name, "asks": asks(recording, event, sent=sent)}
    return {**told, "answer": answer(recording, event)}


def asks(recording: Recording, event: Event, *, sent: bool) -> Json:
    """The request of an event: arguments; or method, URL and body; or the state before a step."""
    if event.kind == Kind.STEP:
        return event_state(recording, event.number, "in")
    content = _plain(arguments_of(asked(recording, event, _LIMIT, sent=sent)), event.request)
    if event.kind != Kind.HTTP:
        return content
    head = asked_head(recording, event) if sent else event.call.head
    return {"method": head.get("method"), "url": head.get("url"), "body": content}


def answer(recording: Recording, event: Event) -> Json:
    """The answer of an event: a value, an error, a status with content, a decision, or the state after a step."""
    outcome = event.outcome
    if outcome is None:
        return {"open": True}
    if isinstance(outcome, Failure):
        return {"error": error_data(outcome.error)}
    if event.kind == Kind.STEP:
        return {"state": event_state(recording, event.number, "out")}
    content = _plain(answered(recording, event, _LIMIT), event.answer)
    if not isinstance(outcome, Stream):
        return {"value": content}
    found: dict[str, Json] = {"status": status_of(event)}
    decision = decision_of(event)
    if decision is not None:
        calls = [{"name": name, "arguments": arguments} for name, arguments in decision.tools]
        found |= {"text": decision.text, "tool_calls": calls, "finish": decision.finish}
    else:
        found["body"] = content
    error = error_of(event)
    if outcome.end is None or outcome.end.kind is not EndKind.EOF:
        found["ended"] = "broken off" if outcome.end is None else outcome.end.kind.value
    return found if error is None else {**found, "error": error_data(error)}


def _plain(content: Json | Unread, payload: Payload | None) -> Json:
    """Content as JSON; bytes that are no text, and long ones, by size and digest."""
    if isinstance(content, (Unread, bytes)) and payload is not None:
        return {"bytes": payload.size, "digest": payload.digest}
    return None if isinstance(content, (Unread, bytes)) else content
