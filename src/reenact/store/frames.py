"""Text that grows, compressed portion by portion: each portion refers to earlier ones, back to the beginning of its
frame.

A frame is a sequence of portions that is unpacked from its beginning. Its length is bounded, so that little has to be
unpacked to read any part. Then the frame is sealed: one portion replaces all of its portions. This portion is smaller,
because all text is packed at once and one row wastes less space than many.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple
from zlib import crc32

DEFLATED = 1
"""The codec of a portion: raw deflate, flushed after each portion. The row of each portion has this number."""

FRAME = 128 << 10
"""The number of bytes of text after which a frame ends."""

_PORTION = 64 << 10
_LEVEL = 6
_SEALED_LEVEL = 9


class Portion(NamedTuple):
    """Some text in its stored form.

    Attributes:
        start: The position of its first byte in the text.
        first: The position of the first byte of its frame.
        size: The number of its bytes, unpacked.
        codec: Its packing.
        data: The stored bytes.
        crc: CRC-32 of the unpacked bytes, started with their position.
    """

    start: int
    first: int
    size: int
    codec: int
    data: bytes
    crc: int


class StreamPacker:
    """Packs one text as it grows. A packer takes about 0.5 MB of memory.

    Args:
        end: The number of bytes of the text in frames that do not change any more.
    """

    __slots__ = ("_deflate", "_end", "_first", "_text")

    def __init__(self, end: int = 0) -> None:
        self._end = end
        self._begin()

    def pack(self, text: bytes) -> list[Portion]:
        """Pack the next part of the text. A portion that begins a frame replaces the stored portions within its
        size."""
        found: list[Portion] = []
        for at in range(0, len(text), _PORTION):
            some = text[at : at + _PORTION]
            self._text.append(some)
            data = self._deflate.compress(some) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
            found.append(Portion(self._end, self._first, len(some), DEFLATED, data, crc32(some, self._end)))
            self._end += len(some)
            if self._end - self._first >= FRAME:
                found = self._sealed(found)
        return found

    def seal(self) -> list[Portion]:
        """End the current frame. Returns the portion that replaces the portions of the frame, if that saves space."""
        return self._sealed([]) if self._text else []

    def _sealed(self, found: list[Portion]) -> list[Portion]:
        if len(self._text) > 1:
            text = b"".join(self._text)
            deflate = zlib.compressobj(_SEALED_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
            data = deflate.compress(text) + deflate.flush()
            found = [each for each in found if each.first != self._first]
            found.append(Portion(self._first, self._first, len(text), DEFLATED, data, crc32(text, self._first)))
        self._begin()
        return found

    def _begin(self) -> None:
        self._first = self._end
        self._text: list[bytes] = []
        self._deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)


def unpack(portions: list[Portion]) -> bytes:
    """The text of a frame, from its first portion up to the first damaged portion."""
    found: list[bytes] = []
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    for start, _, size, codec, data, crc in portions:
        if codec != DEFLATED:
            break
        try:
            text = inflate.decompress(data, size + 1)
        except zlib.error:
            break
        if len(text) != size or crc32(text, start) != crc:
            break
        found.append(text)
    return b"".join(found)
