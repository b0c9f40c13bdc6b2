"""An event in one line: its request and its answer, each as far as there is room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reenact.abc.body_access import WITHHELD
from reenact.abc.store import Recording
from reenact.facts.call import Failure, Json, Kind, Stream, calls_a_tool
from reenact.facts.event import Event
from reenact.facts.phrases import counted
from reenact.facts.quiet_events import is_housekeeping
from reenact.facts.trace_runs import is_untold
from reenact.timetravel import preview
from reenact.timetravel.event_contents import Unread, answered, arguments_of, asked, error_of, error_text, status_of
from reenact.timetravel.model_readings import decision_of, is_model, parameters

_MOST = 400
_PREVIEW_LIMIT = 256 << 10
_ARROW = " -> "
_OPEN = "(open)"
_LEAST_OF_AN_ERROR = 8
"""The least number of characters for an error beside a call."""


def event_text(recording: Recording, event: Event, width: int = _MOST) -> str:
    """The request and the answer of an event, in one safe line. Reads its payloads up to a limit.

    Args:
        recording: The run.
        event: The event.
        width: The most characters; three fifths are for the request, and each side may use the room that the other
            leaves.
    """
    if is_model(event):
        return _model_text(recording, event, width)
    outcome = outcome_text(recording, event)
    request = asked(recording, event, _PREVIEW_LIMIT)
    if event.kind == Kind.DB:
        return _pair(_statement(request), outcome, width)
    if event.kind in (Kind.TOOL, Kind.RETRIEVAL, Kind.MCP):
        room = max(width - len(_ARROW), 0)
        if isinstance(event.outcome, Failure):  # the line's mark has the error, so the request gets the room
            whole = "" if request is None else _asked_text(_given(event, request), room)
            outcome = preview.clip(outcome, max(room - len(whole), _LEAST_OF_AN_ERROR))
        ours = max(_share(room), room - len(outcome)) if outcome else width
        left = "" if request is None else _asked_text(_given(event, request), ours)
        return _pair(left, outcome, width)
    if event.kind == Kind.INPUT and isinstance(request, Mapping) and request.keys() == {"args", "kwargs"}:
        return _asked_text(request, width)
    if event.kind == Kind.OUTPUT and not isinstance(event.outcome, Failure):
        return preview.clip(_short(request) or outcome, width)
    left = _short(request)
    if event.kind == Kind.HTTP:
        left = "" if event.request is None else preview.size(event.request.size)
    return _pair(left, outcome, width)


def _pair(left: str, right: str, width: int) -> str:
    """Both sides of an arrow, each with its share of the room, and with the room that the other leaves."""
    if not left or not right:
        return preview.clip(left or (f"{_ARROW.lstrip()}{right}" if right == _OPEN else right), width)
    room = max(width - len(_ARROW), 0)
    shown = preview.clip(left, max(_share(room), room - len(right)))
    return f"{shown}{_ARROW}{preview.clip(right, room - len(shown))}"


def _share(room: int) -> int:
    """The least share of the room for the request, which identifies the call."""
    return room * 3 // 5


def _given(event: Event, request: object) -> object:
    """The arguments of a call: an MCP server's tool gets them wrapped up with its name."""
    if event.kind == Kind.MCP and calls_a_tool(event.call) and isinstance(request, Mapping):
        return request.get("arguments", request)
    return request


def _asked_text(request: object, width: int) -> str:
    """The arguments of a call as its author would write them, or their size."""
    if isinstance(request, Unread):
        return f"({_short(request)})"
    return preview.call_text("", arguments_of(request), width)


def _statement(request: object) -> str:
    """A statement of a database, and its parameters where it has any."""
    if not isinstance(request, Mapping) or not isinstance(request.get("sql"), str):
        return _short(request)
    sql = preview.safe(" ".join(str(request["sql"]).split()))
    parameters = request.get("parameters")
    return f"{sql} {preview.brief(parameters, 80)}" if parameters else sql


def outcome_text(recording: Recording, event: Event) -> str:
    """The answer of an event, in one safe line."""
    error = error_of(event)
    if isinstance(event.outcome, Failure) and error is not None:
        return preview.clip(preview.safe(error_text(error)), _MOST)
    if isinstance(event.outcome, Stream):
        size = preview.size(event.outcome.size)
        status = status_of(event) or event.outcome.head.get("status")  # gRPC has names for its statuses
        words = [preview.safe(str(status))] if status is not None else []
        words.append(size if event.outcome.segments <= 1 else f"{size} in {event.outcome.segments} segments")
        return "  ".join(words)
    if event.outcome is None:
        return "" if event.call.observed else _OPEN
    if is_untold(event):
        return "" if event.kind == Kind.STEP else "(not in the trace)"
    answer = answered(recording, event, _PREVIEW_LIMIT)
    if event.kind == Kind.HUMAN:
        answer = _said(answer)
    elif event.kind == Kind.MCP:
        answer = _told(answer)
    elif event.kind == Kind.DB:
        return _rows(answer)
    return _short(answer, empty="" if is_housekeeping(event) else "None")


def _said(answer: object) -> object:
    """A person's answer, as ``seams.stdin`` keeps it: after a letter, and in front of text that was read ahead."""
    if not isinstance(answer, str) or not answer:
        return answer
    return answer[1:].partition("\n")[0] if answer[0] == "+" else "(no answer)"


def _told(answer: object) -> object:
    """The answer of an MCP server's tool, without its envelope if it is one text."""
    parts = answer.get("content") if isinstance(answer, Mapping) else None
    if isinstance(parts, Sequence) and len(parts) == 1 and isinstance(parts[0], Mapping):
        text = parts[0].get("text")
        return text if isinstance(text, str) else answer
    return answer


def _rows(answer: object) -> str:
    """The answer of a database: the number of rows."""
    if not isinstance(answer, Mapping) or not isinstance(answer.get("rows"), Sequence):
        return _short(answer, empty="")
    if answer.get("columns"):
        return counted(len(answer["rows"]), "row")
    changed = answer.get("rowcount")
    return f"{counted(changed, 'row')} changed" if isinstance(changed, int) and changed > 0 else ""


def _model_text(recording: Recording, event: Event, width: int) -> str:
    decision = decision_of(event)
    if decision is None:
        return _pair("", outcome_text(recording, event), width)
    chosen = [f"{key}={preview.brief(value, 20)}" for key, value in parameters(event).items() if key == "temperature"]
    head = " ".join([*chosen, "->", ""])
    room = max(width - len(head), 0)
    calls = preview.fitted([preview.call_text(name, arguments, room) for name, arguments in decision.tools], room)
    return preview.clip(head + (", ".join(calls) or preview.brief(decision.text, room)), width)


def _short(value: Json | Unread, empty: str = "") -> str:
    if value is None:
        return empty
    if isinstance(value, Unread):
        return f"<{preview.size(value.size)}, withheld>" if value.why == WITHHELD else f"<{preview.size(value.size)}>"
    return preview.brief(value, _MOST)
