"""Needles: the places of a set of words in a text, found in one pass where a scanner is installed.

The scanner (``ahocorasick-rs``, the extra ``scan``) finds all places of all words at once. Without the scanner, each
word is searched for separately. The places are the same with the scanner and without, so recordings and replays decide
alike.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from importlib import import_module
from typing import Any

from reenact.facts.interruptions import let_through

Find = Callable[[bytes, int], int]
"""Gives the first place of a word at or after a place, else -1, as ``bytes.find`` does."""

_SHORT = 512
"""The size of a text below which a pass of the scanner costs more than it saves."""

_WINDOW = 1 << 12
"""The number of bytes that are searched at once. It bounds the scanner's results in memory."""


class Needles:
    """Words that are searched together.

    Args:
        words: The words, none of them empty.
    """

    def __init__(self, words: Iterable[bytes]) -> None:
        self.words = tuple(dict.fromkeys(words))
        self._scanner: Any = None
        self._sought = False

    def within(self, text: bytes) -> tuple[AbstractSet[bytes], Find]:
        """Search a text. Returns the words that are in it, and a function that finds the places of these words."""
        if len(text) >= _SHORT and not self._sought:
            self._scanner, self._sought = _scanner(self.words), True
        if len(text) < _SHORT or self._scanner is None:
            return self._one_by_one(text)
        try:
            windows = self._seen(text)
        except Exception as error:  # if the scanner fails, the search goes on without it
            let_through(error)
            return self._one_by_one(text)

        def find(word: bytes, at: int) -> int:
            known = windows[word]
            for n in range(bisect_left(known, at - at % _WINDOW), len(known)):
                place = text.find(word, max(at, known[n]), known[n] + _WINDOW + len(word) - 1)
                if place >= 0:
                    return place
            return -1

        return windows.keys(), find

    def _one_by_one(self, text: bytes) -> tuple[AbstractSet[bytes], Find]:
        return {word for word in self.words if word in text}, text.find

    def _seen(self, text: bytes) -> dict[bytes, list[int]]:
        """For each word of the text, where the windows begin in which the word begins. The places in a window are
        searched again, so a text that repeats one word needs no more memory than any other."""
        windows: dict[bytes, list[int]] = {}
        beyond = max(map(len, self.words), default=1) - 1
        for begin in range(0, len(text), _WINDOW):
            part = text[begin : begin + _WINDOW + beyond]
            found = self._scanner.find_matches_as_indexes(part, overlapping=True)
            for word in {number for number, start, _ in found if start < _WINDOW}:
                windows.setdefault(self.words[word], []).append(begin)
        return windows


def _scanner(words: tuple[bytes, ...]) -> Any:
    """A scanner for words; None where no scanner is installed."""
    try:
        return import_module("ahocorasick_rs").BytesAhoCorasick(words)
    except Exception as error:  # it is not installed or does not work here, so the words are searched one by one
        let_through(error)
        return None
