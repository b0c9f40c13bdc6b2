"""Evidence: the ids and numbers of texts, and whether they were seen before."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from typing import Final

from reenact.facts.call import Json
from reenact.facts.lazy_regex import lazy_regex

_TOKEN: Final = lazy_regex(r"[^\W_](?:[\w\-]*[^\W_])?")
_PART: Final = lazy_regex(r"[^\W_]+")
_NUMBER: Final = lazy_regex(r"(?<![\w.])\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.])\d+(?:\.\d+)?")
_MEASURE: Final = lazy_regex(
    r"\d+(?:am|pm|st|nd|rd|th|k|m|g|kg|km|cm|mm|mb|gb|kb|h|hr|hrs|min|s|ms|x|d|w|y|yr|px|c|f)\Z", re.I
)
_DATE: Final = lazy_regex(r"[\d\-]+\Z")
_SHORTEST_ID: Final = 5
_SMALLEST: Final = 100
_ENDING: Final = 4
_YEARS: Final = range(1900, 2101)
_MOST: Final = 200
_TRIPLES: Final = 40
_WORKED_OUT: Final = 64
_NUMEROUS: Final = 20_000
_FACTORS: Final = (*range(2, 13), 0.5, 0.25, 0.1)


class SuspicionEvidence:
    """The texts and results of a run so far.

    Attributes:
        sources: The number of tool results in it.
    """

    def __init__(self) -> None:
        self._tokens: set[str] = set()
        self._numbers: set[float] = set()
        self._endings: set[str] = set()
        self._cents: set[int] = set()
        self._made: set[int] | None = None
        self._left = _WORKED_OUT
        self.sources = 0

    def add(self, content: Json, *, source: bool = False) -> None:
        """Take a text or data in; ``source`` says that it is the result of a tool."""
        self.sources += source
        known = len(self._numbers)
        for text in texts_of(content):
            for token in _TOKEN.findall(text):
                small = token.lower()
                self._tokens.add(small)
                self._endings.add(small[-_ENDING:])
                if "-" in small or "_" in small:
                    parts = _PART.findall(small)
                    self._tokens.update(parts)
                    for part in parts:
                        if part.isdecimal() and len(part) < 16:
                            self._saw(float(part))
            for number in numbers_of(text):
                self._saw(number)
        if len(self._numbers) > known:
            self._made = None

    def _saw(self, number: float) -> None:
        self._numbers.add(number)
        self._cents.add(_cents(number))

    def holds_id(self, token: str) -> bool:
        """Whether an id was seen: as a word, or as parts that were all seen."""
        small = token.lower()
        return small in self._tokens or all(part in self._tokens for part in _PART.findall(small))

    def holds_number(self, number: float) -> bool:
        """Whether a number was seen, or is the sum, difference, product or a simple part of seen numbers. After many
        answers, or with many numbers, these are not computed any more, and every number counts as seen."""
        if number == int(number) and f"{int(number):04d}" in self._endings:
            return True  # these may be the last digits of a card or of an account
        return _near(number, self._cents) or _near(number, self._derived())

    def _derived(self) -> Collection[int]:
        """The numbers that can be derived from seen numbers. It takes some 30 ms where there are many."""
        if self._made is None:
            if not self._left or len(self._numbers) > _NUMEROUS:
                return _ALL
            self._left -= 1
            few = sorted(self._numbers)[-_MOST:]
            made = {_cents(each * factor) for each in few for factor in _FACTORS}
            for one, other in combinations(few, 2):
                made.update((_cents(one + other), _cents(abs(one - other)), _cents(one * other)))
            made.update(_cents(sum(three)) for three in combinations(few[-_TRIPLES:], 3))
            self._made = made
        return self._made


class _All(Collection[int]):
    """A collection that contains every number."""

    def __contains__(self, number: object) -> bool:
        return True

    def __iter__(self) -> Iterator[int]:
        return iter(())

    def __len__(self) -> int:
        return 0


_ALL: Final = _All()


def ids_of(text: str) -> Iterator[str]:
    """Words of a text that look like ids: letters and at least two digits, or digits with dashes that are no date."""
    for token in _TOKEN.findall(text):
        digits = sum(char.isdigit() for char in token)
        if len(token) < _SHORTEST_ID or digits < 2 or token.isdigit() or _DATE.match(token) or _MEASURE.match(token):
            continue
        yield token


def numbers_of(text: str) -> Iterator[float]:
    """Numbers of a text; thousands separated by commas are one number."""
    for found in _NUMBER.findall(text):
        if len(found) < 16:
            yield float(found.replace(",", ""))


def telling_numbers(text: str) -> Iterator[float]:
    """Numbers of a text that are unlikely to be right by chance: those of three digits or more, except years."""
    return (each for each in numbers_of(text) if each >= _SMALLEST and each not in _YEARS)


def texts_of(content: Json) -> Iterator[str]:
    """Every text in data, names of fields and numbers included."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping):
        for key, value in content.items():
            yield str(key)
            yield from texts_of(value)
    elif isinstance(content, (list, tuple)):
        for each in content:
            yield from texts_of(each)
    elif isinstance(content, (int, float)) and not isinstance(content, bool):
        yield json.dumps(content)


def leaves_of(content: Json, name: str = "") -> Iterator[tuple[str, Json]]:
    """Every value in data that is no list or object, with the name of its field."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            yield from leaves_of(value, str(key))
    elif isinstance(content, (list, tuple)):
        for each in content:
            yield from leaves_of(each, name)
    else:
        yield name, content


def first_unseen(text: str, evidence: SuspicionEvidence) -> str:
    """The first id or number of a text that was not seen before; empty where all were."""
    for token in ids_of(text):
        if not evidence.holds_id(token):
            return token
    for number in telling_numbers(text):
        if not evidence.holds_number(number):
            return f"{number:,.2f}".rstrip("0").rstrip(".")
    return ""


def _cents(number: float) -> int:
    return round(number * 100)


def _near(number: float, known: Collection[int]) -> bool:
    """Whether a number equals one of some numbers, with a tolerance of a cent."""
    cents = _cents(number)
    return any(cents + each in known for each in (0, -1, 1))
