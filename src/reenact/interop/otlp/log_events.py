"""The conventions' events of model calls: records of a log beside the spans, and OTLP's protobuf of them.

They hold content, so they are made only where content is exported, and only with today's names: older and other
dialects have no such events. On a record messages are data, on a span the text of their JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from reenact.facts.call import Json
from reenact.interop.otlp.call_attributes import SpelledCall
from reenact.interop.otlp.names import OTEL
from reenact.interop.otlp.outgoing_span import SCOPE, Batch, SentRecord, SentSpan
from reenact.interop.otlp.protobuf import attributes, fixed, message, number, text
from reenact.interop.traces import SpanSort, Wrong

DETAILS: Final = "gen_ai.client.inference.operation.details"
EXCEPTION: Final = "gen_ai.client.operation.exception"
_CONTENT: Final = tuple(OTEL.names[word][0] for word in ("input_messages", "output_messages", "system", "tools"))
_OF_ERRORS: Final = tuple(OTEL.names[word][0] for word in ("operation", "provider", "model_asked", "error_type"))
_INFO: Final = 9
_WARNING: Final = 13
"""Severities, by OTLP's numbers: the conventions ask for a warning at an exception."""


def records_of(told: SpelledCall, said: Mapping[str, Json], end_ns: int, error: Wrong | None) -> tuple[SentRecord, ...]:
    """The log records of one call; none except for a model that was asked for an answer, if content is written.

    Args:
        told: The call.
        said: The attributes of its span, in today's names.
        end_ns: Its end, nanoseconds since the epoch.
        error: Its failure; None without one.
    """
    if told.sort is not SpanSort.MODEL or not told.inline or told.operation == "embeddings":
        return ()
    kept = {name: _data(value) if name in _CONTENT else value for name, value in said.items()}
    found = [SentRecord(DETAILS, end_ns, kept, _INFO)]
    if error is not None:
        about = {name: said[name] for name in _OF_ERRORS if name in said}
        about |= {"exception.type": error.type, "exception.message": error.text}
        found.append(SentRecord(EXCEPTION, end_ns, about, _WARNING))
    return tuple(found)


def _data(value: Json) -> Json:
    """Content as data, without empty parts."""
    return _something(json.loads(value)) if isinstance(value, str) else value


def _something(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {name: _something(each) for name, each in value.items() if each is not None}
    return [_something(each) for each in value if each is not None] if isinstance(value, list) else value


def count(batches: Iterable[Batch]) -> int:
    """The number of log records on these spans."""
    return sum(len(span.records) for batch in batches for span in batch.spans)


# Numbers of fields are those of opentelemetry/proto/logs/v1/logs.proto.


def as_protobuf(batches: Iterable[Batch]) -> bytes:
    """An ``ExportLogsServiceRequest``; empty where there are no records."""
    return b"".join(message(1, each) for batch in batches if (each := _resource(batch)))


def _resource(batch: Batch) -> bytes:
    records = b"".join(message(2, each) for span in batch.spans for each in _records(span))
    if not records:
        return b""
    scope = message(1, text(1, SCOPE) + text(2, batch.version))
    return message(1, attributes(1, batch.resource)) + message(2, scope + records)


def _records(span: SentSpan) -> Iterator[bytes]:
    ids = message(9, bytes.fromhex(span.trace)) + message(10, bytes.fromhex(span.id))
    for each in span.records:
        yield b"".join(
            (
                fixed(1, each.at_ns),
                number(2, each.severity),
                attributes(6, each.attributes),
                ids,
                fixed(11, each.at_ns),
                text(12, each.name),
            )
        )
