"""Joins: cleans text that is spread over the events of a stream.

The strings of events that belong together are joined, cleaned, and cut again at the same places. Events are held back
only while their end is undecided, and every event keeps its length. It knows server-sent events, lines of JSON, and the
messages of an AWS event stream, whose checksums are corrected.
"""

from __future__ import annotations

import binascii
from collections import deque
from itertools import accumulate
from typing import Generic, TypeVar

from reenact.facts import wraps
from reenact.facts.deltas import leaves
from reenact.facts.finer_spans import finer
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.text_spans import SearchExhausted
from reenact.privacy.eraser import Eraser

T = TypeVar("T")

LONGEST = 64 << 10
"""The most undecided bytes of one joined text. A longer undecided text is erased, with all text that follows."""
_CONTEXT = 512
_QUIET = 48
"""The number of events after which a text that did not go on is over."""
_LONGEST_LINE = 1 << 20
_DATA = lazy_regex(rb"[ \t]*(?:data:)?[ \t]*")
_WORTH = lazy_regex(
    rb"(?i)key|token|secret|pass|auth|credential|cookie|pw|jwt|://|bearer|basic|-----|-u|[\w+/=.-]{16}|~rx"
)
_SPACES = (b" ", b"\n", b"\\n", b"\\t", b"\\r")
_HEAD = 64 << 10
_BYTES = lazy_regex(rb'\{[^{}"]{0,16}"bytes"\s{0,4}:\s{0,4}"([A-Za-z0-9+/=]+)"')


class _Event:
    """One event: its text, which may be changed, and its place."""

    __slots__ = ("changed", "end", "frame", "inner", "open", "start", "text")

    def __init__(self, start: int, end: int, text: bytes, frame: int, inner: tuple[int, int] | None) -> None:
        self.start = start
        self.end = end
        self.text = bytearray(text)
        self.frame = frame
        self.inner = inner
        self.open = 0
        self.changed = False


class _Group:
    """A text that is spread over events."""

    __slots__ = ("context", "last", "open", "pieces", "withheld")

    def __init__(self) -> None:
        self.context = b""
        self.open = b""
        self.pieces: deque[tuple[_Event, int, int]] = deque()
        self.last = 0
        self.withheld = False


class Joiner(Generic[T]):
    """Cleans text that is spread over events.

    Args:
        eraser: The eraser.
        frames: Whether events are messages of an AWS event stream; else they are lines.
    """

    __slots__ = ("_base", "_count", "_data", "_eraser", "_events", "_frames", "_groups", "_items", "_off", "_read")

    def __init__(self, eraser: Eraser, *, frames: bool) -> None:
        self._eraser = eraser
        self._frames = frames
        self._items: deque[tuple[T, int]] = deque()
        self._data = bytearray()
        self._base = 0  # the place in the stream where the held data begins
        self._read = 0  # the length that was read from this place on
        self._events: deque[_Event] = deque()
        self._groups: dict[tuple[bytes, ...], _Group] = {}
        self._count = 0
        self._off = False

    def feed(self, item: T, data: bytes) -> list[tuple[T, bytes]]:
        """Take a segment, and return the segments that are decided now."""
        self._items.append((item, len(data)))
        self._data += data
        if not self._off:
            if self._frames:
                self._read_frames()
            else:
                self._read_lines()
            self._settle(final=False)
        return self._given(final=False)

    def rest(self) -> list[tuple[T, bytes]]:
        """The segments that are still held back."""
        if not self._off and not self._frames and len(self._data) > self._read:
            self._take(self._read, len(self._data))
        self._settle(final=True)
        return self._given(final=True)

    def items(self) -> list[T]:
        """The records of the segments that are held back."""
        return [item for item, _ in self._items]

    # -- events -------------------------------------------------------------------------------------------------------

    def _read_lines(self) -> None:
        while (end := self._data.find(b"\n", self._read)) >= 0:
            self._take(self._read, end)
            self._read = end + 1
        if len(self._data) - self._read > _LONGEST_LINE:
            self._off = True

    def _take(self, start: int, end: int) -> None:
        lead = _DATA.match(self._data, start, end)
        at = lead.end() if lead is not None else start
        text = bytes(self._data[at:end]).rstrip(b"\r")
        inner = _BYTES.search(text, 0, _HEAD)
        plain = None if inner is None else wraps.undone(wraps.BASE64, inner[1])
        if inner is not None and plain is not None:
            where = (self._base + at + inner.start(1), self._base + at + inner.end(1))
            self._add(_Event(*where, plain, -1, where))
        elif text[:1] in (b"{", b"["):
            self._add(_Event(self._base + at, self._base + at + len(text), text, -1, None))
        elif text and bytes(self._data[start : start + 5]) == b"data:":
            event = _Event(self._base + at, self._base + at + len(text), text, -1, None)
            self._append((b"",), event, 0, len(text))
            self._next(event)

    def _read_frames(self) -> None:
        view = bytes(self._data)
        while (found := wraps.framed(view, self._read)) is not None:
            start, end, after = found
            inner = _BYTES.match(view, start, end)
            text = None if inner is None else wraps.undone(wraps.BASE64, inner[1])
            if inner is not None and text is not None:
                place = (inner.start(1), inner.end(1))
                where = (self._base + place[0], self._base + place[1])
                self._add(_Event(*where, text, self._base + self._read, where))
            else:
                self._add(_Event(self._base + start, self._base + end, view[start:end], self._base + self._read, None))
            self._read = after
        if len(view) - self._read > 16 * _LONGEST_LINE:
            self._off = True

    def _add(self, event: _Event) -> None:
        text = bytes(event.text)
        for leaf in leaves(text):
            if leaf.end > leaf.start:
                self._append(leaf.group, event, leaf.start, leaf.end)
        if event.frame >= 0 or event.inner is not None:  # only here is the event searched as one text
            cleaned = self._eraser.spans(text, self._eraser.find(text), fit=True)
            if cleaned != text:
                event.text[:] = cleaned
                event.changed = True
        self._next(event)

    def _next(self, event: _Event) -> None:
        self._events.append(event)
        self._count += 1

    def _append(self, name: tuple[bytes, ...], event: _Event, start: int, end: int) -> None:
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = _Group()
        group.open += bytes(event.text[start:end])
        group.pieces.append((event, start, end))
        group.last = self._count
        event.open += 1

    # -- decisions ----------------------------------------------------------------------------------------------------

    def _settle(self, *, final: bool) -> None:
        for name, group in list(self._groups.items()):
            if not group.open:
                continue
            over = final or self._count - group.last > _QUIET
            try:
                self._decide(group, over)
            except SearchExhausted:
                group.withheld = True
                self._decide(group, over)
            if over:
                del self._groups[name]
        while self._events and self._events[0].open == 0:
            self._write(self._events.popleft())

    def _decide(self, group: _Group, over: bool) -> None:
        """Clean the decided beginning of a joined text."""
        if group.withheld:
            self._put(group, b"~" * len(group.open))
            return
        text = group.context + group.open
        lead = len(group.context)
        cut = len(text) if over else self._cut(text, lead)
        worth = self._eraser.remembers or _WORTH.search(text) is not None
        spans = finer(self._eraser.find(text, self._seams(group))) if worth else []
        for span in spans:
            if not over and span.start < cut and (span.end > cut or span.end >= len(text)):
                cut = max(lead, span.start)
        if not over and len(text) - cut > LONGEST:
            group.withheld = True
            cut = len(text)
        if cut <= lead:
            return
        cleaned = self._eraser.spans(text, [span for span in spans if span.end <= cut and span.start >= lead], fit=True)
        self._put(group, cleaned[lead:cut])
        group.context = cleaned[max(0, cut - _CONTEXT) : cut]

    @staticmethod
    def _seams(group: _Group) -> list[int]:
        """The places where the pieces of a joined text meet."""
        return list(accumulate((end - start for _, start, end in group.pieces), initial=len(group.context)))

    @staticmethod
    def _cut(text: bytes, lead: int) -> int:
        """The place after the last white space: a word that may go on is undecided."""
        return max((lead, *(text.rfind(space, lead) + len(space) for space in _SPACES if text.find(space, lead) >= 0)))

    def _put(self, group: _Group, cleaned: bytes) -> None:
        """Write a decided text into its events; a piece that is decided only in part stays open."""
        at = 0
        while at < len(cleaned):
            event, start, end = group.pieces[0]
            size = min(end - start, len(cleaned) - at)
            new = cleaned[at : at + size]
            if new != group.open[at : at + size]:
                event.text[start : start + size] = new
                event.changed = True
            at += size
            if start + size < end:
                group.pieces[0] = (event, start + size, end)
            else:
                group.pieces.popleft()
                event.open -= 1
        group.open = group.open[len(cleaned) :]

    def _write(self, event: _Event) -> None:
        if not event.changed:
            return
        start, end = event.start - self._base, event.end - self._base
        if event.inner is None:
            self._data[start:end] = event.text
        else:
            self._data[start:end] = binascii.b2a_base64(bytes(event.text), newline=False)
        if event.frame >= 0:
            frame = event.frame - self._base
            found = wraps.framed(bytes(self._data[frame:]))
            if found is not None:
                self._data[frame : frame + found[2]] = wraps.summed(bytes(self._data[frame : frame + found[2]]))

    def _given(self, *, final: bool) -> list[tuple[T, bytes]]:
        if final or self._off:
            ready = len(self._data)
        elif self._events:
            first = self._events[0]
            ready = (first.start if first.frame < 0 else first.frame) - self._base
        else:
            ready = self._read
        out = []
        at = 0
        while self._items and at + self._items[0][1] <= ready:
            item, size = self._items.popleft()
            out.append((item, bytes(self._data[at : at + size])))
            at += size
        del self._data[:at]
        self._base += at
        self._read -= at
        return out


def joined(eraser: Eraser, data: bytes) -> bytes:
    """Clean a whole stream at once, with the text that is spread over its events."""
    joiner: Joiner[None] = Joiner(eraser, frames=wraps.framed(data) is not None)
    parts = [*joiner.feed(None, data), *joiner.rest()]
    return b"".join(part for _, part in parts)
