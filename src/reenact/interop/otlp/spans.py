"""A span as OTLP defines it, from any JSON that holds one: with ids, times and values in every known form.

OTLP's JSON has ids in hexadecimal, printers of protobuf write base64; 64-bit numbers are texts or numbers; kinds and
states are numbers or names. The console output of SDKs, and exports of Phoenix, have plain attributes and ISO times.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.lazy_regex import lazy_regex

_HEX = lazy_regex(r"(?:0[xX])?([0-9a-fA-F]+)")
_PLAIN_ID = lazy_regex(r"[\w.:-]{1,64}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FAILED: Final = frozenset({"2", "error", "status_code_error"})
_VALUES: Final = ("stringValue", "boolValue", "intValue", "doubleValue", "arrayValue", "kvlistValue", "bytesValue")
_SNAKE: Final = {f"{name[:-5]}_value": name for name in _VALUES}
_FROM_SECONDS: Final = ((1e17, 1), (1e14, 1_000), (1e11, 1_000_000), (0, 1_000_000_000))
"""For nanoseconds, microseconds, milliseconds and seconds since the epoch: the least number that is taken for this
unit, and the nanoseconds of one unit."""


@dataclass(frozen=True, slots=True)
class Span:
    """One span, or one log record in the form of a span.

    Attributes:
        trace, id, parent: The ids, in lower-case hexadecimal; an empty parent for a root.
        name: Its name.
        start_ns, end_ns: Nanoseconds since the epoch; None where they are missing.
        attributes: The attributes, by name.
        resource: The attributes of its sender.
        scope: The library that made it.
        events: Name, time and attributes of each.
        failed: Whether its state is an error.
        status: The text of its state.
    """

    trace: str
    id: str
    parent: str
    name: str
    start_ns: int | None
    end_ns: int | None
    attributes: Mapping[str, Json]
    resource: Mapping[str, Json] = field(default_factory=dict)
    scope: str = ""
    events: tuple[tuple[str, int | None, Mapping[str, Json]], ...] = ()
    failed: bool = False
    status: str = ""


def identity(value: Any, size: int) -> str:
    """An id in lower-case hexadecimal, from hexadecimal or base64; empty without one.

    Args:
        value: The value in the file.
        size: The bytes that it should have.
    """
    if not isinstance(value, str) or not value:
        return ""
    found = _HEX.fullmatch(value)
    if found and len(found[1]) == 2 * size:
        return "" if set(found[1]) == {"0"} else found[1].lower()
    try:
        raw = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) == size:
        return raw.hex() if any(raw) else ""
    return value.lower() if _PLAIN_ID.fullmatch(value) else ""


def time_ns(value: Any) -> int | None:
    """A time in nanoseconds since the epoch, from a number (also as a text) of any unit or an ISO text."""
    if isinstance(value, bool) or value in (None, "", 0, "0"):
        return None
    if isinstance(value, str) and not value.isdigit():
        try:
            when = datetime.fromisoformat(value)
        except ValueError:
            return None
        since = (when if when.tzinfo else when.replace(tzinfo=UTC)) - _EPOCH
        return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000
    try:
        number = int(value) if isinstance(value, (int, str)) else float(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if not 0 < number < 1 << 63:
        return None
    unit = next(unit for least, unit in _FROM_SECONDS if number >= least)
    found = int(number * unit)
    return found if found < 1 << 63 else None


def plain(value: Any) -> Json:
    """The value of an attribute as data. A value that is not in OTLP's form is data already.

    Raises:
        RecursionError: The value is nested too deeply.
    """
    if isinstance(value, list):
        return [plain(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    kind = next(iter(value), "") if len(value) == 1 else ""
    known = _SNAKE.get(kind, kind)
    if known in _VALUES:
        return _of_kind(known, value[kind])
    return {str(key): plain(each) for key, each in value.items()} or None


def _of_kind(kind: str, inner: Any) -> Json:
    """A value that names its kind."""
    if kind == "intValue":
        return _integer(inner)
    if kind == "doubleValue":
        return _double(inner)
    if kind in ("arrayValue", "kvlistValue"):
        values = inner.get("values") if isinstance(inner, Mapping) else inner
        items = values if isinstance(values, list) else []
        return attributes(items) if kind == "kvlistValue" else [plain(each) for each in items]
    return inner


def attributes(found: Any) -> dict[str, Json]:
    """Attributes as data, from pairs of key and value or from an object; of a repeated key the last counts."""
    if isinstance(found, Mapping):
        return {str(key): plain(value) for key, value in found.items()}
    out: dict[str, Json] = {}
    for each in found if isinstance(found, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("key"), str):
            out[each["key"]] = plain(each.get("value"))
    return out


def _integer(value: Any) -> Json:
    try:
        return int(value)
    except (ValueError, TypeError):
        return value


def _double(value: Any) -> Json:
    try:
        found = float(value)
    except (ValueError, TypeError):
        return value
    return found if found - found == 0 else str(value)  # JSON has no NaN and no infinity


def spans_in(document: Any) -> Iterator[Span | str]:
    """Every span of a document; a text with the reason for a part that is no span.

    Args:
        document: JSON of one of the known containers.
    """
    return read_spans(raw_spans(document), lambda piece: span_of(*piece))


_Piece = TypeVar("_Piece")


def read_spans(pieces: Iterable[_Piece], read: Callable[[_Piece], Span | str]) -> Iterator[Span | str]:
    """The span of each piece of a document; a text with the reason for a piece that is no span.

    Args:
        pieces: The unparsed pieces.
        read: Makes the span of a piece. On damaged data it may raise any error.
    """
    for piece in whole(pieces):
        try:
            yield piece.why if isinstance(piece, UnreadablePieces) else read(piece)
        except _DAMAGED as error:
            yield _why(error)


@dataclass(frozen=True, slots=True)
class UnreadablePieces:
    """Stands in the place of pieces that cannot be taken apart, and holds the reason."""

    why: str


def whole(pieces: Iterable[_Piece]) -> Iterator[_Piece | UnreadablePieces]:
    """The pieces of a document, as far as it can be taken apart."""
    try:
        yield from pieces
    except _DAMAGED as error:
        yield UnreadablePieces(_why(error))


_DAMAGED: Final = (RecursionError, ValueError, TypeError, AttributeError, KeyError, IndexError)


def _why(error: Exception) -> str:
    deep = isinstance(error, RecursionError)
    return "it is nested too deeply" if deep else f"it is damaged ({type(error).__name__})"


def raw_spans(document: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Resource, scope and span of every span or log record, unparsed."""
    for each in document if isinstance(document, list) else (document,):
        if not isinstance(each, Mapping):
            continue
        held = next((each[name] for name in _HOLDERS if isinstance(each.get(name), Mapping)), each)
        groups = [group for name in _GROUPS for group in _listed(held.get(name))]
        for group in groups:
            for scoped in [part for name in _SCOPES for part in _listed(group.get(name))]:
                scope = scoped.get("scope") or scoped.get("instrumentationLibrary") or {}
                for name in _LEAVES:
                    for raw in _listed(scoped.get(name)):
                        yield group.get("resource"), scope, raw
        if not groups:
            many = held.get("spans") or held.get("data")
            for raw in [part for part in many if isinstance(part, Mapping)] if isinstance(many, list) else [held]:
                if _looks_like_a_span(raw):
                    yield raw.get("resource"), raw.get("scope") or raw.get("instrumentation_scope") or {}, raw


_HOLDERS: Final = ("trace", "request", "body")
_GROUPS: Final = ("resourceSpans", "resource_spans", "batches", "resourceLogs", "resource_logs")
_SCOPES: Final = (
    *("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "ilSpans"),
    *("scopeLogs", "scope_logs"),
)
_LEAVES: Final = ("spans", "logRecords", "log_records")


def _looks_like_a_span(raw: Mapping[str, Any]) -> bool:
    context = raw.get("context")
    inner = isinstance(context, Mapping) and "trace_id" in context
    return inner or any(name in raw for name in ("traceId", "trace_id", "context.trace_id"))


def _listed(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _first(raw: Mapping[str, Any], *names: str) -> Any:
    return next((raw[name] for name in names if raw.get(name) is not None), None)


def span_of(resource: Any, scope: Any, raw: Mapping[str, Any]) -> Span | str:
    """A span or log record, with its sender and its library; a text with the reason where it is neither."""
    held = raw.get("context")
    context: Mapping[str, Any] = held if isinstance(held, Mapping) else {}
    trace = identity(_first(raw, "traceId", "trace_id", "context.trace_id") or context.get("trace_id"), 16)
    own = identity(_first(raw, "spanId", "span_id", "context.span_id") or context.get("span_id"), 8)
    if not trace or not own:
        return "a span without ids"
    log = "body" in raw or "severityNumber" in raw
    start = time_ns(_first(raw, "startTimeUnixNano", "start_time_unix_nano", "start_time", "timeUnixNano"))
    end = time_ns(_first(raw, "endTimeUnixNano", "end_time_unix_nano", "end_time"))
    status = raw.get("status") or {}
    if not isinstance(status, Mapping):
        status = {"code": status}
    code = _first(status, "code", "status_code", "statusCode") or raw.get("status_code") or ""
    words = _first(status, "message", "description") or raw.get("status_message") or ""
    found = attributes(raw.get("attributes"))
    name = str(raw.get("name") or raw.get("eventName") or found.get("event.name") or "")
    made = (_event(each) for each in _listed(raw.get("events")))
    return Span(
        trace,
        own,
        LOG if log else identity(_first(raw, "parentSpanId", "parent_span_id", "parent_id"), 8),
        name,
        start,
        end,
        {**found, **({LOG: plain(raw.get("body"))} if log else {})},
        attributes((resource or {}).get("attributes")) if isinstance(resource, Mapping) else {},
        str(scope.get("name") or "") if isinstance(scope, Mapping) else "",
        tuple(made),
        str(code).lower() in _FAILED,
        str(words),
    )


LOG: Final = "log record"
"""The text that stands in place of a parent for a log record, because a log record has the id of its span. It is also
the name of the record's body among its attributes."""


def _event(raw: Mapping[str, Any]) -> tuple[str, int | None, Mapping[str, Json]]:
    when = time_ns(_first(raw, "timeUnixNano", "time_unix_nano", "timestamp"))
    return str(raw.get("name") or ""), when, attributes(raw.get("attributes"))
