"""An outgoing span, and the two encodings of many spans: OTLP's JSON and its protobuf, both written here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field, replace
from reenact.interop.otlp.protobuf import LARGEST_INTEGER, attributes, fixed, message, number, text


class SpanKind(IntEnum):
    """The side of a call, by OTLP's numbers."""

    INTERNAL = 1
    CLIENT = 3


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """An event of a span: its name, when (nanoseconds since the epoch), and its attributes."""

    name: str
    at_ns: int
    attributes: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SentRecord:
    """A log record on a span: the name of its event, the time, its attributes, and its severity."""

    name: str
    at_ns: int
    attributes: Mapping[str, Json]
    severity: int


@dataclass(frozen=True, slots=True)
class SentSpan:
    """A finished span.

    Attributes:
        trace, id, parent: The ids, in lower-case hexadecimal; an empty parent for a root.
        name: Its name.
        kind: The side of the call.
        start_ns, end_ns: Nanoseconds since the epoch.
        attributes: The attributes, by their names in one dialect.
        events: Its events.
        error: The text of its failure; None where it did not fail.
        records: Its log records, which are sent separately.
    """

    trace: str
    id: str
    parent: str
    name: str
    kind: SpanKind
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Json]
    events: tuple[SpanEvent, ...] = ()
    error: str | None = None
    records: tuple[SentRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """The spans of one run, with the attributes of their sender, and the version of this library."""

    resource: Mapping[str, Json]
    spans: Sequence[SentSpan]
    version: str = ""


SCOPE: Final = "reenact"
_FAILED: Final = 2
LARGEST: Final = 3 << 20
"""Most bytes of the spans of one request, about: receivers over gRPC take 4 MiB, unless they are set to take more."""
AT_ONCE: Final = 512
"""Most spans of one request."""
_PLAIN: Final = 64
"""Bytes of an attribute beside its text, and of a span beside its attributes."""
_LONGEST: Final = 4
"""Most bytes of a character."""


def weight(span: SentSpan) -> int:
    """The bytes of a span in a request, rather too many than too few. Costs a look at each attribute."""
    held = (span.attributes, *(each.attributes for each in span.events))
    words = (span.name, span.error, *(each.name for each in span.events))
    values = sum(_weight(name) + _weight(value) for each in held for name, value in each.items())
    return values + sum(map(_weight, words)) + _PLAIN


def _weight(value: Json) -> int:
    if isinstance(value, str) and value.isascii():
        return _PLAIN + len(value)
    return _PLAIN + _LONGEST * len(value if isinstance(value, str) else str(value))


def in_requests(batch: Batch) -> Iterator[Batch]:
    """The same spans, in parts that a receiver takes in one request. A larger span is a part of its own."""
    part: list[SentSpan] = []
    size = 0
    for span in batch.spans:
        own = weight(span)
        if part and (size + own > LARGEST or len(part) >= AT_ONCE):
            yield replace(batch, spans=part)
            part, size = [], 0
        part.append(span)
        size += own
    yield replace(batch, spans=part)


# --- JSON --------------------------------------------------------------------------------------------------------


def as_json(batches: Iterable[Batch]) -> bytes:
    """Documents of OTLP's JSON, a line for each batch: ids in hexadecimal, 64-bit numbers as texts."""
    documents = ({"resourceSpans": [_resource_json(each)]} for each in batches)
    return b"".join(
        json.dumps(each, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
        for each in documents
    )


def _resource_json(batch: Batch) -> dict[str, Any]:
    scope = {"name": SCOPE, "version": batch.version}
    return {
        "resource": {"attributes": _pairs(batch.resource)},
        "scopeSpans": [{"scope": scope, "spans": [_span_json(each) for each in batch.spans]}],
    }


def _span_json(span: SentSpan) -> dict[str, Any]:
    made: dict[str, Any] = {"traceId": span.trace, "spanId": span.id}
    if span.parent:
        made["parentSpanId"] = span.parent
    made |= {
        "name": span.name,
        "kind": int(span.kind),
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": _pairs(span.attributes),
        "status": {} if span.error is None else {"code": _FAILED, "message": span.error},
    }
    if span.events:
        made["events"] = [
            {"timeUnixNano": str(each.at_ns), "name": each.name, "attributes": _pairs(each.attributes)}
            for each in span.events
        ]
    return made


def _pairs(found: Mapping[str, Json]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in found.items()]


def _value(value: Json) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -LARGEST_INTEGER <= value < LARGEST_INTEGER:
        return {"intValue": str(value)}
    if isinstance(value, float) and value - value == 0:
        return {"doubleValue": value}
    if isinstance(value, (list, tuple)):
        return {"arrayValue": {"values": [_value(each) for each in value]}}
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": _pairs(value)}}
    return {"stringValue": "" if value is None else str(value)}


# --- protobuf ----------------------------------------------------------------------------------------------------
# Numbers of fields are those of opentelemetry/proto/trace/v1/trace.proto and common/v1/common.proto.


def as_protobuf(batches: Iterable[Batch]) -> bytes:
    """An ``ExportTraceServiceRequest``."""
    return b"".join(message(1, _resource(each)) for each in batches)


def _resource(batch: Batch) -> bytes:
    scope = message(1, text(1, SCOPE) + text(2, batch.version))
    spans = b"".join(message(2, _span(each)) for each in batch.spans)
    return message(1, attributes(1, batch.resource)) + message(2, scope + spans)


def _span(span: SentSpan) -> bytes:
    parts = [message(1, bytes.fromhex(span.trace)), message(2, bytes.fromhex(span.id))]
    if span.parent:
        parts.append(message(4, bytes.fromhex(span.parent)))
    parts += [text(5, span.name), number(6, span.kind), fixed(7, span.start_ns), fixed(8, span.end_ns)]
    parts.append(attributes(9, span.attributes))
    for each in span.events:
        parts.append(message(11, fixed(1, each.at_ns) + text(2, each.name) + attributes(3, each.attributes)))
    if span.error is not None:
        parts.append(message(15, text(2, span.error) + number(3, _FAILED)))
    return b"".join(parts)
