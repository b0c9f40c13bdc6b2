"""The lines of one run, each chained to the lines before it: no single line can be altered, left out, added or moved.

A line is a JSON object whose last field is its ``chain``: the first 32 hexadecimal digits of a SHA-256. The SHA-256 is
taken over the chain of the line before, and over the bytes of this line up to the comma before ``chain``. The chain
starts with a digest of the member's name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.jsontext import writer
from reenact.store.bundles import limits

DIGITS: Final = 32
_LONG: Final = 1 << 20
"""The size, in bytes, from which a line is checked before it is parsed, because a parsed line may take a hundred times
as much memory."""
_BETWEEN: Final = b',"chain":"'
_SUFFIX: Final = len(_BETWEEN) + DIGITS + 2
_read = json.JSONDecoder().raw_decode
_plain = writer(ascii_only=False, nan=True)
_escaped = writer(ascii_only=True, nan=True)


def chained(name: str, records: Iterable[dict[str, Json]]) -> Iterator[bytes]:
    """The lines of a member.

    Args:
        name: The name of the member.
        records: The content of each line.

    Raises:
        ValueError, TypeError: A record is not JSON-able.
    """
    link = _first(name)
    for record in records:
        try:
            text = _plain(record).encode()
        except UnicodeEncodeError:  # half of a surrogate pair: the whole record is written with escapes
            text = _escaped(record).encode()
        link = _next(link, text[:-1])
        yield text[:-1] + _BETWEEN + link + b'"}\n'


def unchained(name: str, data: bytes) -> Iterator[tuple[int, Any]]:
    """The content of a member's lines, each with its number, from 1.

    Raises:
        ValueError: A line was changed after it was written; the message gives its number.
        RecursionError: A line is nested too deeply.
    """
    return ((number, value_of(number, text)) for number, text in texts(name, data))


def texts(name: str, data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines of a member, numbered from 1, without their chain, which has been checked.

    Raises:
        ValueError: A line is not chained to the lines before it, or is too long. The message says which line.
    """
    link = _first(name)
    start = number = 0
    while start < len(data):
        number += 1
        end = data.find(b"\n", start)
        line = data[start : len(data) if end < 0 else end]
        if end < 0 or len(line) > limits.LINE:
            raise ValueError(f"line {number} does not end, or is too long")
        start = end + 1
        text = line[:-_SUFFIX]
        link = _next(link, text)
        if line[-_SUFFIX:] != _BETWEEN + link + b'"}':
            raise ValueError(f"line {number} is not chained to the lines before it")
        yield number, text + b"}"


def value_of(number: int, line: bytes) -> Any:
    """The content of a line of ``texts``: the value that ``json.loads`` gives, for UTF-8 without surrounding text.

    Raises:
        ValueError: The line is no JSON, or would be too large in memory; the message has its ``number``.
        RecursionError: It is nested too deeply.
    """
    if len(line) > _LONG and sum(map(line.count, (b",", b"[", b"{"))) > limits.PARTS:
        raise ValueError(f"line {number} has more than {limits.PARTS} values")
    try:
        text = line.decode("utf-8", "surrogatepass")
        value, end = _read(text)
    except ValueError as error:
        raise ValueError(f"line {number} is no JSON: {error}") from None
    if end != len(text):
        raise ValueError(f"line {number} is no JSON: something stands behind it")
    return value


def last_link(lines: list[bytes], name: str) -> str:
    """The chain of the last line, which is a digest over all lines. ``lines`` may also be one item: the whole
    member."""
    return lines[-1][-DIGITS - 3 : -3].decode() if lines else _first(name).decode()


def _first(name: str) -> bytes:
    return hashlib.sha256(b"reenact " + name.encode()).hexdigest()[:DIGITS].encode()


def _next(link: bytes, text: bytes) -> bytes:
    return hashlib.sha256(link + text).hexdigest()[:DIGITS].encode()
