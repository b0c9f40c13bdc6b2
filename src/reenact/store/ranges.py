"""A set of numbers as ranges: the numbers that one log reads in another log, stored in a few bytes.

The events that a fork shares with its parent are nearly always one range, perhaps with regular holes. Even thousands of
holes pack to a few hundred bytes.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise

from reenact.facts.lazy_dataclass import dataclass

_MORE = 0x80


@dataclass(frozen=True, slots=True)
class Ranges:
    """A set of numbers from 0 on.

    Attributes:
        bounds: The beginnings and ends of ranges, in turn, each number larger than the one before.
    """

    bounds: tuple[int, ...] = ()

    def __contains__(self, number: int) -> bool:
        return bool(bisect_right(self.bounds, number) & 1)

    def __bool__(self) -> bool:
        return bool(self.bounds)

    def __len__(self) -> int:
        return sum(end - first for first, end in self)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """For each range, its first number and the number after its last number."""
        return zip(self.bounds[::2], self.bounds[1::2], strict=True)

    def with_(self, numbers: Iterable[int]) -> Ranges:
        """The set with more numbers; one pass over these numbers and the ranges makes it."""
        found = [*self, *((number, number + 1) for number in numbers)]
        return _joined(found)

    def over(self, first: int, end: int) -> Ranges:
        """The set with one more range of numbers."""
        return _joined([*self, (first, end)])

    def without(self, numbers: Iterable[int]) -> Ranges:
        """The set without some numbers."""
        leaving = Ranges().with_(numbers)
        left: list[tuple[int, int]] = []
        for first, end in self:
            at = first
            for low, high in leaving:
                if low < end and high > at:
                    if low > at:
                        left.append((at, low))
                    at = high
            if at < end:
                left.append((at, end))
        return _joined(left)

    def pack(self) -> bytes:
        """The set as bytes, in which damage is detected."""
        found = bytearray()
        before = 0
        for bound in self.bounds:
            left = bound - before
            before = bound
            while left >= _MORE:
                found.append(left & (_MORE - 1) | _MORE)
                left >>= 7
            found.append(left)
        return zlib.compress(found, 1)


def _joined(pairs: list[tuple[int, int]]) -> Ranges:
    pairs.sort()
    bounds: list[int] = []
    for first, end in pairs:
        if bounds and first <= bounds[-1]:
            bounds[-1] = max(bounds[-1], end)
        else:
            bounds += (first, end)
    return Ranges(tuple(bounds))


NONE = Ranges()
"""The empty set."""


def unpack_ranges(data: bytes) -> Ranges:
    """The set from the bytes that ``Ranges.pack`` made.

    Raises:
        ValueError: The bytes are damaged.
    """
    try:
        found = zlib.decompress(data)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    bounds: list[int] = []
    number = shift = at = 0
    for byte in found:
        number |= (byte & (_MORE - 1)) << shift
        shift += 7
        if byte < _MORE:
            at += number
            bounds.append(at)
            number = shift = 0
    if shift or len(bounds) % 2 or any(low >= high for low, high in pairwise(bounds)):
        raise ValueError("ranges that are none")
    return Ranges(tuple(bounds))
