"""Successive versions of one document. Each is stored as the parts that it shares with the version before, and as
pieces of one text that holds all new parts.

A version need not resemble the version before: their bytes are compared, from both ends. The bytes between are looked
for at the end of the text (they may be a moved mark, keys in another order, an earlier history). Bytes that are not
found are appended to the text. So a version costs one comparison and the storage of its new parts, and no part is
stored twice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, chain
from operator import methodcaller
from typing import NamedTuple

from reenact.facts.common_bytes import common_head, common_tail
from reenact.facts.lazy_regex import lazy_regex

LEAST = 32
"""The least number of bytes at the beginning or end of a version that are stored as a reference to the version
before."""

FOUND = 96
"""The shortest text that is worth a piece of its own. The JSON around a message is too short, and stays with the
message before, so that a message that comes again is found by its own beginning."""

WINDOW = 2 << 20
"""The number of bytes at the end of the text in which new parts of a version are searched."""

_KEY = 40
"""The number of bytes, from the beginning of a string, an object or a line, by which text is found again."""
_APART = 24
"""The least distance between two indexed places; it bounds the size of the index."""
_BEGINNINGS = lazy_regex(rb'[\[{,:] ?(?=["{\[])|\\n|\n')

_END = methodcaller("end")

Bytes = bytes | bytearray


class SplicePiece(NamedTuple):
    """A piece of the text: its position and its size."""

    start: int
    size: int


class VersionChange(NamedTuple):
    """The difference between a version and the version before it.

    Attributes:
        head: The number of bytes that both versions share at their beginning.
        tail: The number of bytes that both versions share at their end.
        middle: The pieces of the text for the bytes between.
    """

    head: int
    tail: int
    middle: Sequence[SplicePiece]


class VersionShape(NamedTuple):
    """The places of a version's bytes: its pieces of the text, and the position in the version at which each piece
    ends."""

    pieces: Sequence[SplicePiece]
    ends: Sequence[int]

    @property
    def size(self) -> int:
        """The number of bytes of the version."""
        return self.ends[-1] if self.ends else 0


class SpliceVersion(NamedTuple):
    """One version: its bytes, and their places in the text."""

    body: bytes
    shape: VersionShape


EMPTY = SpliceVersion(b"", VersionShape((), ()))
"""The empty version before the first one."""


class Recent:
    """The newest part of a text, with an index of its strings, objects and lines. For JSON with the shortest strings it
    takes some 40 MiB; for messages, the size of the text and a tenth of that.

    The index is made at the next search, because no search follows the last version of a log.

    Attributes:
        end: The number of bytes of the whole text.
    """

    __slots__ = ("_origin", "_places", "_text", "_unplaced", "end")

    def __init__(self) -> None:
        self._text = bytearray()
        self._origin = 0
        self._places: dict[bytes, int] = {}
        self._unplaced: list[tuple[int, bytes]] = []
        self.end = 0

    def append(self, new: bytes) -> SplicePiece:
        """Take in new text."""
        at = self.end
        self._text += new
        self.end += len(new)
        self._unplaced.append((at, new))
        if len(self._text) > 2 * WINDOW:
            self._place()
            self._forget()
        return SplicePiece(at, len(new))

    def _place(self) -> None:
        """Index the beginnings of strings, objects and lines in the new bytes."""
        for at, new in self._unplaced:
            last = -_APART
            for where in _beginnings(new, 0, len(new)):
                if where - last >= _APART and where + _KEY <= len(new):
                    self._places[new[where : where + _KEY]] = at + where
                    last = where or last  # place 0 may be no beginning: the next one is indexed, too
        self._unplaced.clear()

    def _forget(self) -> None:
        self._origin = self.end - WINDOW
        del self._text[:-WINDOW]
        self._places = {key: at for key, at in self._places.items() if at >= self._origin}

    def find(self, body: bytes, start: int, end: int) -> Iterable[tuple[int, SplicePiece]]:
        """The parts of a body that the text already has, in order: the position of each in the body, and its piece of
        the text."""
        self._place()
        if not self._places:
            return
        free = start
        # The search starts a little before ``start``: a part may begin there, with bytes that the version before also
        # has, and it is found only by its beginning.
        for begin in chain(_beginnings(body, max(0, start - _KEY), start), _beginnings(body, start, end)):
            if begin + _KEY <= free:
                continue
            where, there = begin, self._there(body, begin, end)
            while there is not None:
                at = there - self._origin
                last = where + common_head(body, self._text, where, at, end - where)
                first = max(free, where)  # but not before the end of the last match
                if first == where:
                    first -= common_tail(body, self._text, where, at, where - free)
                if last - first < FOUND:
                    break
                yield first, SplicePiece(there + first - where, last - first)
                # A string that begins as an earlier one (a screenshot after another one) is in the text from its first
                # difference on, which is no beginning.
                free = where = last
                there = self._there(body, where, end)

    def _there(self, body: bytes, where: int, end: int) -> int | None:
        return self._places.get(body[where : where + _KEY]) if where + _KEY <= end else None


def split(
    body: bytes, earlier: SpliceVersion, recent: Recent, append: Callable[[bytes], SplicePiece]
) -> tuple[VersionChange, SpliceVersion]:
    """The change of a version from the version before; and the version itself, with its places.

    Args:
        body: Its bytes.
        earlier: The version before it.
        recent: The newest part of the text.
        append: Appends new bytes to the text, and returns their position.
    """
    head = common_head(body, earlier.body)
    most = min(len(body), len(earlier.body)) - head
    tail = common_tail(body, earlier.body, len(body), len(earlier.body), most)
    head, tail = (each if each >= LEAST else 0 for each in (head, tail))
    end = len(body) - tail
    middle: list[SplicePiece] = []
    free = head
    # All matches are found before any byte is appended: a match never reaches into this version's own new bytes.
    for where, piece in list(recent.find(body, head, end)) if end - head >= _KEY else ():
        if where > free:
            middle.append(append(body[free:where]))
        middle.append(piece)
        free = where + piece.size
    if free < end:
        middle.append(append(body[free:end]))
    change = VersionChange(head, tail, tuple(joined(middle)))
    return change, SpliceVersion(body, applied(change, earlier.shape))


def applied(change: VersionChange, earlier: VersionShape) -> VersionShape:
    """The places of a version's bytes, made from those of the version before. Only the parts around the change are
    computed; the rest is copied."""
    pieces, ends = earlier
    first = bisect_right(ends, change.head)
    begun = ends[first - 1] if first else 0
    new = list(change.middle)
    if change.head > begun:
        new.insert(0, SplicePiece(pieces[first].start, change.head - begun))
    rest = earlier.size - change.tail
    last = bisect_right(ends, rest)
    if last < len(pieces):
        cut = rest - (ends[last - 1] if last else 0)
        new.append(SplicePiece(pieces[last].start + cut, pieces[last].size - cut))
        last += 1
    if first:  # the neighbours may be continued in the text
        first -= 1
        new.insert(0, pieces[first])
    if last < len(pieces):
        new.append(pieces[last])
        last += 1
    new = joined(new)
    begun = ends[first - 1] if first else 0
    middle = [begun + each for each in accumulate(size for _, size in new)]
    by = (middle[-1] if middle else begun) - (ends[last - 1] if last else 0)
    after = ends[last:] if not by else [each + by for each in ends[last:]]
    return VersionShape([*pieces[:first], *new, *pieces[last:]], [*ends[:first], *middle, *after])


def joined(pieces: Iterable[SplicePiece]) -> list[SplicePiece]:
    """The pieces without empty ones; pieces that follow each other in the text are joined."""
    found: list[SplicePiece] = []
    for piece in pieces:
        if found and sum(found[-1]) == piece.start:
            found[-1] = SplicePiece(found[-1].start, found[-1].size + piece.size)
        elif piece.size:
            found.append(piece)
    return found


def _beginnings(text: bytes, start: int, end: int) -> Iterable[int]:
    return chain((start,), map(_END, _BEGINNINGS.finditer(text, start, end)))
