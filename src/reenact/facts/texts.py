"""Texts that a program reads without a call: variables of its environment, listings of folders; and their packed form.

A value is a byte for its sort, and a text. There are four sorts: absent (the variable is not set), a text, a text with
a removed credential (redaction keeps the rest, and a replay prefers today's value), and unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

ABSENT = b"0"
TEXT = b"1"
ERASED = b"3"
UNKNOWN = b""
"""The four beginnings of a value; the empty one is for an unknown value."""

_AGAIN = b"2"
_LENGTH = 4


def absent() -> bytes:
    """The value for an absent variable or listing."""
    return ABSENT


def known(text: str) -> bytes:
    """The value of a text."""
    return TEXT + text.encode("utf-8", "surrogateescape")


def text_of(value: bytes) -> str:
    """The text of a value; empty for a value without text."""
    return value[1:].decode("utf-8", "surrogateescape")


def pack(values: Sequence[bytes]) -> bytes:
    """A pack of values in a row. A value that equals the one before it takes one byte."""
    parts: list[bytes] = []
    before: bytes | None = None
    for value in values:
        if value == before:
            parts.append(_AGAIN)
        else:
            text = value[1:]
            parts += ((value[:1] or b"4"), len(text).to_bytes(_LENGTH, "big"), text)
        before = value
    return b"".join(parts)


def unpack(data: bytes) -> list[bytes]:
    """Read a pack back.

    Raises:
        ValueError: The data is no pack of this form.
    """
    values: list[bytes] = []
    at = 0
    while at < len(data):
        sort = data[at : at + 1]
        at += 1
        if sort == _AGAIN and values:
            values.append(values[-1])
            continue
        end = at + _LENGTH + int.from_bytes(data[at : at + _LENGTH], "big")
        if sort not in (ABSENT, TEXT, ERASED, b"4") or end > len(data) or at + _LENGTH > len(data):
            raise ValueError(f"a pack of {len(data)} bytes holds no texts")
        values.append(UNKNOWN if sort == b"4" else sort + data[at + _LENGTH : end])
        at = end
    return values


def cleaned(data: bytes, clean: Callable[[str], str]) -> bytes:
    """A pack with each text passed through ``clean``; a changed text is marked."""
    values = unpack(data)
    made: dict[bytes, bytes] = {}
    for value in values:
        if value not in made:
            text = text_of(value)
            better = clean(text) if value[:1] == TEXT else text
            made[value] = value if better == text else ERASED + better.encode("utf-8", "surrogateescape")
    return pack([made[value] for value in values])
