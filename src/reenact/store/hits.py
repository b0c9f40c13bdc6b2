"""Finds the runs with some words, a part of the index at a time, because every run may have a word.

A word counts as itself and as the beginning of longer ones. To find a beginning, SQLite's index first merges the
entries of all words with this beginning (20 ms for 100,000 runs). A whole word is found at once. So whole words are
searched first, and beginnings only in the runs without such a word.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from reenact.store.full_text import words_of
from reenact.store.passages import own_and_forks
from reenact.store.run_query import FEW, Rows, Text
from reenact.store.schema import LOW

_AHEAD = 2000
"""The count of lower numbers that are read together with the requested ones, because they are most likely needed
next."""

_FAR_APART = 100
"""The gap between requested numbers from which SQLite is made to select them one by one."""


class Hits:
    """The runs that match some words, each as a whole word or as the beginning of one.

    Args:
        rows: Queries the store.
        words: The words, which must all be in one text.
        split: Whether texts may be in passages (``store.passages``); then the query is one word.
    """

    def __init__(self, rows: Rows, words: Sequence[str], *, split: bool) -> None:
        self._whole = _Matches(rows, " AND ".join([f'"{word}"' for word in words]), split=split)
        self._begun = _Matches(rows, " AND ".join([f'"{word}"*' for word in words]), split=split)

    def few(self) -> Set[int] | None:
        """The numbers of all matching runs; None where there are many."""
        return None if self._whole.few() is None else self._begun.few()

    def among(self, numbers: Set[int]) -> Set[int]:
        """The given runs that match."""
        found = numbers & self._whole.near(numbers)
        left = numbers - found
        return found | (left & self._begun.near(left)) if left else found


class _Matches:
    """The matches of one expression in the index, as far as they have been read."""

    def __init__(self, rows: Rows, expression: str, *, split: bool) -> None:
        self._rows = rows
        self._expression = expression
        self._split = split
        self._low, self._high = 1, 0
        self._found: Set[int] = frozenset()
        self._in_passages: Set[int] | None = None

    def few(self) -> Set[int] | None:
        sql = f"{_MATCH} AND rowid <= ? ORDER BY rowid DESC LIMIT ?"
        numbers = [number for (number,) in self._rows(sql, (self._expression, LOW, FEW + 1))]
        whole = len(numbers) <= FEW
        self._low, self._high, self._found = 0 if whole else numbers[-1], LOW, frozenset(numbers)
        found = self._found | self._passages()
        return found if whole and len(found) <= FEW else None

    def near(self, numbers: Set[int]) -> Set[int]:
        """The matches among some numbers, and perhaps further matches."""
        low, high = min(numbers), max(numbers)
        if self._low <= low and high <= self._high:
            found = self._found
        elif high - low > _FAR_APART * len(numbers):
            found = self._between(low, high, f" AND +rowid IN ({', '.join(map(str, numbers))})")
        else:
            self._low, self._high = max(low - _AHEAD, 0), high
            found = self._found = self._between(self._low, high)
        return found | self._passages() if self._split else found

    def _between(self, low: int, high: int, more: str = "") -> Set[int]:
        rows = self._rows(f"{_MATCH} AND rowid BETWEEN ? AND ?{more}", (self._expression, low, high))
        return frozenset([number for (number,) in rows])

    def _passages(self) -> Set[int]:
        """All matches in passages. They are few, because a word occurs only once in a text."""
        if not self._split:
            return frozenset()
        if self._in_passages is None:
            rows = self._rows(own_and_forks(f"{_MATCH_AS} AND rowid > {LOW}"), (self._expression,))
            self._in_passages = frozenset([number for (number,) in rows])
        return self._in_passages


_MATCH = "SELECT rowid FROM words_index WHERE words_index MATCH ?"
_MATCH_AS = "SELECT rowid AS id FROM words_index WHERE words_index MATCH ?"


def text_of(rows: Rows, query: str, *, indexed: bool, shares: bool) -> Text:
    """The search for a text; without a condition if the text has no word.

    Args:
        rows: Queries the store.
        query: The text.
        indexed: Whether the store has an index that this SQLite can read.
        shares: Whether the store has tables for rows that a fork reads in its parent.
    """
    words = words_of(query)
    if not words:
        return Text()
    if not indexed:
        sql = own_and_forks(_SCAN) if shares else _SCAN
        return Text((), [(f"r.id IN ({sql})", (f"%{word}%",)) for word in words])
    if shares and rows("SELECT 1 FROM words WHERE id > ? LIMIT 1", (LOW,)):
        return Text([Hits(rows, [word], split=True) for word in words])  # each word may be in another passage
    return Text([Hits(rows, words, split=False)])


_SCAN = "SELECT id FROM words WHERE plain(body) LIKE ?"
