"""Traces from a file of spans: a first pass finds the spans of each trace and their order, a second one reads their
content.

Neither pass holds the file: memory grows by some hundred bytes a span. Parts that cannot be read are left out, and
listed by place.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, BinaryIO, Final, TypeVar

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field, fields, replace
from reenact.facts.trace_runs import Grade
from reenact.interop.file_refusal import refused
from reenact.interop.originals import Original
from reenact.interop.otlp.layouts import Documents, Layout, Otlp, held_by, line
from reenact.interop.otlp.otlp_documents import DocumentPlace, SkippedDocument
from reenact.interop.otlp.span_facts import merged, span_facts
from reenact.interop.otlp.spans import LOG, Span, read_spans, whole
from reenact.interop.otlp.trace_columns import Columns, Order, TraceColumns, documents_of, ordered, short
from reenact.interop.trace_values import opened
from reenact.interop.traces import NO_FACTS, Facts, SpanSort, Trace, TraceItem, Wrong

RECOVERED: Final = "calls of tools without a span, known from the model calls around them"
LOGS_LEFT: Final = "records of logs on spans that are not in the file"

_MOST_LEFT: Final = 50
_PARSED: Final = 3
"""The most documents that are held in memory at a time."""
_SMALL: Final = 8 << 20
"""The largest file whose spans are held in memory, in bytes."""
_SMALL_TREE: Final = 1 << 20
"""The largest file of trees of another tool whose spans are held in memory, in bytes."""
_PENDING: Final = 4096
"""The most tool calls that wait for their answers at a time."""


@dataclass(slots=True)
class _File:
    """The findings of the first pass."""

    original: Original
    layout: Layout
    documents: Documents
    columns: Columns = field(default_factory=Columns)
    traces: dict[str, TraceColumns] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    unread: int = 0
    parsed: dict[int, list[Span | str]] = field(default_factory=dict)
    """The spans of each document of a small file: a document is parsed once."""
    items: dict[int, TraceItem] = field(default_factory=dict)
    """The items of a small file's spans, by number: an item is made once."""
    recent: OrderedDict[int, list[Span | str]] = field(default_factory=OrderedDict)
    """The spans of the last documents: traces that began together are often in the same documents."""
    recent_raw: OrderedDict[int, list[Any]] = field(default_factory=OrderedDict)
    """The unparsed pieces of the last documents."""

    @property
    def small(self) -> bool:
        """Whether the items are held in memory. A tree of JSON repeats its conversations, and needs more than its
        bytes."""
        return self.original.size <= (_SMALL if isinstance(self.layout, Otlp) else _SMALL_TREE)

    def leave(self, what: object) -> None:
        """Note a part that cannot be read."""
        self.unread += 1
        if len(self.left) < _MOST_LEFT:
            self.left.append(str(what))

    def all_left(self) -> tuple[str, ...]:
        """The parts that could not be read, up to a limit, and the number of the others."""
        more = self.unread - len(self.left)
        return (*self.left, f"and {more} more") if more else tuple(self.left)


def read(original: Original, layout: Layout | None = None) -> Iterator[Trace]:
    """Every trace of a file, in the order in which they began.

    Args:
        original: The file.
        layout: The layout of its spans; None for OTLP.

    Raises:
        InteropError: The file has another format, no span that can be read, or cannot be read here.
    """
    layout = layout or Otlp()
    with original.open() as file:
        found = _File(original, layout, layout.documents(file))
        _look(found, file)
    if not found.traces:
        cause = "; ".join(found.left[:3]) or "it holds metrics, or nothing"
        raise refused(f"the file holds no {layout.piece} that can be read", cause)
    made = [_trace(found, each) for each in found.traces.values()]
    yield from sorted(made, key=lambda each: (each.began_us or 0, each.id if each.began_us else ""))


def _look(found: _File, file: BinaryIO) -> None:
    """Read the file in the first pass."""
    columns = found.columns
    layout, documents = found.layout, found.documents
    for place in documents.places(file):
        document = place if isinstance(place, SkippedDocument) else documents.read(file, place)
        if isinstance(document, SkippedDocument):
            found.leave(document)
            continue
        assert isinstance(place, DocumentPlace)
        found.original.told(place.at)
        columns.add_document(place)
        name = documents.name(place)
        nth = -1
        spans: Iterable[Span | str] = read_spans(layout.pieces(document), layout.span)
        if found.small:
            spans = found.parsed[len(columns.documents[0]) - 1] = list(spans)
        for nth, span in enumerate(spans):
            if isinstance(span, str):
                found.leave(f"{name}, {layout.piece} {nth + 1}: {span}")
                continue
            try:
                _saw(found, nth, span)
            except (RecursionError, ValueError, TypeError, AttributeError, KeyError) as error:
                found.leave(f"{name}, {layout.piece} {nth + 1}: it cannot be told ({type(error).__name__})")
        columns.pieces.append(nth + 1)
        if nth < 0:
            found.leave(SkippedDocument(name, f"it holds no {layout.piece} ({held_by(document)})"))


def _saw(found: _File, nth: int, span: Span) -> None:
    trace = found.traces.get(span.trace)
    if span.parent == LOG:
        if trace is None:
            trace = found.traces[span.trace] = TraceColumns(span.trace)
        trace.logs.setdefault(short(span.id), []).append((len(found.columns.documents[0]) - 1, nth))
        trace.digest = (trace.digest + _content(span)) % (1 << 128)
        return
    tells = span_facts(span)
    content = _content(span)
    if trace is None:
        trace = found.traces[span.trace] = TraceColumns(span.trace)
    times = span.start_ns, span.end_ns
    number = found.columns.add(nth, tells, (span.id, span.parent), times, content)
    trace.spans.append(number)
    if found.small:
        found.items[number] = tells.item
    trace.facts = _more(tells.facts, trace.facts) if not span.parent else _more(trace.facts, tells.facts)
    for remark in tells.remarks:
        trace.remark(remark)


def _more(first: Facts, second: Facts) -> Facts:
    if first is NO_FACTS or second is NO_FACTS:
        return second if first is NO_FACTS else first
    return Facts(**{each.name: getattr(first, each.name) or getattr(second, each.name) for each in fields(Facts)})


_encoded: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str).encode


def _content(span: Span) -> int:
    """A digest of a whole span, independent of the container."""
    data: list[Any] = [
        span.trace,
        span.id,
        span.parent,
        span.name,
        span.start_ns,
        span.end_ns,
        span.attributes,
        span.scope,
    ]
    data += [span.resource, span.events, span.failed, span.status]
    text = _encoded(data)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


# --- one trace ---------------------------------------------------------------------------------------------------


def _trace(found: _File, trace: TraceColumns) -> Trace:
    order = ordered(found.columns, trace, retold=found.layout.retold)
    logs = {own for own in trace.logs if order.holder(own) is None}
    trace.remark(LOGS_LEFT, sum(len(trace.logs[own]) for own in logs))
    starts = [found.columns.start[span] for span in trace.spans if found.columns.start[span] >= 0]
    began_ns = min(starts, default=None)
    facts = replace(trace.facts, agent=trace.facts.agent or trace.facts.service)
    return Trace(
        source=found.layout.source,
        id=trace.id,
        digest=f"{trace.digest:032x}",
        items=_Items(found, trace, order, began_ns),
        spans=len(trace.spans),
        began_us=None if began_ns is None else began_ns // 1000,
        facts=facts,
        error=_error(found, order),
        remarks=trace.remarks,
        left=found.all_left(),
        original=_Documents(found, trace),
    )


def _error(found: _File, order: Order) -> Wrong | None:
    """The failure of the first span without a parent."""
    root = next((span for span in order.spans if not found.columns.parent[span]), None)
    if root is None:
        return None
    span = _Spans(found).span(root)
    return None if span is None else span_facts(span).item.error


class _Spans:
    """The spans of a file by their number: the documents that were read last are held in memory."""

    def __init__(self, found: _File) -> None:
        self._found = found

    def span(self, number: int) -> Span | None:
        """One span."""
        columns = self._found.columns
        return self.at(columns.place[number], columns.nth[number])

    def at(self, place: int, nth: int) -> Span | None:
        """A span by its document and its place there."""
        found = self._found
        parsed = found.parsed.get(place)
        if parsed is None:
            parsed = _recalled(found.recent, place, lambda: _spans_of(found, place))
        span = parsed[nth] if nth < len(parsed) else None
        return span if isinstance(span, Span) else None


_T = TypeVar("_T")


def _recalled(kept: OrderedDict[int, _T], number: int, make: Callable[[], _T]) -> _T:
    """The cached object of a number, or a new one; a few are cached."""
    if number in kept:
        kept.move_to_end(number)
        return kept[number]
    made = kept[number] = make()
    if len(kept) > _PARSED:
        kept.popitem(last=False)
    return made


def _document(found: _File, number: int) -> Any:
    """A document of a file; nothing for one that cannot be read any more."""
    with found.original.open() as file:
        document = found.documents.read(file, found.columns.document(number))
    return None if isinstance(document, SkippedDocument) else document


def _spans_of(found: _File, number: int) -> list[Span | str]:
    return list(read_spans(found.layout.pieces(_document(found, number)), found.layout.span))


@dataclass(frozen=True, slots=True)
class _Items:
    """The items of a trace, made again each time they are asked for."""

    found: _File
    trace: TraceColumns
    order: Order
    began_ns: int | None

    def __iter__(self) -> Iterator[TraceItem]:
        order = self.order
        numbers = _Numbers(order.spans)
        pending = _RequestedTools(self.found.columns, self.trace)
        count = 0
        self.found.original.open().close()  # refuses a file that has changed since
        spans = _Spans(self.found)
        for span in order.spans:
            item = self._item(spans, span)
            if item is None:
                continue
            parent = self._parent(numbers, span)
            for each in pending.answered(item):
                yield replace(each, parent=parent, start_us=item.start_us, end_us=item.start_us)
                count += 1
            numbers.give(span, count)
            count += 1
            yield replace(item, parent=parent)
            pending.asked(item)

    def _parent(self, numbers: _Numbers, span: int) -> int | None:
        above = self.found.columns.parent[span]
        holder = self.order.holder(above) if above else None
        return None if holder is None or holder == span else numbers.of(holder)

    def _item(self, spans: _Spans, span: int) -> TraceItem | None:
        item = self._told(spans, span)
        for other in self.order.same.get(span, ()):
            inner = self._told(spans, other)
            item = inner if item is None else item if inner is None else merged(item, inner)
        return item

    def _told(self, spans: _Spans, number: int) -> TraceItem | None:
        span = spans.span(number)
        if span is None:
            return None
        records = [spans.at(*place) for place in self.trace.logs.get(short(span.id), ())]
        item = None if records else self.found.items.get(number)
        item = item or span_facts(span, [each for each in records if each is not None]).item
        timed = span.start_ns is not None and span.end_ns is not None
        return replace(
            item,
            start_us=self._since(span.start_ns),
            end_us=self._since(max(span.end_ns or 0, span.start_ns or 0) or None) if span.end_ns else None,
            grades={**item.grades, "times": Grade.EXACT if timed else Grade.ABSENT},
        )

    def _since(self, at_ns: int | None) -> int | None:
        return None if at_ns is None or self.began_ns is None else max(at_ns - self.began_ns, 0) // 1000


class _Numbers:
    """The numbers of the items that spans have become, in one column."""

    def __init__(self, spans: Sequence[int]) -> None:
        self._spans = array("I", sorted(spans))
        self._numbers = array("q", [-1]) * len(self._spans)

    def give(self, span: int, number: int) -> None:
        """Note that a span has become an item."""
        self._numbers[bisect_left(self._spans, span)] = number

    def of(self, span: int) -> int | None:
        """The item that a span has become; None if there is none yet."""
        at = bisect_left(self._spans, span)
        found = self._numbers[at] if at < len(self._spans) and self._spans[at] == span else -1
        return found if found >= 0 else None


class _RequestedTools:
    """The tool calls that a model has asked for. A tool call without a span is known from the next model call."""

    def __init__(self, columns: Columns, trace: TraceColumns) -> None:
        tools = (span for span in trace.spans if columns.key[span] and columns.sort_of(span) is SpanSort.TOOL)
        self._spans = array("Q", sorted(columns.key[span] for span in tools))
        self._waiting: OrderedDict[str, Mapping[str, Json]] = OrderedDict()
        self._made: dict[str, int] = {}
        """Calls that have a span but no id, by name and arguments."""

    def asked(self, item: TraceItem) -> None:
        """Note an item: the tool calls that it asks for wait for their results."""
        if item.sort is SpanSort.TOOL:
            if not item.call_id:
                asked = item.asked
                if isinstance(asked, Mapping) and set(asked) == {"args", "kwargs"}:
                    asked = _values(asked["args"], asked["kwargs"])
                call = _call(item.name, asked)
                self._made[call] = self._made.get(call, 0) + 1
            return
        for call in item.reading.tool_calls if item.reading is not None else ():
            if isinstance(call, Mapping) and call.get("id"):
                self._waiting[str(call["id"])] = call
                if len(self._waiting) > _PENDING:
                    self._waiting.popitem(last=False)

    def answered(self, item: TraceItem) -> Iterator[TraceItem]:
        """The calls without a span that are known to have been answered before an item."""
        if not self._waiting or item.reading is None:
            return
        for message in item.reading.messages:
            for result in message.get("tool_results", ()) if isinstance(message, Mapping) else ():
                call = self._waiting.pop(str(result.get("id")), None)
                if call is None or self._has_span(short(str(result["id"]))):
                    continue
                name, arguments = str(call.get("name") or ""), opened(call.get("arguments"))
                told = (arguments, _values((), arguments))
                same = next((each for each in (_call(name, said) for said in told) if self._made.get(each)), "")
                if same:
                    self._made[same] -= 1
                    continue
                yield _recovered(name, arguments, result, item.dialect)

    def _has_span(self, key: int) -> bool:
        at = bisect_left(self._spans, key)
        return at < len(self._spans) and self._spans[at] == key


def _recovered(name: str, arguments: Json, result: Mapping[str, Json], dialect: str) -> TraceItem:
    grades = {
        "arguments": Grade.SEMANTIC,
        "result": Grade.SEMANTIC,
        "call_id": Grade.EXACT,
        "times": Grade.ABSENT,
    }
    return TraceItem(
        SpanSort.TOOL,
        name or "tool",
        asked=arguments,
        answered=opened(result.get("text")),
        call_id=str(result.get("id") or ""),
        grades=grades,
        dialect=dialect,
    )


def _values(args: Json, kwargs: Json) -> list[Json]:
    """Arguments without their names, where some of them are given by position."""
    named = opened(kwargs)
    return [*(args if isinstance(args, list) else ()), *(named.values() if isinstance(named, Mapping) else ())]


def _call(name: str, arguments: Json) -> str:
    return name + json.dumps(opened(arguments), sort_keys=True, default=str)


@dataclass(frozen=True, slots=True)
class _Documents:
    """The original documents of a trace: unchanged if they have no other trace, else each as a line of JSON with the
    parts of this trace."""

    found: _File
    trace: TraceColumns

    def __iter__(self) -> Iterator[bytes]:
        found = self.found
        alone = len(found.traces) == 1
        wanted = {} if alone else self._wanted()
        with found.original.open() as file:
            for number in documents_of(found.columns, self.trace):
                if alone or len(wanted[number]) == found.columns.pieces[number]:
                    raw = found.documents.raw(file, found.columns.document(number))
                    yield line(_document(found, number)) if raw is None else raw
                    continue
                every = _recalled(found.recent_raw, number, partial(_raw_of, found, number))
                yield line(found.layout.joined([every[nth] for nth in wanted[number] if nth < len(every)]))

    def _wanted(self) -> dict[int, list[int]]:
        """The spans and records of each document that belong to the trace."""
        columns, wanted = self.found.columns, dict[int, list[int]]()
        for span in self.trace.spans:
            wanted.setdefault(columns.place[span], []).append(columns.nth[span])
        for places_of in self.trace.logs.values():
            for place, nth in places_of:
                wanted.setdefault(place, []).append(nth)
        return wanted


def _raw_of(found: _File, number: int) -> list[Any]:
    return list(whole(found.layout.pieces(_document(found, number))))
