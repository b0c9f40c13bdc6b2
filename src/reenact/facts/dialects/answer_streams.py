"""Streams of answers: from the bytes of a body to pairs of name and data, for every framing.

Four framings are known: server-sent events, Amazon's binary event stream, JSON Lines, and one JSON array that is sent
in pieces. Each reader gives the complete events; ``collected`` also says whether all bytes could be read.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterator, Mapping

from reenact.facts.call import Json
from reenact.facts.lazy_regex import lazy_regex

_LINE = lazy_regex(rb"\r\n|\n|\r")

Framing = Callable[[bytes], Iterator[tuple[str, Json]]]
"""Reads a body; raises ``ValueError`` at the first thing that cannot be read."""

_PRELUDE, _CHECKSUM = 12, 4
_SIZES = {2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_TRUE, _FALSE, _BYTES, _TEXT = 0, 1, 6, 7


def framing_of(content_type: str, body: bytes) -> Framing | None:
    """The framing of a body that is a stream; None when it is no stream."""
    kind = content_type.partition(";")[0].strip().lower()
    begun = body[:16].lstrip()
    if kind == "text/event-stream" or begun.startswith((b"data:", b"event:")):
        return events
    if kind == "application/vnd.amazon.eventstream":
        return amazon_events
    if kind in ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/stream+json"):
        return lines
    if begun.startswith(b"["):
        return elements
    return None


def collected(framing: Framing, body: bytes) -> tuple[list[tuple[str, Json]], bool]:
    """The events up to the first that cannot be read, and whether all could be read."""
    found: list[tuple[str, Json]] = []
    try:
        for name, data in framing(body):
            if not isinstance(data, Mapping):
                return found, False
            found.append((name, data))
    except (ValueError, IndexError, RecursionError):
        return found, False
    return found, True


def lines(body: bytes) -> Iterator[tuple[str, Json]]:
    """The documents of JSON Lines, one from each line."""
    for line in body.split(b"\n"):
        if line.strip():
            yield "", json.loads(line)


def elements(body: bytes) -> Iterator[tuple[str, Json]]:
    """The elements of one JSON array, which may be cut off."""
    text = body.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    at = _blank(text, text.index("[") + 1, " \t\r\n")
    while at < len(text) and text[at] != "]":
        value, at = decoder.raw_decode(text, at)
        yield "", value
        at = _blank(text, at, " \t\r\n,")
    if at >= len(text):
        raise ValueError("the array is cut off")


def _blank(text: str, at: int, blanks: str) -> int:
    while at < len(text) and text[at] in blanks:
        at += 1
    return at


def amazon_events(body: bytes) -> Iterator[tuple[str, Json]]:
    """Events of ``application/vnd.amazon.eventstream``. Their checksums are checked.

    A chunk of a model's own stream (``{"bytes": …}``) is unpacked. An exception becomes
    ``{"error": {"type": …, "message": …}}`` under its name.
    """
    at = 0
    while at < len(body):
        total = int.from_bytes(body[at : at + 4])
        headers_end = at + _PRELUDE + int.from_bytes(body[at + 4 : at + 8])
        end = at + total
        if end > len(body) or not at + _PRELUDE <= headers_end <= end - _CHECKSUM:
            raise ValueError("a frame is cut off")
        if zlib.crc32(body[at : end - _CHECKSUM]) != int.from_bytes(body[end - _CHECKSUM : end]):
            raise ValueError("a frame is damaged")
        headers = _headers(body[at + _PRELUDE : headers_end])
        payload = body[headers_end : end - _CHECKSUM]
        at = end
        yield _event(headers, json.loads(payload) if payload else {})


def _event(headers: Mapping[str, str], data: Json) -> tuple[str, Json]:
    kind = headers.get(":message-type", "event")
    if kind != "event":
        name = headers.get(":exception-type") or headers.get(":error-code") or kind
        said = data.get("message") if isinstance(data, dict) else None
        return name, {"error": {"type": name, "message": said or headers.get(":error-message", "")}}
    name = headers.get(":event-type", "")
    if name == "chunk" and isinstance(data, dict) and isinstance(data.get("bytes"), str):
        return name, json.loads(base64.b64decode(data["bytes"]))
    return name, data


def _headers(data: bytes) -> dict[str, str]:
    """The headers of a frame that are text; all others are ignored."""
    out: dict[str, str] = {}
    at = 0
    while at < len(data):
        name_end = at + 1 + data[at]
        name, kind = data[at + 1 : name_end].decode("utf-8", "replace"), data[name_end]
        at = name_end + 1
        if kind in (_BYTES, _TEXT):
            size = int.from_bytes(data[at : at + 2])
            if kind == _TEXT:
                out[name] = data[at + 2 : at + 2 + size].decode("utf-8", "replace")
            at += 2 + size
        elif kind not in (_TRUE, _FALSE):
            if kind not in _SIZES:
                raise ValueError("a header of a frame is of an unknown type")
            at += _SIZES[kind]
    return out


def events(body: bytes) -> Iterator[tuple[str, Json]]:
    """Events of a stream. Comments, ``[DONE]`` and an event that is cut off at the end are ignored.

    Raises:
        ValueError: the data of a complete event is no JSON.
    """
    name = ""
    data: list[bytes] = []
    for line in _LINE.split(body.removeprefix(b"\xef\xbb\xbf")):
        if not line:
            if data:
                joined = b"\n".join(data)
                if joined.strip() != b"[DONE]":
                    yield name, json.loads(joined)
            name, data = "", []
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")
