"""Runs that were made from a trace: how exact each part of an event is, and model calls as another tool's spans
describe them.

A trace holds no bytes of the wire. Its model calls are kept as neutral readings in two parts, the request and the
answer. Every event says for each of its parts whether the part is *exact* (the value itself), *semantic* (the same
content, in another form) or *absent*.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

from reenact.facts.call import Call, Json, Kind
from reenact.facts.event import Event
from reenact.facts.imported_runs import NOTE, is_imported
from reenact.facts.jsontext import writer
from reenact.facts.reading import Reading
from reenact.facts.run import Run

RULE: Final = "traced/1"
"""The rule of a model call in a trace: its body is the request, in the neutral form."""

ORIGINAL: Final = "original"
"""The name of the event that holds the imported documents, cleaned by the redactor."""

ORIGINAL_RULE: Final = "original/1"
"""The key rule of that event."""

SPAN: Final = "span"
"""The key for an event's facts about its span: ``id``, ``dialect``, ``fidelity`` (part to grade), ``merged``,
``times``, ``attributes`` (those that no table of names knows)."""

_ANSWERED: Final = (
    *("model_answered", "text", "thinking", "tool_calls", "finish", "usage", "error", "response_id", "streamed"),
    *("partial", "dimensions"),
)


class Grade(StrEnum):
    """How much a trace kept of one part of an event: the value itself, its content in another form, or nothing."""

    EXACT = "exact"
    SEMANTIC = "semantic"
    ABSENT = "absent"


NEEDED: Final[Mapping[str, tuple[str, str]]] = {
    "history": ("answer", "messages"),
    "model_calls": ("answer", "answer"),
    "tool_calls": ("result", "result"),
}
"""The items of a trace's kit. Each item has the part of an event that holds it, and the part without which (in all
events) the run is a cold case."""


def weakest(grades: Iterable[Grade]) -> Grade:
    """The weakest of some grades; exact for none."""
    return max(grades, key=list(Grade).index, default=Grade.EXACT)


def is_traced(run: Run) -> bool:
    """Whether a run was made from a trace, and not from HTTP exchanges."""
    return is_imported(run) and bool(trace_of(run))


def trace_of(run: Run) -> Mapping[str, Json]:
    """The facts of a run about its trace: ``id``, ``digest``, ``spans`` …; empty where the run was made from no
    trace."""
    found = (run.capture.get(NOTE) or {}).get("trace")
    return found if isinstance(found, Mapping) else {}


def is_traced_model(call: Call) -> bool:
    """Whether a call is a model call from a trace."""
    return call.rule == RULE


def is_original(call: Call) -> bool:
    """Whether an event holds the documents of a trace, and is no call."""
    return call.kind is Kind.NOTE and call.name == ORIGINAL and call.rule == ORIGINAL_RULE


def bodies(data: Mapping[str, Json]) -> tuple[bytes, bytes]:
    """A reading as two bodies: the request and the answer.

    Neither body has the trace's names for attributes, so a call that is recorded in two dialects of traces has the same
    request.

    Args:
        data: The reading, as ``Reading.to_json`` gives it.
    """
    asked = {name: value for name, value in data.items() if name not in (*_ANSWERED, "dialect")}
    answered: dict[str, Json] = {name: data[name] for name in _ANSWERED if name in data}
    return _text(asked), _text(answered)


def reading_in(asked: bytes, answered: bytes) -> Reading:
    """The reading in two bodies, without damaged or malformed parts."""
    return Reading.from_json({"dialect": "", **_data(asked), **_data(answered)})


def graded(event: Event) -> Mapping[str, Grade]:
    """How exact each part of an event is, by the part's name; empty where the event does not say."""
    said = event.attributes.get(SPAN)
    found = said.get("fidelity") if isinstance(said, Mapping) else None
    grades = set(Grade)
    return {str(k): Grade(v) for k, v in found.items() if v in grades} if isinstance(found, Mapping) else {}


_TOLD: Final = ("answer", "result", "documents", "output")


def is_untold(event: Event) -> bool:
    """Whether an event is from a trace that does not have its result."""
    grades = graded(event)
    return any(grades.get(part) is Grade.ABSENT for part in _TOLD)


_written: Final = writer(ascii_only=False, nan=True)


def _text(data: Mapping[str, Json]) -> bytes:
    return _written(data).encode("utf-8", "surrogatepass")


def _data(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body) if body else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
