"""Content encodings: undo what ``Content-Encoding`` says was done to a body, within a bound.

gzip and deflate come with Python; brotli and zstandard are used where their libraries are installed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any


class Undone(tuple[bytes, bool]):
    """Decoded bytes, and whether they are the whole body (False: cut off, damaged at the end, or past the bound)."""

    __slots__ = ()

    @property
    def data(self) -> bytes:
        """What could be decoded."""
        return self[0]

    @property
    def whole(self) -> bool:
        """Whether that is everything."""
        return self[1]


def undo(encodings: str, data: bytes, limit: int = 64 << 20) -> Undone | None:
    """Undo the encodings of a body, last applied first.

    Args:
        encodings: Value of ``Content-Encoding``; empty and ``identity`` leave the body as it is.
        data: The encoded body; it may be cut off.
        limit: Most bytes to decode to: compression bombs end there.

    Returns:
        The decoded bytes, or None when an encoding is unknown, its library is absent, or nothing could be decoded.
    """
    whole = True
    for name in reversed([part.strip().lower() for part in encodings.split(",")]):
        if name in ("", "identity"):
            continue
        decoder = _DECODERS.get(name)
        if decoder is None:
            return None
        try:
            undone = decoder(data, limit)
        except Exception:  # each library has errors of its own, and all mean the same
            return None
        if undone is None or (data and not undone[0] and not undone[1]):
            return None
        data, complete = undone
        whole = whole and complete
    return Undone((data, whole))


def _inflate(data: bytes, limit: int, bits: int) -> tuple[bytes, bool]:
    out = bytearray()
    rest = data
    while rest:
        decoder = zlib.decompressobj(bits)
        try:
            out += decoder.decompress(rest, limit - len(out) + 1)
        except zlib.error:
            return bytes(out), False
        if len(out) > limit or not decoder.eof:
            return bytes(out[:limit]), False
        # Members may follow each other in gzip; what is not one is padding.
        rest = decoder.unused_data if bits == _GZIP else b""
        if not rest.startswith(b"\x1f\x8b"):
            break
    return bytes(out), True


_GZIP = 31


def _gzip(data: bytes, limit: int) -> tuple[bytes, bool]:
    return _inflate(data, limit, _GZIP)


def _deflate(data: bytes, limit: int) -> tuple[bytes, bool]:
    found = _inflate(data, limit, 15)
    return found if found[0] or found[1] else _inflate(data, limit, -15)


def _library(name: str) -> Any:
    """One of two optional libraries, loaded when the first body needs it."""
    try:
        return import_module(name)
    except ImportError:
        return None


def _brotli(data: bytes, limit: int) -> tuple[bytes, bool] | None:
    library = _library("brotli") or _library("brotlicffi")
    if library is None:
        return None
    decoder = library.Decompressor()
    # Fed in small pieces, so that a bomb is noticed before it has gone off.
    return _piecewise(decoder.process if hasattr(decoder, "process") else decoder.decompress, data, limit, 512)


def _zstd(data: bytes, limit: int) -> tuple[bytes, bool] | None:
    library = _library("zstandard")
    if library is None:
        return None
    decoder = library.ZstdDecompressor().decompressobj(read_across_frames=True)
    return _piecewise(decoder.decompress, data, limit, 512)


def _piecewise(feed: Callable[[bytes], bytes], data: bytes, limit: int, step: int) -> tuple[bytes, bool]:
    out = bytearray()
    for at in range(0, len(data), step):
        try:
            out += feed(data[at : at + step])
        except Exception:
            return bytes(out), False
        if len(out) > limit:
            return bytes(out[:limit]), False
    return bytes(out), True


_DECODERS: dict[str, Callable[[bytes, int], tuple[bytes, bool] | None]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
