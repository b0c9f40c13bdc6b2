"""One request of OTLP: its bytes become lines of JSON, and the result becomes the bytes of the answer.

The codes are those of OTLP 1.x: a request that can never be accepted is refused with 400 (``INVALID_ARGUMENT``), a body
that is too large with 413, an unknown encoding or form with 415. Spans that could not be read are counted in a
successful response.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from reenact.errors import InteropError
from reenact.facts.compression import undo
from reenact.interop.foreign_documents import read_json
from reenact.interop.otlp.otlp_documents import decoded

LARGEST: Final = 64 << 20
"""Most bytes of a request, unpacked."""
JSON: Final = "application/json"
PROTOBUF: Final = "application/x-protobuf"
PATHS: Final[Mapping[str, str]] = {"/v1/traces": "resourceSpans", "/v1/logs": "resourceLogs"}
"""The paths of the accepted requests, and the field with the list of resources in each."""

_ENCODINGS: Final = frozenset({"", "identity", "gzip", "deflate"})
_MOST_SAID: Final = 300


class Unfit(Exception):
    """A request that is refused.

    Attributes:
        status: The HTTP status.
        code: The gRPC code, by name.
    """

    def __init__(self, status: int, code: str, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.code = code


def unpacked(body: bytes, encoding: str) -> bytes:
    """The bytes of a request without their encoding.

    Raises:
        Unfit: The encoding is unknown or damaged, or the body too large.
    """
    encoding = encoding.strip().lower()
    if encoding not in _ENCODINGS:
        raise Unfit(415, "UNIMPLEMENTED", f"content-encoding {encoding[:40]!r} is not read: gzip is")
    if encoding in ("", "identity"):
        return body
    found = undo(encoding, body, LARGEST)
    if found is not None and not found.whole and len(found.data) >= LARGEST:
        raise too_large()
    if found is None or not found.whole:
        raise Unfit(400, "INVALID_ARGUMENT", f"the body is no {encoding}, or is cut off")
    return found.data


def too_large() -> Unfit:
    """The refusal of a body beyond the bound."""
    return Unfit(413, "RESOURCE_EXHAUSTED", f"the request has more than {LARGEST >> 20} MiB: send smaller batches")


def lines_of(body: bytes, media: str, field: str) -> bytes:
    """A request as lines of JSON, one for each resource.

    Args:
        body: The bytes, unpacked.
        media: The content type.
        field: The list in it (``PATHS``).

    Raises:
        Unfit: The body is not of its content type.
    """
    kind = media.partition(";")[0].strip().lower()
    if kind not in (JSON, PROTOBUF):
        raise Unfit(415, "UNIMPLEMENTED", f"content-type {kind[:60]!r} is not read: {PROTOBUF} and {JSON} are")
    if not body.strip():
        return b""
    try:
        found: Any = decoded(body, field) if kind == PROTOBUF else read_json(body)
    except InteropError as error:
        if "pip install" in (error.next_command or ""):
            raise Unfit(415, "UNIMPLEMENTED", f"{error.message}; {JSON} is read without it") from None
        raise Unfit(400, "INVALID_ARGUMENT", f"{error.message} ({error.cause})") from None
    resources = found.get(field, []) if isinstance(found, dict) else None
    if not isinstance(resources, list):
        raise Unfit(400, "INVALID_ARGUMENT", f"this is no request of OTLP: it has no {field}")
    return b"".join(_line({field: [each]}) for each in resources)


def _line(document: Any) -> bytes:
    try:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        raise Unfit(400, "INVALID_ARGUMENT", "it is nested too deeply") from None
    return text.encode("utf-8", "replace") + b"\n"


def accepted(media: str, field: str, rejected: int, why: str) -> bytes:
    """The answer to a request that was taken, as far as it could be read.

    Args:
        media: The content type of the answer.
        field: The list in the request (``PATHS``).
        rejected: The number of spans, or records, that could not be read.
        why: The reason; empty where all could be read.
    """
    if media == JSON:
        name = "rejectedSpans" if field == "resourceSpans" else "rejectedLogRecords"
        said = {"partialSuccess": {name: str(rejected), "errorMessage": why[:_MOST_SAID]}} if why else {}
        return json.dumps(said).encode()
    if not why:
        return b""
    text = why[:_MOST_SAID].encode()
    inner = (b"\x08" + _varint(rejected) if rejected else b"") + b"\x12" + _varint(len(text)) + text
    return b"\x0a" + _varint(len(inner)) + inner


def refusal(media: str, why: str) -> bytes:
    """The body of a refusal: a ``google.rpc.Status`` with its message, in the form of the request."""
    if media == JSON:
        return json.dumps({"message": why[:_MOST_SAID]}).encode()
    text = why[:_MOST_SAID].encode()
    return b"\x12" + _varint(len(text)) + text


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
