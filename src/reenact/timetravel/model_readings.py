"""Readings: the neutral view of a model call that recognition left on its event, and the decision in it.

A reading is derived and may be absent or partial; every function here accepts that. It is the JSON-able mapping in
``event.attributes["reading"]``: ``provider``, ``model_asked``, ``model_answered``, ``params``, ``system``,
``messages``, ``tools``, ``text``, ``tool_calls`` (``name``, ``arguments``, ``id``), ``finish``, ``usage``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from reenact.facts.call import Json, Kind
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import dataclass

_UNREAD = frozenset((Kind.STEP, Kind.TOOL))


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of a model: the tool calls that it requests, or else its text.

    Attributes:
        tools: The name and arguments of each requested call.
        text: Its text.
        finish: The reason for its end, in the provider's word.
    """

    tools: tuple[tuple[str, Json], ...] = ()
    text: str = ""
    finish: str = ""


def reading_of(event: Event) -> Mapping[str, Json] | None:
    """The reading of an event; None where it is no recognised model call. Steps and tools never have one, so their
    notes are not read."""
    if event.call.kind in _UNREAD:
        return None
    reading = event.attributes.get("reading")
    return reading if isinstance(reading, Mapping) else None


def is_model(event: Event) -> bool:
    """Whether an event is a model call: one in the process, or a recognised exchange."""
    return event.kind == "model" or reading_of(event) is not None


def decides(event: Event) -> bool:
    """Whether an event is a model call that may decide something; a request for vectors does not."""
    return is_model(event) and (reading_of(event) or {}).get("sort") != "embedding"


def model_name(event: Event) -> str:
    """The model that answered, or else the requested model, or else the event's name."""
    reading = reading_of(event) or {}
    for key in ("model_answered", "model_asked", "model"):
        if isinstance(reading.get(key), str) and reading[key]:
            return str(reading[key])
    return event.name


def parameters(event: Event) -> Mapping[str, Json]:
    """Parameters of the model call (``temperature`` …)."""
    found = (reading_of(event) or {}).get("params")
    return found if isinstance(found, Mapping) else {}


def decision_of(event: Event) -> Decision | None:
    """The model's decision; None without a reading, or without an answer in it."""
    reading = reading_of(event)
    if reading is None:
        return None
    calls = reading.get("tool_calls")
    tools = tuple(
        (str(call.get("name", "")), _arguments(call.get("arguments")))
        for call in (calls if isinstance(calls, (list, tuple)) else ())
        if isinstance(call, Mapping)
    )
    text = reading.get("text")
    finish = reading.get("finish")
    decision = Decision(tools, text if isinstance(text, str) else "", finish if isinstance(finish, str) else "")
    return decision if decision != Decision() else None


def _arguments(value: Json) -> Json:
    """Arguments as data: several protocols send them as JSON inside a string."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
