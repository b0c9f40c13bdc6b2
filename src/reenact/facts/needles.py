"""Needles: where each of a set of words stands in a text; in one pass over it where a scanner is installed.

The scanner (``ahocorasick-rs``, the extra ``scan``) finds all places of all words at once. Without it each word is
searched for by itself. The places are the same, so recordings and replays decide alike with it and without.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

Find = Callable[[bytes, int], int]
"""The first place of a word at or behind a place, else -1; as ``bytes.find``."""

_SHORT = 512
"""In a text below this size it does not pay to begin a pass."""


class Needles:
    """Words that are searched for together.

    Args:
        words: They, none of them empty.
    """

    def __init__(self, words: Iterable[bytes]) -> None:
        self.words = tuple(dict.fromkeys(words))
        self._scanner: Any = None
        self._sought = False

    def within(self, text: bytes) -> Find:
        """Look through a text; gives what finds the words in it, and no others."""
        if len(text) < _SHORT:
            return text.find
        if not self._sought:
            self._scanner, self._sought = _scanner(self.words), True
        if self._scanner is None:
            return text.find
        places: dict[bytes, list[int]] = {word: [] for word in self.words}
        lists = list(places.values())
        for word, start, _ in self._scanner.find_matches_as_indexes(text, overlapping=True):
            lists[word].append(start)

        def find(word: bytes, at: int) -> int:
            known = places[word]
            place = bisect_left(known, at)
            return known[place] if place < len(known) else -1

        return find


def _scanner(words: tuple[bytes, ...]) -> Any:
    """A scanner for words; None where none is installed."""
    try:
        return import_module("ahocorasick_rs").BytesAhoCorasick(words)
    except Exception:  # not installed, or not one that works here: the words are found one by one
        return None
