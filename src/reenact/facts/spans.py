"""Spans: places in a text that hold a credential, put in order, and a budget for looking for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

_IN_STRING = re.compile(rb'(?:[^"\\]|\\.)*+', re.DOTALL)


class Span(NamedTuple):
    """A credential in a text: ``text[start:end]``, its class, and whether it must keep being a number."""

    start: int
    end: int
    sort: str
    digits: bool = False


class Exhausted(Exception):
    """The text holds more candidates than its size allows for: it was made to be slow."""


def replaced(data: bytes, spans: list[Span], change: Callable[[bytes, Span], bytes]) -> bytes:
    """``data`` with each span replaced by what ``change`` makes of it."""
    parts = []
    at = 0
    for span in spans:
        parts.append(data[at : span.start])
        parts.append(change(data[span.start : span.end], span))
        at = span.end
    parts.append(data[at:])
    return b"".join(parts)


def string_end(data: bytes, at: int, limit: int) -> int:
    """Where the string of JSON ends in which ``at`` stands; ``limit`` where it goes on beyond it."""
    found = _IN_STRING.match(data, at, limit)
    return limit if found is None else found.end()


class Budget:
    """Counts candidates.

    Args:
        left: How many there may be.
    """

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, amount: int = 1) -> None:
        """Count some; raises ``Exhausted`` when there are too many."""
        self.left -= amount
        if self.left < 0:
            raise Exhausted


def without_overlaps(spans: list[Span]) -> list[Span]:
    """The first of overlapping spans; where they begin together, the longer one (a name outranks a shape in it)."""
    kept: list[Span] = []
    end = -1
    for span in sorted(spans, key=lambda one: (one.start, -one.end)):
        if span.start >= end:
            kept.append(span)
            end = span.end
    return kept
