"""Contents: the request and the answer of an event, as data for a person or a program.

Everything here is derived from the exact bytes (``recording.body``); bytes without a known form are shown as text, or
by their size. Nothing here raises for odd bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping

from reenact.abc.body_access import WITHHELD
from reenact.abc.store import Recording
from reenact.errors import BlobMissing
from reenact.facts.call import ErrorFact, Failure, Fidelity, Json, Kind, Stream, Value
from reenact.facts.event import REWRITTEN, Event, Payload, sent_call
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.values import jsonable

DEFAULT_LIMIT = 1 << 20
"""Payloads longer than this many bytes are not read for a preview."""

_INFLATED_LIMIT = 64 << 20


@dataclass(frozen=True, slots=True)
class Unread:
    """Content of which only the size is shown, because it is too long here, or withheld (``WITHHELD``)."""

    size: int
    why: str = "long"


def asked(recording: Recording, event: Event, limit: int = DEFAULT_LIMIT, *, sent: bool = True) -> Json | Unread:
    """The request of a call: the decoded arguments of a tool, the decoded body of an HTTP request.

    Args:
        recording: The run.
        event: One of its events.
        limit: The longest payload to read, in bytes.
        sent: A model request as a fork sent it; False: as the agent's code made it.
    """
    known = event.request
    if not sent or event.call.kind is not Kind.HTTP or known is None or not 0 < known.size <= limit:
        return _content(recording, known, limit, event.call.head)
    return _read(known, lambda: decoded_body(event.call.head, sent_call(event, recording.body(known)).body))


def asked_head(recording: Recording, event: Event) -> Mapping[str, Json]:
    """The head of a call's request, as it was sent: the address of a model request may name another model."""
    if event.call.kind is not Kind.HTTP or not event.attributes.get(REWRITTEN):
        return event.call.head
    try:
        return sent_call(event, recording.body(event.request)).head
    except BlobMissing:
        return event.call.head


def answered(recording: Recording, event: Event, limit: int = DEFAULT_LIMIT) -> Json | Unread:
    """The answer of a call: the decoded value, the error as data, the decoded body of a response; None while open."""
    number = event.number
    match event.outcome:
        case Failure(error=error):
            return error_data(error)
        case Stream(head=head):
            if event.answer is None or event.answer.size > limit:
                return _content(recording, event.answer, limit, head)
            # Read by the event's number: by digest, the store would first have to find the event that has the stream.
            return _read(
                event.answer, lambda: decoded_body(head, b"".join(each[2] for each in recording.parts(number)))
            )
        case Value(head=head):
            found = _content(recording, event.answer, limit, head)
            kept = event.fidelity is not Fidelity.WITHHELD
            return found if kept or not isinstance(found, Unread) else Unread(found.size, WITHHELD)
    return None


def arguments_of(request: object) -> object:
    """The arguments of an entry without the frame they are kept in, where all are positional or all are named."""
    if isinstance(request, Mapping) and set(request) == {"args", "kwargs"}:
        if not request["args"]:
            return request["kwargs"]
        if not request["kwargs"]:
            return request["args"]
    return request


def error_data(error: ErrorFact) -> dict[str, Json]:
    """An exception as plain data: its type, its text, and its causes."""
    data: dict[str, Json] = {"type": error.type, "text": error.text}
    if error.notes:
        data["notes"] = list(error.notes)
    source = error.cause or (None if error.suppress_context else error.context)
    if source is not None:
        data["cause"] = error_data(source)
    if error.members:
        data["members"] = [error_data(member) for member in error.members]
    return data


def error_of(event: Event) -> ErrorFact | None:
    """The exception an event ended with: raised by the call, or breaking its stream."""
    match event.outcome:
        case Failure(error=error):
            return error
        case Stream(end=end) if end is not None:
            return end.error
    return None


def error_text(error: ErrorFact) -> str:
    """An exception in one line: the name of its class, and its text."""
    return f"{error.type.rpartition('.')[2]}: {' '.join(error.text.split())}"


def status_of(event: Event) -> int | None:
    """The HTTP status of the answer; None without one."""
    status = event.outcome.head.get("status") if isinstance(event.outcome, Stream) else None
    return status if isinstance(status, int) else None


def headers_of(head: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Header pairs of a request's or response's head, in their order."""
    pairs = head.get("headers")
    if not isinstance(pairs, (list, tuple)):
        return []
    return [(str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, (list, tuple)) and len(pair) == 2]


def message_body(head: Mapping[str, Json], raw: bytes) -> bytes:
    """The body of an HTTP message without status line, headers and chunk framing, exactly as it was encoded."""
    if head.get("framing") != "wire":
        return raw
    headers = {name.lower(): value.lower() for name, value in headers_of(head)}
    return _unframed(raw, "chunked" in headers.get("transfer-encoding", ""))


def decoded_body(head: Mapping[str, Json], raw: bytes) -> bytes:
    """The body of an HTTP message with its content coding undone, as far as the standard library can."""
    body = message_body(head, raw)
    if "headers" not in head:
        return body
    codings = next((value for name, value in headers_of(head) if name.lower() == "content-encoding"), "")
    for coding in reversed([part.strip().lower() for part in codings.split(",")]):
        if coding in ("gzip", "x-gzip", "deflate"):
            body = _inflated(body)
    return body


def parsed(data: bytes) -> Json:
    """Bytes as JSON data, or else as text, or else unchanged. Encoded values are given without their tags."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return data
    return jsonable(data)


def _content(recording: Recording, payload: Payload | None, limit: int, head: Mapping[str, Json]) -> Json | Unread:
    if payload is None or payload.size == 0:
        return None
    if payload.size > limit:
        return Unread(payload.size)
    return _read(payload, lambda: decoded_body(head, recording.body(payload)))


def _read(payload: Payload, body: Callable[[], bytes]) -> Json | Unread:
    try:
        return parsed(body())
    except BlobMissing as error:
        if error.reason != WITHHELD:
            raise
        return Unread(payload.size, WITHHELD)


def _unframed(raw: bytes, chunked: bool) -> bytes:
    while raw.startswith(b"HTTP/"):
        first, _, rest = raw.partition(b"\r\n\r\n")
        raw = rest
        if first.split(b" ", 2)[1:2] and not first.split(b" ", 2)[1].startswith(b"1"):
            break
    if not chunked:
        return raw
    out = bytearray()
    while raw:
        line, _, rest = raw.partition(b"\r\n")
        try:
            length = int(line.split(b";")[0], 16)
        except ValueError:
            break
        out += rest[:length]
        raw = rest[length + 2 :]
        if length <= 0:
            break
    return bytes(out)


def _inflated(raw: bytes) -> bytes:
    for bits in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):
        try:
            return zlib.decompressobj(bits).decompress(raw, _INFLATED_LIMIT)
        except zlib.error:
            continue
    return raw


def form_of(recording: Recording, name: str) -> str:
    """The form of a call's results, such as ``{…}``, as the last recorded result has it."""
    given = [each.answer for each in recording.events(name=name) if isinstance(each.outcome, Value) and each.answer]
    known = jsonable(recording.body(given[-1])) if given else None
    forms: dict[type, str] = {str: '"…"', dict: "{…}", list: "[…]"}
    return forms.get(type(known), "…")
