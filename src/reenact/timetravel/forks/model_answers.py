"""The answer that a fork gives in place of a model's: words and tool calls, or a whole response in its protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping

from reenact.abc.store import Recording
from reenact.errors import ForkError
from reenact.facts.answers.preserved_parts import kept_of
from reenact.facts.answers.say_answers import NotSaid, is_said, said, streams
from reenact.facts.answers.wire_formats import InheritedParts
from reenact.facts.call import Call, Json, Kind, Stream
from reenact.facts.dialects.recognition import documents, read
from reenact.facts.event import Event
from reenact.facts.framing import header
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import replace
from reenact.timetravel.forks.permits import is_model
from reenact.timetravel.forks.responses import as_bytes

_SHAPE = '{"say": TEXT, "uses": [{"name": TOOL, "args": {…}}]}'


def said_text(recording: Recording, event: Event, text: str) -> Json:
    """The result of a model call with a text as its answer.

    Raises:
        ForkError: The event is no model call, or its result is no text.
    """
    if event.call.kind is Kind.HTTP and is_model(asked(recording, event)):
        return {"say": text}
    recorded = recording.body(event.answer) if event.call.kind is Kind.MODEL and event.answer else b""
    if recorded.startswith(b'"'):
        return text
    says = "gives more than a text" if event.call.kind is Kind.MODEL else "asks no model"
    raise ForkError(
        f"event {event.number} ({event.name}) {says}: --say cannot change it",
        cause="--result changes the answer of any call; --say that of a model",
        next_command=f"reenact cat {tail(event.run)}:{event.number}",
    )


def answered_with(recording: Recording, event: Event, value: Json) -> tuple[dict[str, Json], bytes] | None:
    """Head and bytes of the response that replaces the recorded one of a model request; None for other requests.

    Args:
        recording: The parent.
        event: The request.
        value: The model's answer, or the body of a response in its protocol.

    Raises:
        ForkError: The value is neither of the two.
    """
    call = asked(recording, event)
    if not is_model(call):
        return None
    if is_said(value):
        return _spoken(recording, event, call, value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    recorded = event.outcome.head if isinstance(event.outcome, Stream) else {}
    media = header(recorded, "content-type") if recorded.get("status") == 200 else ""
    head, body = as_bytes(event, 200, media or _media(text), text.encode("utf-8", "surrogatepass"))
    wrong = _objection(call, head, body)
    if wrong:
        raise _refused(event, f"{text[:40]!r} is no answer of a model: {wrong}")
    return head, body


def asked(recording: Recording, event: Event) -> Call:
    """A recorded call with the bytes of its request."""
    return replace(event.call, body=recording.body(event.request)) if event.request else event.call


def _spoken(recording: Recording, event: Event, call: Call, value: Json) -> tuple[dict[str, Json], bytes]:
    try:
        response = said(call.head, call.body, value, _kept(recording, event, call))
    except NotSaid as error:
        raise _refused(event, str(error)) from None
    return as_bytes(event, 200, response.media, response.body, response.headers)


def _kept(recording: Recording, event: Event, call: Call) -> InheritedParts:
    """The parts that stay: the ids and the signed reasoning of the recorded answer."""
    if not isinstance(event.outcome, Stream):
        return InheritedParts()
    data = b"".join(part for _, _, part in recording.parts(event.number))
    reading = read(call.head, call.body, event.outcome.head, data)
    told, streamed = documents(event.outcome.head, data)
    return kept_of(reading, told, streamed=streamed) if reading is not None and told else InheritedParts()


def _objection(call: Call, head: Mapping[str, Json], body: bytes) -> str:
    """Why the client of a model request could not read a response; empty where it can."""
    reading = read(call.head, call.body, head, body)
    wanted = streams(call.head, call.body)
    told, streamed = documents(head, body)
    if wanted is not None and (streamed and bool(told)) != wanted:
        return "the request wants a stream" if wanted else "the request wants no stream"
    if reading is None or reading.partial or not told:
        return "it is not what the protocol sends"
    if not (reading.sort or reading.text or reading.tool_calls or reading.finish or reading.error):
        return "it says nothing"
    return ""


def _media(text: str) -> str:
    return "application/json" if text.startswith(("{", "[")) else "text/event-stream"


def _refused(event: Event, why: str) -> ForkError:
    return ForkError(
        f"event {event.number} ({event.name}) cannot be answered like this: {why}",
        cause=f"a model says {_SHAPE}; anything else must be a whole response of its protocol",
        next_command=f"reenact show {tail(event.run)}:{event.number}",
    )
