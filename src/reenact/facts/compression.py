"""Content encodings: decode a body by its ``Content-Encoding`` while it arrives, up to a bound.

gzip and deflate come with Python; brotli and zstandard are used where their libraries are installed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from reenact.facts.interruptions import let_through

ENCODINGS = ("gzip", "x-gzip", "deflate", "br", "zstd")
"""The encodings this module knows."""

_STEP = 1024
_GZIP_BITS = 31


class Undone(NamedTuple):
    """Decoded bytes, and whether they are the whole body (False: cut off, damaged at the end, or past the bound)."""

    data: bytes
    whole: bool


class Decoder:
    """Undoes one or more encodings of one body, piece by piece.

    Args:
        encodings: Value of ``Content-Encoding``; empty and ``identity`` leave the body as it is.

    Attributes:
        known: Whether every encoding is known and its library at hand; if not, nothing is decoded.
        damaged: Whether the bytes so far were not valid in the encoding.
    """

    __slots__ = ("_stages", "damaged", "known")

    def __init__(self, encodings: str) -> None:
        stages = [
            _stage(name.strip().lower())
            for name in reversed(encodings.split(","))
            if name.strip().lower() not in ("", "identity")
        ]
        self.known = all(stage is not None for stage in stages)
        self.damaged = False
        self._stages = [stage for stage in stages if stage is not None]

    def feed(self, data: bytes, limit: int) -> bytes:
        """Decode further bytes, to at most about ``limit`` bytes. Bytes beyond the limit are dropped, and count as
        damage."""
        if not self.known or self.damaged:
            return b""
        for stage in self._stages:
            out = bytearray()
            # In small pieces, so that a compression bomb is noticed before it fills the memory.
            for at in range(0, len(data), _STEP):
                try:
                    out += stage(data[at : at + _STEP])
                except Exception as error:  # each library has its own error classes, and all of them mean damaged data
                    let_through(error)
                    self.damaged = True
                    break
                if len(out) > limit:
                    self.damaged = True
                    del out[limit:]
                    break
            data = bytes(out)
        return data


def undo(encodings: str, data: bytes, limit: int = 64 << 20) -> Undone | None:
    """Undo the encodings of a body, last applied first.

    Args:
        encodings: Value of ``Content-Encoding``.
        data: The encoded body; it may be cut off.
        limit: Most bytes to decode to.

    Returns:
        The decoded bytes, or None when an encoding is unknown, its library is absent, or nothing could be decoded.
    """
    decoder = Decoder(encodings)
    if not decoder.known:
        return None
    out = decoder.feed(data, limit)
    return None if decoder.damaged and not out else Undone(out, not decoder.damaged)


class _Inflater:
    """A decoder of gzip with several members, and of deflate with or without its wrapper."""

    __slots__ = ("_bits", "_engine", "_fresh")

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._engine = zlib.decompressobj(bits)
        self._fresh = True

    def __call__(self, data: bytes) -> bytes:
        out = b""
        while data:
            if self._engine.eof:
                if self._bits != _GZIP_BITS or not data.startswith(b"\x1f"):
                    break  # padding
                self._engine = zlib.decompressobj(self._bits)
            try:
                out += self._engine.decompress(data)
            except zlib.error:
                if self._bits != zlib.MAX_WBITS or not self._fresh:
                    raise
                self._bits = -zlib.MAX_WBITS
                self._engine = zlib.decompressobj(self._bits)
                out += self._engine.decompress(data)
            self._fresh = False
            data = self._engine.unused_data
        return out


def _library(*names: str) -> Any:
    """The first of some optional libraries, loaded when the first body needs it."""
    for name in names:
        try:
            return import_module(name)
        except ImportError:
            continue
    return None


def _stage(name: str) -> Callable[[bytes], bytes] | None:
    """The function that undoes one encoding; None for an unknown one, or if its library is missing."""
    feed: Callable[[bytes], bytes] | None = None
    if name in ("gzip", "x-gzip"):
        feed = _Inflater(_GZIP_BITS)
    elif name == "deflate":
        feed = _Inflater(zlib.MAX_WBITS)
    elif name == "br" and (library := _library("brotli", "brotlicffi")) is not None:
        decoder = library.Decompressor()
        feed = decoder.process if hasattr(decoder, "process") else decoder.decompress
    elif name == "zstd" and (library := _library("zstandard")) is not None:
        feed = library.ZstdDecompressor().decompressobj(read_across_frames=True).decompress
    return feed
