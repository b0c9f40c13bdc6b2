"""One event of a run as a span: its sort, its name, its outcome. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from reenact.facts.call import EndKind, ErrorFact, Failure, Fidelity, Json, Kind, Stream, calls_a_tool
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.plumbing import is_plumbing
from reenact.facts.reading import Reading
from reenact.interop.otlp.call_attributes import SpelledCall
from reenact.interop.otlp.outgoing_span import SpanKind
from reenact.interop.traces import SpanSort, Wrong

SPANNED: Final = frozenset(
    {Kind.STEP, Kind.MODEL, Kind.TOOL, Kind.RETRIEVAL, Kind.HTTP, Kind.MCP, Kind.WEBSOCKET, Kind.PROCESS, Kind.HUMAN,
     Kind.DB}
)  # fmt: skip
"""The kinds of events that are spans."""
MENTIONED: Final = frozenset({Kind.FLAG, Kind.NOTE, Kind.FILE})
"""The kinds of events that become events of the span around them. Other kinds (clock, chance, variables) are in no
span."""
_FAILED_FROM: Final = 400
_OUTSIDE: Final = frozenset({Kind.HTTP, Kind.WEBSOCKET, Kind.DB})


@dataclass(frozen=True, slots=True)
class RecountedEvent:
    """An event, prepared for its span.

    Attributes:
        event: The event.
        reading: The reading of a model call: in full where content is written, else without the conversation.
        asked, answered: The content of other calls, as data; None where no content is written.
        sizes: The bytes of request and answer, where they are known.
        sign: A digest of the request, by which a repetition is recognised.
        inline: Whether content is written.
    """

    event: Event
    reading: Reading | None = None
    asked: Json = None
    answered: Json = None
    sizes: tuple[int | None, int | None] = (None, None)
    sign: str = ""
    inline: bool = False


def is_spanned(event: Event) -> bool:
    """Whether an event is a span of its own."""
    call = event.call
    if call.kind is Kind.MCP:
        return "method" in call.head
    return call.kind in SPANNED and not is_plumbing(call)


def wrong(seen: RecountedEvent) -> Wrong | None:
    """The failure of an event; None without one."""
    event = seen.event
    if isinstance(event.outcome, Failure):
        return _raised(event.outcome.error)
    refused = seen.reading.error if seen.reading is not None else None
    found = _answered(event.outcome, refused or {}) if isinstance(event.outcome, Stream) else None
    if found is None and refused:
        found = Wrong(str(refused.get("type") or "refused"), str(refused.get("message") or "the model refused"))
    elif event.call.kind is Kind.MCP and isinstance(seen.answered, Mapping) and seen.answered.get("isError") is True:
        found = Wrong("tool_error", "the tool says that it failed")
    return found


def _answered(outcome: Stream, refused: Mapping[str, Json]) -> Wrong | None:
    """The fault in an HTTP answer; None for a good one."""
    status, end = outcome.head.get("status"), outcome.end
    if isinstance(status, int) and status >= _FAILED_FROM:
        text = str(refused.get("message") or outcome.head.get("reason") or "")
        return Wrong(str(refused.get("type") or status), text or f"status {status}")
    if end is not None and end.kind is EndKind.ERROR:
        return _raised(end.error) if end.error is not None else Wrong("stream", "the answer broke off")
    if end is not None and end.kind is EndKind.CANCELLED:
        return Wrong("cancelled", "the answer was called off")
    return None


def _raised(error: ErrorFact) -> Wrong:
    return Wrong(error.type.removeprefix("builtins."), error.text)


def recounted(seen: RecountedEvent) -> SpelledCall:
    """The facts of an event that is a span."""
    event, call = seen.event, seen.event.call
    sort, operation, subject, said = SpanSort.OTHER, "", event.name, dict[str, Json]()
    if seen.reading is not None or call.kind is Kind.MODEL:
        sort, operation = SpanSort.MODEL, _operation(seen.reading)
        subject = (seen.reading.model_asked or seen.reading.model_answered if seen.reading else "") or event.name
        if event.first_us is not None and seen.reading is not None and seen.reading.streamed:
            said["first_chunk"] = max(0, event.first_us - event.issued_us) / 1e6
    elif call.kind is Kind.TOOL:
        sort, operation = SpanSort.TOOL, "execute_tool"
        said = {"tool_name": event.name, "tool_id": call.ordinal}
    elif call.kind is Kind.RETRIEVAL:
        sort, operation = SpanSort.RETRIEVAL, "retrieval"
        said = {"source": event.name, "model_asked": call.head.get("embedding_model")}
    elif call.kind is Kind.MCP:
        method = str(call.head.get("method"))
        subject = f"{method} {event.name}" if event.name != method else method
        said = {"method": method}
        if calls_a_tool(call):
            sort, said = SpanSort.TOOL, {**said, "operation": "execute_tool", "tool_name": event.name}
    elif call.kind is Kind.STEP and call.head.get("run"):
        operation, said = "invoke_agent", {"agent": event.name}
    elif call.kind is Kind.HTTP:
        subject = str(call.head.get("method") or "HTTP")
    reading = seen.reading or (Reading(dialect="function", model_asked=event.name) if sort is SpanSort.MODEL else None)
    kind = SpanKind.CLIENT if call.kind in _OUTSIDE or sort is SpanSort.RETRIEVAL else SpanKind.INTERNAL
    if call.kind is Kind.MCP:
        kind = SpanKind.CLIENT
    return SpelledCall(
        sort, operation, subject, kind, said, reading, seen.asked, seen.answered, seen.inline, _shared(seen)
    )


_OPERATIONS: Final = {"google.gemini": "generate_content", "openai.completions": "text_completion"}


def _operation(reading: Reading | None) -> str:
    if reading is None:
        return "chat"
    return "embeddings" if reading.sort == "embedding" else _OPERATIONS.get(reading.dialect, "chat")


def _shared(seen: RecountedEvent) -> dict[str, Json]:
    """Attributes that every dialect names alike."""
    event, call = seen.event, seen.event.call
    found: dict[str, Json] = {"reenact.event.kind": event.kind}
    error = wrong(seen)
    if error is not None:
        found["error.type"] = error.type
    if event.fidelity is not Fidelity.EXACT:
        found["reenact.fidelity"] = event.fidelity.value
    if event.is_open:
        found["reenact.open"] = True
    file, _, line = (call.source or "").rpartition(":")
    if file and line.isdigit():
        found |= {"code.file.path": file, "code.line.number": int(line)}
    if event.lane != "root":
        found["reenact.lane"] = event.lane
    if call.kind is Kind.HTTP:
        found |= _http(seen)
    else:
        asked, answered = seen.sizes
        found |= {"reenact.request.size": asked, "reenact.response.size": answered}
    if call.kind is Kind.MCP:
        found["reenact.mcp.server"] = call.head.get("server")
    return found


def _http(seen: RecountedEvent) -> dict[str, Json]:
    """The attributes of the conventions for HTTP, for a model call too: the server and the status."""
    event, head = seen.event, seen.event.call.head
    url = str(head.get("url") or "")
    asked, answered = seen.sizes
    found: dict[str, Json] = {
        "http.request.method": head.get("method"),
        "url.full": url,
        "http.request.body.size": asked,
        "http.response.body.size": answered,
    }
    try:
        parts = urlsplit(url)
        found |= {"server.address": parts.hostname, "server.port": parts.port or _PORTS.get(parts.scheme)}
    except ValueError:  # the address is damaged
        pass
    if isinstance(event.outcome, Stream):
        found["http.response.status_code"] = event.outcome.head.get("status")
    return found


_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}
