"""Folds texts of rows that are equal except for their numbers: a row stores only the differences between its text and
the first text of the same kind in the log.

Rows of one agent's calls differ in time, place and digest, and in little else. Two texts are of one kind when they are
the same with all numbers and digests taken out. The first text of a kind is stored whole, and later rows name its
event. So a reader needs only one other row for each row, and keeps that one in its cache. A folded text cannot be taken
for JSON: it begins with a control character, which JSON never holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from reenact.facts.lazy_regex import lazy_regex
from reenact.store.schema import LOW

FOLDED = "\x1e"
"""The beginning of a text that names another row."""

_NEXT = "\x1f"
_HOLE = lazy_regex("([0-9a-f]{32}|[0-9]+)")
"""The parts in which texts of one kind differ: digests and numbers."""
_KINDS = 256
"""The most kinds of texts of one log that are remembered."""


class FirstText(NamedTuple):
    """The first text of a kind.

    Attributes:
        number: The number of its event.
        holes: Its numbers and digests.
    """

    number: int
    holes: list[str]


class ColumnFold:
    """Folds the texts of one column of a log's events. The changes of a batch count only after ``commit``."""

    __slots__ = ("_done", "_kinds", "_known")

    def __init__(self) -> None:
        self._known: dict[str, FirstText] = {}
        self._kinds: dict[int, str] = {}
        self._done: list[tuple[bool, str, FirstText]] = []  # the additions (True) and removals of the batch, in order

    def fold(self, number: int, text: str, has_row: Callable[[int], bool]) -> str:
        """The text of an event's row in its stored form.

        Args:
            number: The number of the event.
            text: The text of its row.
            has_row: Whether an event has a row: its batch may have failed, and then no text may refer to it. Called
                once for each kind.
        """
        parts = _HOLE.split(text)
        holes, kind = parts[1::2], "\0".join(parts[::2])
        known = self._known.get(kind)
        if known is None:
            if len(self._known) < _KINDS and has_row(number):
                self._known[kind] = known = FirstText(number, holes)
                self._kinds[number] = kind
                self._done.append((True, kind, known))
            return text
        own = [hole if hole != other else "" for hole, other in zip(holes, known.holes, strict=True)]
        folded = f"{FOLDED}{known.number}{_NEXT}{_NEXT.join(own)}".rstrip(_NEXT)
        return folded if len(folded) < len(text) else text

    def is_first(self, number: int) -> bool:
        """Whether other texts may refer to the text of an event."""
        return number in self._kinds

    def drop(self, number: int) -> None:
        """Note that the text of an event will change, so that no later text is folded onto it."""
        kind = self._kinds.pop(number)
        self._done.append((False, kind, self._known.pop(kind)))

    def commit(self) -> None:
        """Called when the batch is committed."""
        self._done.clear()

    def roll_back(self) -> None:
        """Called when the batch has failed."""
        for added, kind, known in reversed(self._done):
            if added:
                del self._known[kind], self._kinds[known.number]
            else:
                self._known[kind], self._kinds[known.number] = known, kind
        self.commit()


def first_of(text: str | None, address: int) -> int | None:
    """The address of the event to whose text a folded text refers; None for a text that is whole or damaged."""
    if type(text) is not str or text[:1] != FOLDED:
        return None
    number = text[1:].partition(_NEXT)[0]
    return address & ~LOW | int(number) if number.isdecimal() and len(number) <= 10 else None


def parts_of(text: str) -> list[str]:
    """The first text of a kind as ``unfolded`` needs it: the fixed parts and the holes (numbers and digests) in
    turn."""
    return _HOLE.split(text)


def unfolded(text: str, parts: list[str]) -> str:
    """The whole text of a folded text.

    Args:
        text: The stored text.
        parts: The parts (``parts_of``) of the text to which the stored text refers.

    Raises:
        ValueError: The text is damaged.
    """
    own = text.split(_NEXT)[1:]
    if 2 * len(own) >= len(parts):
        raise ValueError("more numbers than in the text that it is like")
    found = parts.copy()
    for at, hole in enumerate(own):
        if hole:
            found[2 * at + 1] = hole
    return "".join(found)


def whole(text: str | None, first: str | None) -> str | None:
    """The whole text of a text that may be folded, for SQL statements; ``first`` is the first text of its kind. A
    damaged text is returned unchanged, and its reader reports the damage."""
    if type(text) is not str or type(first) is not str or text[:1] != FOLDED:
        return text
    try:
        return unfolded(text, parts_of(first))
    except ValueError:
        return text
