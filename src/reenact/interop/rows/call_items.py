"""Parts of a row as items: a model call by the bodies that its log holds, a tool by its arguments and result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.dialects import read
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.reading import Reading
from reenact.facts.trace_runs import Grade
from reenact.interop.trace_values import opened
from reenact.interop.traces import SpanSort, TraceItem, Wrong

_STUBS: Final[tuple[tuple[str, Json], ...]] = (
    ("/responses", {"input": []}),
    ("GenerateContent", {"contents": []}),
    ("generateContent", {"contents": []}),
    ("", {"messages": []}),
)
"""The smallest request of the protocol at an address: for answers whose request is missing."""
_FAILED: Final = 400


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A model call in a log.

    Attributes:
        url: The address of its protocol, which identifies the dialect.
        request, response: The bodies as data; None where they are absent.
        status: The HTTP status of the answer.
        error: The error that the log has for this call, if any.
        span: Its id.
        start_us, end_us: Microseconds since the run began.
        rest: The other fields of the row.
        missing: Parts of a request that the log leaves out.
    """

    url: str
    request: Json = None
    response: Json = None
    status: int = 200
    error: Wrong | None = None
    span: str = ""
    start_us: int | None = None
    end_us: int | None = None
    rest: Mapping[str, Json] | None = None
    missing: tuple[str, ...] = ()


def model_call(held: LoggedCall) -> TraceItem:
    """The item of a model call, read in the dialect of its address. If no dialect can read it, its bodies are
    kept as they are."""
    sent = held.request is not None
    asked = held.request if sent else next(body for end, body in _STUBS if held.url.endswith(end))
    reading = _reading(held, asked)
    wrong = held.error
    rest = dict(held.rest or {})
    if reading is None:
        rest |= {"request": held.request, "response": held.response}
        reading = Reading("log", model_asked=_model(held.request), model_answered=_model(held.response))
    if held.response is None:
        reading = replace(reading, partial=False)
    if wrong is None and reading.error is not None:
        wrong = Wrong(str(reading.error.get("type") or "Error"), str(reading.error.get("message") or "")[:2000])
    elif wrong is not None:
        reading = replace(reading, error={"type": wrong.type, "message": wrong.text}, partial=False)
    known = sent and reading.dialect != "log"
    said = bool(reading.text or reading.thinking or reading.tool_calls or reading.dimensions)
    answered = wrong is not None or (held.response is not None and reading.dialect != "log" and not reading.partial)
    whole = Grade.SEMANTIC if known else Grade.ABSENT
    grades = {
        "model": exact(reading.model_asked or reading.model_answered),
        "provider": exact(reading.provider),
        "system": whole,
        "messages": whole,
        "tools": whole,
        "parameters": whole,
        "answer": semantic(answered or said),
        "usage": exact(reading.usage),
        "times": exact(held.start_us is not None and held.end_us is not None),
        **dict.fromkeys(held.missing, Grade.ABSENT),
    }
    name = reading.model_asked or reading.model_answered or "model"
    return TraceItem(
        SpanSort.MODEL,
        name,
        span=held.span,
        start_us=held.start_us,
        end_us=held.end_us if held.end_us is not None else held.start_us if answered or said else None,
        reading=reading,
        error=wrong,
        grades=grades,
        dialect=reading.dialect,
        rest=rest,
    )


def _reading(held: LoggedCall, asked: Json) -> Reading | None:
    head: dict[str, Json] = {"method": "POST", "url": held.url, "headers": []}
    status = held.status if held.status >= _FAILED or held.error is None else _FAILED
    pieces = isinstance(held.response, list)
    kind = "text/event-stream" if pieces else "application/json"
    answer: dict[str, Json] = {"status": status, "headers": [["content-type", kind]]}
    response = b"" if held.response is None else _events(held.response) if pieces else _body(held.response)
    return read(head, _body(asked), answer, response)


def _events(pieces: Json) -> bytes:
    """A stream as it was, made of its pieces, which a log holds as a list."""
    return b"".join(b"data: " + _body(each) + b"\n\n" for each in listing(pieces))


def _body(data: Json) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _model(data: Json) -> str:
    return text(data.get("model")) if isinstance(data, Mapping) else ""


def tool_call(name: str, call_id: str, asked: Json, answered: Json, error: Wrong | None = None) -> TraceItem:
    """The item of a tool call that is known from the messages around it; its times are not known."""
    grades = {
        "arguments": semantic(asked is not None),
        "result": semantic(answered is not None or error is not None),
        "call_id": exact(call_id),
        "times": Grade.ABSENT,
    }
    came = opened(answered)  # as for a span: a function gets data if the text is JSON
    return TraceItem(SpanSort.TOOL, name, call_id=call_id, asked=asked, answered=came, error=error, grades=grades)


def semantic(there: object) -> Grade:
    """The grade of content that is kept in another form, or not at all."""
    return Grade.SEMANTIC if there else Grade.ABSENT


def exact(there: object) -> Grade:
    """The grade of a value that is either kept unchanged or absent."""
    return Grade.EXACT if there else Grade.ABSENT


def text(value: Any) -> str:
    """The value if it is text, else an empty one."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def listing(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


_MOST_SECONDS: Final = 1 << 33
_IN_MILLISECONDS: Final = 1 << 36


def microseconds(value: Any) -> int | None:
    """A time (ISO 8601, or a number of seconds or milliseconds) as microseconds since the epoch; None for any
    other value."""
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value.strip().replace(" UTC", "+00:00"))
            return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1e6)
        except (ValueError, OverflowError):
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < _MOST_SECONDS * 1000:
        return None
    return round(value * (1000 if value > _IN_MILLISECONDS else 1_000_000))


def since(at_us: int | None, began_us: int | None) -> int | None:
    """Microseconds since a run began."""
    return None if at_us is None or began_us is None else max(at_us - began_us, 0)
