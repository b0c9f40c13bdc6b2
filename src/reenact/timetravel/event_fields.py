"""Fields: one part of an event by its path, as exact bytes where possible.

``request.body`` and ``response.body`` are the exact bytes, including compression; ``response.content`` is decoded, and
``response.raw`` is all that was stored, with the framing of a connection. A longer path (``response.body.choices.0``)
leads into the decoded content. ``state`` is the state after the step, or before it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence

from reenact.abc.store import Recording
from reenact.errors import UsageError
from reenact.facts.call import Json, Stream, Value
from reenact.facts.event import Event, sent_call
from reenact.timetravel.event_contents import (
    answered,
    arguments_of,
    asked,
    asked_head,
    decoded_body,
    error_data,
    error_of,
    headers_of,
    message_body,
)
from reenact.timetravel.json_views import event_data
from reenact.timetravel.model_readings import reading_of
from reenact.timetravel.step_view import event_state

_UNLIMITED = 1 << 62


def _answer_head(event: Event) -> Mapping[str, Json]:
    return event.outcome.head if isinstance(event.outcome, (Stream, Value)) else {}


def _answer_body(recording: Recording, event: Event) -> bytes:
    return message_body(_answer_head(event), recording.body(event.answer))


_EXACT: Mapping[tuple[str, ...], Callable[[Recording, Event], bytes]] = {
    (): _answer_body,
    ("response", "body"): _answer_body,
    ("response", "content"): lambda log, event: decoded_body(_answer_head(event), log.body(event.answer)),
    ("response", "raw"): lambda log, event: log.body(event.answer),
    ("request", "body"): lambda log, event: sent_call(event, log.body(event.request)).body,
    ("request", "content"): lambda log, event: decoded_body(
        event.call.head, sent_call(event, log.body(event.request)).body
    ),
}


def field_of(recording: Recording, event: Event, path: Sequence[str]) -> bytes | Json:
    """The part of an event that a path names.

    Args:
        recording: The run.
        event: One of its events.
        path: First the field (``request``, ``response``, ``args``, ``result``, ``state``, ``reading``, ``error`` where
            it raised, or one that ``show --json`` prints), then keys and indices into it. Empty: the exact bytes of
            the answer.

    Returns:
        Bytes where exact bytes are meant, JSON-able data otherwise.

    Raises:
        UsageError: The path leads to nothing; the message names the existing keys.
    """
    exact = _EXACT.get(tuple(path))
    if exact is not None:
        return exact(recording, event)
    found: Json = _roots(recording, event)
    for depth, key in enumerate(path):
        found = _descend(found, key, event, path[:depth])
        if callable(found):
            found = found()
    return _whole(found)


def _whole(found: Json) -> Json:
    """A part of an event, with its lazy parts decoded."""
    if not isinstance(found, dict):
        return found
    return {key: value() if callable(value) else value for key, value in found.items()}


def _roots(recording: Recording, event: Event) -> dict[str, Json]:
    """The possible beginnings of a path; content is decoded only when it is used."""

    def request() -> Json:
        return _headed(asked_head(recording, event)) | {"body": lambda: asked(recording, event, _UNLIMITED)}

    def response() -> Json:
        return _headed(_answer_head(event)) | {"body": lambda: answered(recording, event, _UNLIMITED)}

    late: dict[str, Callable[[], Json]] = {
        "request": request,
        "response": response,
        "args": lambda: arguments_of(asked(recording, event, _UNLIMITED)),
        "result": lambda: answered(recording, event, _UNLIMITED),
        "state": lambda: event_state(recording, event.number),
        "reading": lambda: reading_of(event),
    }
    error = error_of(event)
    raised = {} if error is None else {"error": error_data(error)}
    return {**event_data(event), **raised, **late}


def _headed(head: Mapping[str, Json]) -> dict[str, Json]:
    """A head, with its headers where it has any."""
    return {**head, "headers": headers_of(head)} if "headers" in head else dict(head)


def _descend(value: Json, key: str, event: Event, before: Sequence[str]) -> Json:
    if isinstance(value, Mapping) and key in value:
        return value[key]
    if isinstance(value, (list, tuple)) and key.lstrip("-").isdigit() and -len(value) <= int(key) < len(value):
        return value[int(key)]
    place = ".".join(before) or "the event"
    if isinstance(value, Mapping):
        names = [str(name) for name in value]
        near = difflib.get_close_matches(key, names, 1)
        there = f"did you mean {near[0]}? " if near else ""
        there += f"there are {', '.join(names[:30]) or 'no keys'}"
    elif isinstance(value, (list, tuple)):
        there = f"it has {len(value)} members, counted from 0"
    else:
        there = f"{place} is {type(value).__name__}, not an object or a list"
    raise UsageError(
        f"{place} of #{event.number} has no {key}",
        cause=there,
        next_command=f"reenact show {event.run}:{event.number}",
    )
