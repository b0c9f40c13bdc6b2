"""Reading long text and bytes piece by piece, as ``facts.large_values`` has written them; no second copy is made."""

from __future__ import annotations

import codecs
from binascii import a2b_base64
from collections.abc import Iterable, Iterator
from io import BytesIO, StringIO

from reenact.facts.jsontext import parsed
from reenact.facts.large_values import Large

_BYTES = b'{"~bytes":"'
_TEXT = b'"'
_LONGEST_ESCAPE = 6


def read_pieces(pieces: Iterable[bytes]) -> Large | bytes:
    """A value from its bytes as data: text and bytes are restored, other data stays bytes.

    Args:
        pieces: All of its bytes, cut anywhere except within the first sixteen.

    Raises:
        ValueError: The pieces are not the encoding of text or bytes.
    """
    left = iter(pieces)
    first = next(left, b"")
    if first.startswith(_BYTES):
        return Large(_bytes(_behind(_BYTES, first, left)))
    if first.startswith(_TEXT):
        return Large(_text(_behind(_TEXT, first, left)))
    whole = BytesIO(first)
    whole.seek(0, 2)
    for piece in left:
        whole.write(piece)
    return whole.getvalue()


def _behind(lead: bytes, first: bytes, left: Iterable[bytes]) -> Iterator[bytes]:
    yield first[len(lead) :]
    yield from left


def _bytes(pieces: Iterable[bytes]) -> bytes:
    found, rest = BytesIO(), b""
    for piece in pieces:
        data = rest + piece
        end = (len(data) - 2) // 4 * 4 if len(data) > 2 else 0  # the two bytes of the end may be split over pieces
        found.write(a2b_base64(data[:end], strict_mode=True) if end else b"")
        rest = data[end:]
    if rest[-2:] != b'"}':
        raise ValueError("bytes without an end")
    found.write(a2b_base64(rest[:-2], strict_mode=True) if len(rest) > 2 else b"")
    return found.getvalue()


def _text(pieces: Iterable[bytes]) -> str:
    found, rest, decoder = StringIO(), "", codecs.getincrementaldecoder("utf-8")()
    for piece in pieces:
        text = rest + decoder.decode(piece)
        end = _whole(text[:-1])  # the last character may be the quote at the end
        found.write(parsed(f'"{text[:end]}"'))
        rest = text[end:]
    if rest[-1:] != '"' or decoder.decode(b"", final=True):
        raise ValueError("text without an end")
    found.write(parsed(f'"{rest}'))
    return found.getvalue()


def _whole(text: str) -> int:
    """The length of the text up to an escape that is cut; the whole length where none is cut."""
    last = text.rfind("\\", max(0, len(text) - _LONGEST_ESCAPE))
    if last < 0:
        return len(text)
    first = last
    while first and text[first - 1] == "\\":
        first -= 1
    if (last - first) % 2:  # the second backslash of a pair begins no escape
        return len(text)
    size = _LONGEST_ESCAPE if text[last + 1 : last + 2] == "u" else 2
    return last if len(text) - last < size else len(text)
