"""Results that a fork gives to calls of our own seams, in the form of the recorded results."""

from __future__ import annotations

import json
from typing import Final

from reenact.abc.store import Recording
from reenact.errors import ForkError
from reenact.facts.call import Json, Kind, Value
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.facts.values import encode, jsonable

_FREE: Final = (Kind.TOOL, Kind.MODEL, Kind.RETRIEVAL)
"""The kinds whose results are the agent's own values: any value fits."""
_LISTED: Final = ("~tuple", "~set", "~frozenset")
_WRITTEN: Final = ("~decimal", "~uuid", "~date", "~datetime")
"""Types that are written as a text."""


def coerced(recording: Recording, event: Event, value: Json) -> bytes:
    """A result in place of the recorded one, in the form that its reader expects.

    Raises:
        ForkError: Its shape differs from the recorded result, which is the only known shape.
    """
    recorded = recording.body(event.answer) if isinstance(event.outcome, Value) else b""
    if event.call.kind is Kind.HUMAN:
        return _answer_of_a_person(event, recorded, value)
    if value is None and not recorded:
        return b"null"  # a write in doubt whose call returns None
    if event.call.kind not in _FREE and not (recorded and _alike(jsonable(recorded), value)):
        raise ForkError(
            f"{value!r:.60} cannot stand in place of the result of event {event.number} ({event.name})",
            cause=f"a result of {event.call.kind} has a fixed shape: copy the recorded one and change its values",
            next_command=f"reenact cat {tail(event.run)}:{event.number}.result",
        )
    return json.dumps(_typed(_node(recorded), value), ensure_ascii=False, separators=(",", ":")).encode()


def _node(recorded: bytes) -> Json:
    """A recorded value in its encoded form; None for an outcome that is no value."""
    try:
        return json.loads(recorded)
    except ValueError:
        return None


def _typed(recorded: Json, value: Json) -> Json:
    """An encoded value. Types that JSON does not have are taken from the recorded value: a list in the place of a tuple
    becomes a tuple, a text in the place of a decimal becomes a decimal. Further members of a list are treated like its
    last recorded member."""
    if isinstance(recorded, dict) and len(recorded) == 1:
        ((tag, held),) = recorded.items()
        if tag in _LISTED and isinstance(value, list):
            return {tag: _members(held, value)}
        if tag in _WRITTEN and isinstance(value, str):
            return {tag: value}
    if isinstance(recorded, list) and isinstance(value, list):
        return _members(recorded, value)
    if isinstance(recorded, dict) and isinstance(value, dict) and not any(name.startswith("~") for name in value):
        return {name: _typed(recorded.get(name), part) for name, part in value.items()}
    return json.loads(encode(value).body)


def _members(recorded: list[Json], value: list[Json]) -> list[Json]:
    last = recorded[-1] if recorded else None
    return [_typed(recorded[n] if n < len(recorded) else last, part) for n, part in enumerate(value)]


def _answer_of_a_person(event: Event, recorded: bytes, value: Json) -> bytes:
    """A line as ``input`` returns it; None for the end of the input. The recorded reads below it stay unchanged."""
    if (
        event.name != "input"
        or recorded is None
        or not (value is None or (isinstance(value, str) and "\n" not in value))
    ):
        raise ForkError(
            f"{value!r:.60} is no answer to event {event.number} ({event.name})",
            cause="what a person answers to input() is one line of text, or null for the end; passwords are not kept",
            next_command=f"reenact show {tail(event.run)}:{event.number}",
        )
    _, line_end, below = recorded.partition(b"\n")
    said = b"-" if value is None else b"+" + str(value).encode("utf-8", "surrogateescape")
    return said + line_end + below


def _alike(recorded: Json, value: Json) -> bool:
    """Whether a value has the outer shape of another: its type, the members of an object, the length of a list."""
    if isinstance(recorded, dict):
        return isinstance(value, dict) and recorded.keys() == value.keys()
    if isinstance(recorded, list):
        return isinstance(value, list) and len(recorded) == len(value)
    return type(recorded) is type(value)
