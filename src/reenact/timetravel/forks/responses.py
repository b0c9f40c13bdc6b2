"""HTTP responses that a fork gives in place of recorded ones, in the form that the waiting transport takes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final

from reenact.errors import ForkError
from reenact.facts.call import End, EndKind, Json, Stream
from reenact.facts.event import Event
from reenact.facts.http_transports import transport_of
from reenact.facts.ids import tail

_BODY_HEADERS: Final = frozenset({"content-length", "content-encoding", "transfer-encoding"})


def made_up(event: Event, value: Json, status: int) -> tuple[dict[str, Json], bytes]:
    """Head and bytes of a whole response that replaces the recorded one.

    Args:
        event: The exchange.
        value: The body: text as it is, other values as JSON.
        status: Its status.

    Raises:
        ForkError: This kind of call cannot have such an answer.
    """
    headers = _headers(event)
    kind = next((str(pair[1]) for pair in headers if str(pair[0]).lower() == "content-type"), "")
    if "event-stream" in kind and status == HTTPStatus.OK and not isinstance(value, str):
        raise ForkError(
            f"event {event.number} is a stream of server-sent events: a JSON value cannot stand in its place",
            cause="give the text of the stream as it would come over the wire, or change the call before it",
            next_command=f"reenact cat {tail(event.run)}:{event.number}",
        )
    body = _body(value)
    if status != HTTPStatus.OK or not kind:
        kind = "application/json" if body.startswith((b"{", b"[")) else "text/plain"
    return as_bytes(event, status, kind, body)


def as_bytes(
    event: Event, status: int, media: str, body: bytes, further: Iterable[tuple[str, str]] = ()
) -> tuple[dict[str, Json], bytes]:
    """Head and bytes of a response with this body, as the transport of an exchange takes it.

    Args:
        event: The exchange.
        status: Its status.
        media: Its content type.
        body: Its body.
        further: Header lines where none were recorded.

    Raises:
        ForkError: The transport takes no HTTP.
    """
    transport = transport_of(event.call)
    if transport is None:
        name = event.call.head.get("transport")
        raise ForkError(
            f"event {event.number} ({event.name}) is answered by {name}: no body can stand in its place",
            cause="its messages are not HTTP as it is written; the result of the tool around it, or an error, can",
            next_command=f"reenact show {tail(event.run)}",
        )
    recorded = event.outcome.head if isinstance(event.outcome, Stream) else {}
    headers = [pair for pair in _headers(event) if str(pair[0]).lower() != "content-type"]
    headers = headers or [list(pair) for pair in further]
    headers += [["content-type", media], ["content-length", str(len(body))]]
    head: dict[str, Json] = {**recorded, "status": status, "headers": headers}
    head.pop("reason", None)
    if transport.framing == "payload":
        return {**head, "framing": "payload"}, body
    head |= {"framing": "wire", "version": "HTTP/1.1", "reason": _phrase(status)}
    lines = [f"HTTP/1.1 {status} {head['reason']}", *(f"{name}: {text}" for name, text in headers), "", ""]
    return head, "\r\n".join(lines).encode("latin-1") + body


def _headers(event: Event) -> list[Json]:
    """The recorded response's header lines, without those of its body's framing."""
    recorded = event.outcome.head if isinstance(event.outcome, Stream) else {}
    return [pair for pair in recorded.get("headers") or () if str(pair[0]).lower() not in _BODY_HEADERS]


def asked_with(event: Event, value: Json) -> tuple[Stream, bytes]:
    """The request of a server with another body.

    Args:
        event: The request.
        value: Its body: text as it is, anything else as JSON.
    """
    body = _body(value)
    recorded = event.outcome.head if isinstance(event.outcome, Stream) else {}
    headers = recorded.get("headers") or event.call.head.get("headers") or ()
    kept = [pair for pair in headers if str(pair[0]).lower() not in _BODY_HEADERS]
    head = {**recorded, "headers": [*kept, ["content-length", str(len(body))]]}
    return Stream(head=head, segments=1, end=End(EndKind.EOF)), body


def _body(value: Json) -> bytes:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
