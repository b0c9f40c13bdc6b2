"""Spans: places in a text that hold a credential, put in order, and a budget for the search."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.wraps import rewrapped

_BY_VALUE = "v"
"""``facts.credentials.CredentialSort.VALUE``: of two equal spans, the one of this class stays."""
_IN_STRING = lazy_regex(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)


class EncodedText(NamedTuple):
    """The text under an encoding that a span contains.

    Attributes:
        codec: The encoding (``facts.wraps``).
        raw: The encoded text, as the encoding has made it.
        text: The decoded text.
        spans: Credentials in the text.
        quoted: The number of percent-encodings around the encoded text.
    """

    codec: str
    raw: bytes
    text: bytes
    spans: tuple[CredentialSpan, ...]
    quoted: int = 0


class CredentialSpan(NamedTuple):
    """A credential in a text: ``text[start:end]``, its class, and whether its replacement must be a number.

    Attributes:
        wrapped: The encoded text with credentials inside, if the span is such a text and not one credential.
        tight: Whether its replacement must have the same length.
    """

    start: int
    end: int
    sort: str
    digits: bool = False
    wrapped: EncodedText | None = None
    tight: bool = False


class SearchExhausted(Exception):
    """The text has more candidates than its size allows, so it was probably made to be slow to search."""


Change = Callable[[bytes, CredentialSpan], bytes]


def replaced(
    data: bytes,
    spans: list[CredentialSpan],
    change: Change,
    after: Callable[[bytes], bytes] | None = None,
    exact: bool = False,
) -> bytes:
    """``data`` with each span replaced by what ``change`` makes of it.

    Args:
        data: The text.
        spans: In order, never overlapping.
        change: Gives the replacement of a credential.
        after: Applied to each text behind an encoding, when its spans have been replaced.
        exact: Whether a decoded text must keep its length; a text that cannot keep it is changed as a whole.
    """
    parts = []
    at = 0
    for span in spans:
        parts.append(data[at : span.start])
        raw = data[span.start : span.end]
        parts.append(change(raw, span) if span.wrapped is None else _within(raw, span, change, after, exact))
        at = span.end
    parts.append(data[at:])
    return b"".join(parts)


def _within(
    raw: bytes, span: CredentialSpan, change: Change, after: Callable[[bytes], bytes] | None, exact: bool
) -> bytes:
    wrapped = span.wrapped
    assert wrapped is not None
    text = replaced(wrapped.text, list(wrapped.spans), change, after, exact)
    if after is not None:
        text = after(text)
    if text == wrapped.text:
        return raw
    made = rewrapped(wrapped.codec, text, wrapped.raw, wrapped.quoted)
    if exact and len(made) != len(raw):
        return change(raw, CredentialSpan(span.start, span.end, "n", tight=True))
    return made


def string_end(data: bytes, at: int, limit: int) -> int:
    """The end of the JSON string around ``at``; ``limit`` if the string goes on beyond that."""
    found = _IN_STRING.match(data, at, limit)
    return limit if found is None else found.end()


class Budget:
    """Counts candidates, and the bytes of the searched texts.

    Args:
        left: The number of candidates that is left.
        room: The number of bytes that may be searched.
    """

    __slots__ = ("left", "room")

    def __init__(self, left: int, room: int = 0) -> None:
        self.left = left
        self.room = room

    def spend(self, amount: int = 1) -> None:
        """Count some candidates; raises ``SearchExhausted`` when there are too many."""
        self.left -= amount
        if self.left < 0:
            raise SearchExhausted

    def read(self, size: int) -> None:
        """Count the bytes of a text, which may have candidates of its own; raises ``SearchExhausted`` when
        there are too many."""
        self.room -= size
        self.left += size // 8
        if self.room < 0:
            raise SearchExhausted


def without_overlaps(spans: list[CredentialSpan]) -> list[CredentialSpan]:
    """The first of overlapping spans; where they begin together, the longer one (a name outranks a shape in it), and of
    equal ones the value of a variable. If a dropped span ends later than the kept one, the kept one is made longer."""
    kept: list[CredentialSpan] = []
    end = -1
    for span in sorted(spans, key=lambda one: (one.start, -one.end, one.sort != _BY_VALUE)):
        if span.start >= end:
            kept.append(span)
            end = span.end
        elif span.end > end and span.wrapped is None:
            last = kept[-1]
            kept[-1] = CredentialSpan(
                last.start, span.end, last.sort if last.wrapped is None else span.sort, tight=last.tight
            )
            end = span.end
    return kept


def apart(spans: list[CredentialSpan]) -> list[CredentialSpan]:
    """Spans in order. Two overlapping spans become one that covers both, unless one contains the other."""
    kept: list[CredentialSpan] = []
    for span in sorted(spans, key=lambda one: (one.start, -one.end, one.sort != _BY_VALUE)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
        elif span.end > kept[-1].end:
            sort = span.sort if kept[-1].sort == _BY_VALUE else kept[-1].sort
            kept[-1] = CredentialSpan(kept[-1].start, span.end, sort)
    return kept
