"""Large values: long text and bytes of the program, written as data piece by piece, so that no second copy is made.

Text and bytes are immutable, so the recorder may hold the program's own object until it is written. Of a value that is
too long for a recording, only size and digest are kept.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, TypeGuard

from reenact.facts.late import late

if TYPE_CHECKING:
    from reenact.facts.scalars import write_text
else:
    write_text = late("reenact.facts.scalars", "write_text")

LARGE = 8 << 20
"""Characters or bytes from which on a value is written in pieces."""

_PIECE = 3 << 18
"""Characters or bytes of a piece: a multiple of three, so that base64 has no padding between pieces."""


class Large:
    """A value as ``facts.encoding.encode`` writes it: the pieces of text and bytes are made again at each read.

    Its parts are its content: for bytes the bytes themselves, and not their base64.

    Args:
        value: Exactly ``str`` or ``bytes``; for any other value, the pieces of its encoding.

    Attributes:
        value: As given.
        least: A lower bound of its bytes as data, known without reading it.
    """

    __slots__ = ("_patches", "_size", "least", "value")

    def __init__(self, value: str | bytes | tuple[bytes, ...]) -> None:
        self.value = value
        if isinstance(value, tuple):
            self.least = sum(map(len, value))
        else:
            self.least = len(value) if isinstance(value, str) else _size_of_bytes(value)
        self._size = -1 if isinstance(value, str) else self.least
        self._patches: Mapping[int, bytes] = {}

    def __len__(self) -> int:
        """The number of its bytes as data. To count them, text is read once."""
        if self._size < 0:
            self._size = sum(map(len, self.pieces()))
        return self._size

    def pieces(self) -> Iterator[bytes]:
        """Its bytes as data, in pieces of about a megabyte, always cut at the same places."""
        tag = self._tag()
        return _tagged(tag, self.parts()) if tag else self.parts()

    def parts(self) -> Iterator[bytes]:
        """The parts, which are searched for credentials."""
        patches = self._patches
        return (patches.get(n, part) for n, part in enumerate(self._unpatched())) if patches else self._unpatched()

    def patched(self, patches: Mapping[int, bytes]) -> Large:
        """The same value with other bytes in the place of some parts, as many as those parts have."""
        found = Large(self.value)
        found._size, found._patches = self._size, patches
        return found

    def whole(self) -> bytes:
        """All of its bytes."""
        return b"".join(self.pieces())

    def _tag(self) -> str:
        """The tag that marks base64; empty where the value is not written in base64."""
        value = self.value
        if not isinstance(value, str):
            return "bytes" if isinstance(value, bytes) else ""
        parts = (value[at : at + _PIECE] for at in range(0, len(value), _PIECE))
        return "" if value.isascii() or all(write_text(part) is part for part in parts) else "str"

    def _unpatched(self) -> Iterator[bytes]:
        value = self.value
        if isinstance(value, tuple):
            return iter(value)
        if isinstance(value, bytes):
            return (value[at : at + _PIECE] for at in range(0, len(value), _PIECE))
        return _surrogates(value) if self._tag() else _quoted(value)


class Withheld:
    """A value of which only size and digest are kept.

    Args:
        size: Its bytes, as data.
        digest: Its digest, in hexadecimal digits; empty if it has yet to be computed from ``source``.
        source: The value itself, until its digest is made.
    """

    __slots__ = ("digest", "size", "source")

    def __init__(self, size: int, digest: str = "", source: Large | bytes = b"") -> None:
        self.size = size
        self.digest = digest
        self.source = source

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return is_withheld(other) and self.digest != "" and (self.size, self.digest) == (other.size, other.digest)

    def __hash__(self) -> int:
        return hash(self.size)

    def __len__(self) -> int:
        """Its bytes, as data."""
        return self.size

    def pieces(self) -> Iterator[bytes]:
        """The pieces from which the digest is made."""
        return iter((self.source,)) if isinstance(self.source, bytes) else self.source.pieces()


def is_large(body: object) -> TypeGuard[Large]:
    """Whether the object that represents a value's bytes is written in pieces."""
    return type(body) is Large


def is_withheld(body: object) -> TypeGuard[Withheld]:
    """Whether the object that represents a value's bytes is one that is not kept."""
    return type(body) is Withheld


def in_pieces(value: Any) -> Any:
    """The value that is written in pieces, in place of its bytes as data; None for other values."""
    kind = type(value)
    return Large(value) if (kind is bytes or kind is str) and len(value) >= LARGE else None


def _size_of_bytes(value: bytes) -> int:
    return len(b'{"~bytes":""}') + (len(value) + 2) // 3 * 4


def _tagged(name: str, parts: Iterator[bytes]) -> Iterator[bytes]:
    lead, left = f'{{"~{name}":"'.encode(), b""
    for part in parts:
        data = left + part if left else part
        end = len(data) - len(data) % 3
        yield lead + base64.b64encode(data[:end] if end < len(data) else data)
        lead, left = b"", data[end:]
    yield lead + base64.b64encode(left) + b'"}'


def _surrogates(value: str) -> Iterator[bytes]:
    for at in range(0, len(value), _PIECE):
        yield value[at : at + _PIECE].encode("utf-8", "surrogatepass")


def _quoted(value: str) -> Iterator[bytes]:
    lead = b'"'
    for at in range(0, len(value), _PIECE):
        yield lead + encode_basestring(value[at : at + _PIECE])[1:-1].encode()
        lead = b""
    yield lead + b'"'
