"""Bodies that a SQLite store keeps as changes: the row of a body, and how the body is put together again.

A **text** holds the new parts of one log's bodies in the order in which they came. Its frames lie in ``frame``, by
``text << 32 | place``. The row of a body names its text, the row of the earlier version (or none), and the change from
that version. The row names no part of another text. So a text and all its bodies belong to one log and are removed
together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from reenact.store.frames import Portion, unpack
from reenact.store.splices import EMPTY, SplicePiece, VersionChange, VersionShape, applied

SPLICED = 2
"""The codec of a payload's row that is stored as a change."""

SHIFT = 32
LOW = (1 << SHIFT) - 1

_MORE = 0x80
_TEXT_BYTES = 8 << 20
"""The most bytes of unpacked frames that a reader caches."""
_SHAPES = 64
_NONE = b""

Rows = Callable[[str, Sequence[Any]], list[Any]]
"""Gives all rows of a query."""


class Splice(NamedTuple):
    """The row of a body.

    Attributes:
        text: The number of the text.
        before: The row of the version before; 0 if there is none.
        change: The change from that version.
    """

    text: int
    before: int
    change: VersionChange

    def pack(self) -> bytes:
        """The data of the row: integers in groups of seven bits, the lowest group first. The beginning of a piece is
        counted from the end of the piece before."""
        change = self.change
        numbers = [self.text, self.before, change.head, change.tail]
        at = 0
        for start, size in change.middle:
            by = start - at
            numbers += (by << 1 if by >= 0 else (-by << 1) - 1, size)
            at = start + size
        found = bytearray()
        for number in numbers:
            left = number
            while left >= _MORE:
                found.append(left & (_MORE - 1) | _MORE)
                left >>= 7
            found.append(left)
        return bytes(found)


def unpack_splice(data: bytes) -> Splice:
    """The splice from the bytes that ``Splice.pack`` made.

    Raises:
        ValueError: The bytes are damaged.
    """
    numbers: list[int] = []
    number = shift = 0
    for byte in data:
        number |= (byte & (_MORE - 1)) << shift
        shift += 7
        if byte < _MORE:
            numbers.append(number)
            number = shift = 0
    if shift or len(numbers) < 4 or len(numbers) % 2:
        raise ValueError("a change that is none")
    pieces = []
    at = 0
    for by, size in zip(numbers[4::2], numbers[5::2], strict=True):
        start = at + (by >> 1 if not by & 1 else -((by + 1) >> 1))
        if start < 0 or start + size > LOW:
            raise ValueError("a piece beyond its text")
        pieces.append(SplicePiece(start, size))
        at = start + size
    return Splice(numbers[0], numbers[1], VersionChange(numbers[2], numbers[3], tuple(pieces)))


class SplicedBodies:
    """Puts spliced bodies together again. Any thread may use it: its caches are never changed, only replaced.

    Args:
        rows: Gives all rows of a query.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._frames: dict[int, bytes] = {}
        self._last = 0, _NONE
        self._shapes: dict[tuple[int, int], VersionShape] = {}

    def body(self, data: bytes) -> bytes:
        """The bytes of a body.

        Args:
            data: The data of its row.

        Raises:
            ValueError: The row, or a row or a text that it needs, is damaged or gone.
        """
        return b"".join(self.parts(data))

    def parts(self, data: bytes) -> Iterator[bytes]:
        """The bytes of a body, piece by piece.

        Raises:
            ValueError: As ``body``.
        """
        splice = unpack_splice(data)
        for piece in self.pieces(splice):
            yield from self._parts(splice.text, *piece)

    def pieces(self, splice: Splice) -> Sequence[SplicePiece]:
        """All pieces of a body.

        Raises:
            ValueError: As ``body``.
        """
        return self._shape(splice).pieces

    def text(self, number: int, start: int, size: int) -> bytes:
        """A part of a text, with zeros in the place of damaged or missing bytes."""
        found = bytearray()
        while len(found) < size:
            try:
                for part in self._parts(number, start + len(found), size - len(found)):
                    found += part
            except ValueError:
                found = found.ljust(min(size, self._next(number, start + len(found)) - start), b"\0")
        return bytes(found)

    def end(self, number: int) -> int:
        """The number of bytes of a text."""
        rows = self._rows(
            "SELECT (id & 4294967295) + size FROM frame WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1",
            (number << SHIFT, number << SHIFT | LOW),
        )
        return int(rows[0][0]) if rows else 0

    def _next(self, number: int, place: int) -> int:
        """The position at which the next frame of a text begins."""
        rows = self._rows(
            "SELECT first FROM frame WHERE id > ? AND id <= ? AND first = id & 4294967295 ORDER BY id LIMIT 1",
            (number << SHIFT | place, number << SHIFT | LOW),
        )
        return int(rows[0][0]) if rows else LOW

    def _parts(self, number: int, start: int, size: int) -> Iterator[bytes]:
        """A part of a text, a frame at a time."""
        address, end = number << SHIFT | start, (number << SHIFT | start) + size
        frame, text = self._last
        while address < end:
            if not frame <= address < frame + len(text):
                frame, text = self._last = self._frame(address)
            part = text[address - frame : end - frame]
            yield part
            address += len(part)

    def _shape(self, splice: Splice) -> VersionShape:
        changes: list[tuple[int, VersionChange]] = []
        shape, row = EMPTY.shape, splice.before
        while row:
            known = self._shapes.get((splice.text, row))
            if known is not None:
                shape = known
                break
            rows = self._rows("SELECT codec, data FROM payload WHERE id = ?", (row,))
            if not rows or rows[0][0] != SPLICED:
                raise ValueError("a version that another one changes is gone")
            before = unpack_splice(rows[0][1])
            if before.text != splice.text or before.before >= row:
                raise ValueError("a change of another text")
            changes.append((row, before.change))
            row = before.before
        for _, change in reversed(changes):
            shape = _changed(change, shape)
        if changes:
            kept = self._shapes if len(self._shapes) < _SHAPES else {}
            self._shapes = {**kept, (splice.text, changes[0][0]): shape}
        return _changed(splice.change, shape)

    def _frame(self, address: int) -> tuple[int, bytes]:
        """The frame that holds an address: the address of its first byte, and its content."""
        rows = self._rows(
            "SELECT first FROM frame WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1",
            (address >> SHIFT << SHIFT, address),
        )
        if not rows or rows[0][0] > address & LOW:
            raise ValueError("text that is gone")
        frame = address >> SHIFT << SHIFT | rows[0][0]
        text = self._frames.get(frame, _NONE)
        if address >= frame + len(text):  # the frame has grown since it was unpacked
            text = self._unpacked(frame)
            if address >= frame + len(text):
                raise ValueError("text that is damaged")
        return frame, text

    def _unpacked(self, frame: int) -> bytes:
        rows = self._rows(
            "SELECT id & 4294967295, first, size, codec, data, crc FROM frame "
            "WHERE id BETWEEN ? AND ? AND first = ? ORDER BY id",
            (frame, frame | LOW, frame & LOW),
        )
        text = unpack([Portion(*row) for row in rows])
        known = self._frames if sum(map(len, self._frames.values())) < _TEXT_BYTES else {}
        self._frames = {**known, frame: text}
        return text


def _changed(change: VersionChange, shape: VersionShape) -> VersionShape:
    if change.head + change.tail > shape.size:
        raise ValueError("a change of something longer")
    return applied(change, shape)
