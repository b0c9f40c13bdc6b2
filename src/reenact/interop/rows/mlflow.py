"""Traces of MLflow as JSON: one document, or one on each line, with spans whose attributes are JSON in texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from reenact.facts.lazy_dataclass import replace
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.trace_runs import Grade
from reenact.interop.otlp.span_facts import span_facts
from reenact.interop.otlp.spans import Span, spans_in
from reenact.interop.rows.call_items import listing, mapping, microseconds, since, text
from reenact.interop.rows.row_reader import Belongs, Row, Teller
from reenact.interop.trace_values import loaded
from reenact.interop.traces import Facts, SpanSort, TraceItem, Wrong

SOURCE: Final = "mlflow"

_LIKE: Final = lazy_regex(rb'"(?:trace_metadata|request_metadata|mlflow\.spanType|mlflow\.traceRequestId)"')


def fits(head: bytes) -> bool:
    """Whether a file with this beginning looks like a trace of MLflow."""
    return _LIKE.search(head) is not None


class Traces:
    """The traces of MLflow's files."""

    source: Final = SOURCE

    def belongs(self, row: Row) -> Belongs | str:
        """Each row is a trace, which becomes a run of its own."""
        info = mapping(row.get("info"))
        own = text(info.get("trace_id")) or text(info.get("request_id"))
        if not own or not isinstance(mapping(row.get("data")).get("spans"), list):
            return "no trace: info with an id, and data with spans"
        return Belongs(own, "", _began(row))

    def facts(self, row: Row) -> Facts:
        """User, session and commit, where its metadata name them."""
        info = mapping(row.get("info"))
        said = {**mapping(info.get("tags")), **mapping(info.get("trace_metadata") or info.get("request_metadata"))}
        return Facts(
            text(said.get("mlflow.traceName")) or SOURCE,
            user=text(said.get("mlflow.trace.user")) or text(said.get("mlflow.user")),
            session=text(said.get("mlflow.trace.session")),
            commit=text(said.get("mlflow.source.git.commit")),
        )

    def teller(self, began_us: int | None) -> Teller:
        """Reads each span by its sort."""
        return _TraceState(began_us)


def _began(row: Row) -> int | None:
    """When the first span of a trace began, or else when the trace itself began."""
    starts = [_start(mapping(each)) for each in listing(mapping(row.get("data")).get("spans"))]
    info = mapping(row.get("info"))
    asked = microseconds(info.get("request_time") or info.get("timestamp_ms"))
    return min((each for each in starts if each), default=None) or asked


def _start(span: Any) -> int:
    at = span.get("start_time_unix_nano") or span.get("start_time")
    return int(at) // 1000 if isinstance(at, (int, str)) and str(at).isdigit() else 0


class _TraceState:
    """A trace while its spans are read."""

    def __init__(self, began_us: int | None) -> None:
        self._began_us = began_us
        self._count = 0

    def told(self, rows: list[Row]) -> Iterator[TraceItem]:
        """The spans of a trace by their time, parents before their children."""
        numbers: dict[str, int] = {}
        for span in _ordered(rows[0]):
            if isinstance(span, str):
                yield TraceItem(SpanSort.OTHER, "damaged span", error=Wrong("Damaged", span))
            else:
                yield self._item(span, numbers.get(span.parent))
                numbers.setdefault(span.id, self._count)
            self._count += 1

    def rest(self) -> Iterator[TraceItem]:
        """No items, because each call of a tool has its span."""
        return iter(())

    def _item(self, span: Span, parent: int | None) -> TraceItem:
        made = span_facts(replace(span, attributes={name: loaded(each) for name, each in span.attributes.items()})).item
        timed = span.start_ns is not None and span.end_ns is not None
        start_us = since(None if span.start_ns is None else span.start_ns // 1000, self._began_us)
        end_us = since(None if span.end_ns is None else span.end_ns // 1000, self._began_us)
        grades = {**made.grades, "times": Grade.EXACT if timed else Grade.ABSENT}
        if end_us is not None and start_us is not None:
            end_us = max(end_us, start_us)
        return replace(made, parent=parent, start_us=start_us, end_us=end_us, grades=grades)


def _ordered(row: Row) -> Iterator[Span | str]:
    found = list(
        spans_in({"spans": [_named(mapping(each)) for each in listing(mapping(row.get("data")).get("spans"))]})
    )
    yield from (each for each in found if isinstance(each, str))
    spans = sorted((each for each in found if isinstance(each, Span)), key=lambda span: span.start_ns or 0)
    ids = {each.id for each in spans}
    below: dict[str, list[Span]] = {}
    for each in spans:
        below.setdefault(each.parent if each.parent in ids and each.parent != each.id else "", []).append(each)
    waiting = below.pop("", [])[::-1]
    while waiting or below:
        if not waiting:  # spans that are each other's parents
            waiting = below.pop(next(iter(below)))[::-1]
        span = waiting.pop()
        yield span
        waiting += below.pop(span.id, [])[::-1]


def _named(span: Any) -> dict[str, Any]:
    """A span with the id of its trace: a span without one belongs to the trace that contains it."""
    made = dict(span)
    if made.get("trace_id") is None and not made.get("context"):
        made["trace_id"] = "1" * 32
    return made
