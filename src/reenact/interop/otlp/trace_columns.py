"""The spans of a file in columns of numbers: some sixty bytes a span, so that a million of them fit in memory.

A first pass over the file fills them; the content stays in the file, and is read again by its place.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise

from reenact.facts.lazy_dataclass import dataclass, field
from reenact.interop.otlp.otlp_documents import DocumentPlace
from reenact.interop.otlp.span_facts import SpanFacts
from reenact.interop.traces import NO_FACTS, Facts, SpanSort

NONE = 0
"""The value for a missing id or key."""
_UNKNOWN = -1
_SORTS = tuple(SpanSort)


def short(text: str) -> int:
    """An id or key as a number; ``NONE`` for an empty one."""
    return (
        int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") if text else NONE
    )


@dataclass(slots=True)
class Columns:
    """The spans of a whole file, each by its number in the file.

    Attributes:
        place, nth: The number of the document, and of the span in it.
        own, parent: The ids, as numbers.
        start, end: Nanoseconds since the epoch; negative where they are not known.
        sort: The place in ``SpanSort``.
        key: The second id of the call, as a number.
        content: A digest of the whole span.
        documents: The place of each document: its first byte, its size, its number in the file.
        pieces: The number of spans and records in each document, with those that cannot be read.
    """

    place: array[int] = field(default_factory=lambda: array("I"))
    nth: array[int] = field(default_factory=lambda: array("I"))
    own: array[int] = field(default_factory=lambda: array("Q"))
    parent: array[int] = field(default_factory=lambda: array("Q"))
    start: array[int] = field(default_factory=lambda: array("q"))
    end: array[int] = field(default_factory=lambda: array("q"))
    sort: array[int] = field(default_factory=lambda: array("B"))
    key: array[int] = field(default_factory=lambda: array("Q"))
    content: array[int] = field(default_factory=lambda: array("Q"))
    documents: tuple[array[int], array[int], array[int]] = field(
        default_factory=lambda: (array("Q"), array("Q"), array("I"))
    )
    pieces: array[int] = field(default_factory=lambda: array("I"))

    def add_document(self, place: DocumentPlace) -> int:
        """Add a document. Returns its number among the readable ones."""
        for column, value in zip(self.documents, (place.at, place.size, place.number), strict=True):
            column.append(value)
        return len(self.documents[0]) - 1

    def document(self, number: int) -> DocumentPlace:
        """The place of a document."""
        at, size, nth = self.documents
        return DocumentPlace(at[number], size[number], nth[number])

    def add(
        self, nth: int, told: SpanFacts, ids: tuple[str, str], times: tuple[int | None, int | None], content: int
    ) -> int:
        """Add a span of the last document. Returns the span's number."""
        self.place.append(len(self.documents[0]) - 1)
        self.nth.append(nth)
        self.own.append(short(ids[0]))
        self.parent.append(short(ids[1]))
        self.start.append(_UNKNOWN if times[0] is None else times[0])
        self.end.append(_UNKNOWN if times[1] is None else times[1])
        self.sort.append(_SORTS.index(told.item.sort))
        self.key.append(short(told.key))
        self.content.append(content)
        return len(self.own) - 1

    def sort_of(self, span: int) -> SpanSort:
        """The sort of a span."""
        return _SORTS[self.sort[span]]

    def overlap(self, left: int, right: int) -> bool:
        """Whether two spans were under way at the same time, or may have been because a time is unknown."""
        if min(self.start[left], self.start[right], self.end[left], self.end[right]) < 0:
            return True
        return self.start[left] <= self.end[right] and self.start[right] <= self.end[left]


@dataclass(slots=True)
class TraceColumns:
    """One trace of a file while it is read.

    Attributes:
        id: Its id.
        spans: Numbers of its spans, in the order of the file.
        logs: The places of its log records by their span: the document, and the number in the document.
        facts: The spans' facts about the run; those of a root count most.
        digest: The sum of the digests of its spans.
        remarks: The faults, with their number.
    """

    id: str
    spans: array[int] = field(default_factory=lambda: array("I"))
    logs: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    facts: Facts = NO_FACTS
    digest: int = 0
    remarks: dict[str, int] = field(default_factory=dict)

    def remark(self, what: str, count: int = 1) -> None:
        """Count a fault."""
        if count:
            self.remarks[what] = self.remarks.get(what, 0) + count


REPEATED = "spans that came more than once, kept once"
DIFFERING = "spans that share an id and say different things, all kept: a later state, or two traces with one id"
ORPHANS = "spans whose parent is not in the file"
CLOCKS = "spans that begin before the span they are in: clocks disagree"
BACKWARDS = "spans that end before they begin"
UNTIMED = "spans without a time"
ROOTS = "spans without a parent beside the first: perhaps two traces with one id"
MERGED = "spans that describe a call again, merged into one"


@dataclass(slots=True)
class Order:
    """The spans of a trace in the order of its events, with those that are one call.

    Attributes:
        spans: Numbers of the spans that become events, parents before children.
        ids, holders: Every id of a span, in order, and the number of the span that represents it.
        same: Spans that were merged, by the one that they are merged into.
    """

    spans: array[int]
    ids: array[int]
    holders: array[int]
    same: dict[int, list[int]]

    def holder(self, own: int) -> int | None:
        """The span that represents an id; None where the trace has no such span."""
        at = bisect_left(self.ids, own)
        return self.holders[at] if at < len(self.ids) and self.ids[at] == own else None


def ordered(columns: Columns, found: TraceColumns, *, retold: bool = True) -> Order:
    """The spans of a trace in order. Faults are remarked.

    Args:
        columns: The columns of its file.
        found: The trace.
        retold: Whether several spans may be about one call.

    Costs a few sorts of numbers; in memory some fifty bytes a span.
    """
    kept = _once(columns, found)
    by_id = sorted(kept, key=columns.own.__getitem__)  # stable: the first of two spans with the same id represents it
    ids, holders = array("Q"), array("I")
    for span in by_id:
        if not ids or ids[-1] != columns.own[span]:
            ids.append(columns.own[span])
            holders.append(span)
        elif columns.own[span]:
            found.remark(DIFFERING)
    order = Order(array("I"), ids, holders, {})
    del by_id
    start, depth = _starts(columns, found, kept, order)
    merged = _merged(columns, kept, order) if retold else {}
    found.remark(MERGED, len(merged))
    left = [at for at in range(len(kept)) if kept[at] not in merged]
    left.sort(key=depth.__getitem__)
    left.sort(key=start.__getitem__)
    order.spans = array("I", (kept[at] for at in left))
    for inner, outer in merged.items():
        order.same.setdefault(outer, []).append(inner)
    if merged:
        for at in range(len(holders)):
            holders[at] = merged.get(holders[at], holders[at])
    return order


def _once(columns: Columns, found: TraceColumns) -> array[int]:
    """The spans of a trace without those that came again, in the order of the file."""
    kept = array("I")
    alike: set[int] = set()
    before = None
    for span in sorted(found.spans, key=columns.own.__getitem__):
        own, content = columns.own[span], columns.content[span]
        if own != before:
            before, alike = own, set()
        if content in alike:
            found.remark(REPEATED)
            continue
        alike.add(content)
        kept.append(span)
        found.digest = (found.digest + content * (own | 1)) % (1 << 128)
    return array("I", sorted(kept))


def _starts(columns: Columns, found: TraceColumns, kept: Sequence[int], order: Order) -> tuple[array[int], array[int]]:
    """When each span begins, and how deep it is: never before the span that it is in."""
    at_of = _places(kept)
    above = array("q", (_above(columns, order, span, at_of) for span in kept))
    known = [columns.start[span] for span in kept if columns.start[span] >= 0]
    first = min(known, default=0)
    start = array("q", (max(columns.start[span], -1) for span in kept))
    depth = array("l", bytes(array("l").itemsize * len(kept)))
    state = bytearray(len(kept))
    roots = 0
    for at in range(len(kept)):
        chain = []
        here = at
        while here >= 0 and not state[here]:
            state[here] = _UNDER_WAY
            chain.append(here)
            here = above[here]
        if here >= 0 and state[here] == _UNDER_WAY:  # parents in a circle: this span counts as a root
            above[chain[-1]] = -1
        for each in reversed(chain):
            state[each] = _DONE
            up = above[each]
            if up < 0:
                start[each] = start[each] if start[each] >= 0 else first
                continue
            found.remark(CLOCKS, int(0 <= start[each] < start[up]))
            start[each] = max(start[each], start[up])
            depth[each] = depth[up] + 1
    for at, span in enumerate(kept):
        orphan = above[at] < 0 and columns.parent[span] != NONE
        found.remark(ORPHANS, int(orphan))
        roots += above[at] < 0 and not orphan
        found.remark(UNTIMED, int(columns.start[span] < 0 or columns.end[span] < 0))
        found.remark(BACKWARDS, int(0 <= columns.end[span] < columns.start[span]))
    found.remark(ROOTS, max(roots - 1, 0))
    return start, depth


_UNDER_WAY, _DONE = 1, 2


def _places(kept: Sequence[int]) -> Callable[[int], int]:
    """The position of a span among the kept ones, which are in order."""
    return lambda span: bisect_left(kept, span)


def _above(columns: Columns, order: Order, span: int, at_of: Callable[[int], int]) -> int:
    parent = columns.parent[span]
    holder = order.holder(parent) if parent != NONE else None
    return -1 if holder is None or holder == span else at_of(holder)


def _merged(columns: Columns, kept: Iterable[int], order: Order) -> dict[int, int]:
    """The spans that describe the same call as another span, each with the span that is kept."""
    into: dict[int, int] = {}
    wanted = {_SORTS.index(SpanSort.MODEL), _SORTS.index(SpanSort.TOOL)}
    calls = array("I", (span for span in kept if columns.sort[span] in wanted))
    inside: dict[int, list[int]] = {}
    for span in calls:
        parent = columns.parent[span]
        outer = order.holder(parent) if parent != NONE else None
        if outer is not None and outer != span and columns.sort[outer] == columns.sort[span]:
            inside.setdefault(outer, []).append(span)
    for outer, spans in inside.items():
        keys = {columns.key[span] for span in (outer, *spans)} - {NONE}
        if len(keys) <= 1 and (len(spans) == 1 or all(columns.key[span] for span in spans)):
            into.update((span, outer) for span in spans)
    keyed = sorted((span for span in calls if columns.key[span] and span not in into), key=columns.key.__getitem__)
    for before, span in pairwise(keyed):
        head = into.get(before, before)
        same = columns.key[head] == columns.key[span] and columns.sort[head] == columns.sort[span]
        if same and columns.overlap(head, span) and columns.own[head] != columns.own[span]:
            into[span] = head
    return {span: _head(into, span) for span in into}


def _head(into: dict[int, int], span: int) -> int:
    seen = {span}
    while span in into and into[span] not in seen:
        span = into[span]
        seen.add(span)
    return span


def documents_of(columns: Columns, found: TraceColumns) -> Iterator[int]:
    """The documents that a trace came in, each once, in the order of the file."""
    logs = {place for places in found.logs.values() for place, _ in places}
    seen = bytearray(len(columns.documents[0]))
    for span in found.spans:
        seen[columns.place[span]] = 1
    for place in logs:
        seen[place] = 1
    yield from (number for number, held in enumerate(seen) if held)
