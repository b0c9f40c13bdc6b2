"""How many bytes two texts have in common, at their beginnings and before their ends."""

from __future__ import annotations

import sys
from collections.abc import Iterable

_SLICE = 1 << 16

Bytes = bytes | bytearray


def shared_length(left: bytes, right: bytes) -> int:
    """How many bytes two texts have in common at their beginnings. Comparing by halves makes this as fast as memory."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_head(one: bytes, other: Bytes, a: int = 0, b: int = 0, most: int = sys.maxsize) -> int:
    """How many bytes are the same in two texts, each from a given place on; at most ``most``."""
    most = min(most, len(one) - a, len(other) - b)
    least, step = 0, 64
    while least < most:
        reach = min(least + step, most)
        if one[a + least : a + reach] != other[b + least : b + reach]:
            most = reach - 1
            break
        least, step = reach, min(step * 4, _SLICE)
    while least < most:  # the first difference lies before ``most``, or right after it
        half = (least + most + 1) // 2
        if one[a + least : a + half] == other[b + least : b + half]:
            least = half
        else:
            most = half - 1
    return least


def nearest(body: bytes, others: Iterable[Bytes]) -> tuple[int, int]:
    """The length of the longest beginning that a body shares with one of some texts, and the number of that text.

    Of equally near texts the last counts; the number is -1 if there is none. A text that is no nearer than the earlier
    ones costs one comparison of memory.
    """
    most, found = 0, -1
    for number, other in enumerate(others):
        if most <= len(other) and body[:most] == other[:most]:
            most, found = most + common_head(body, other, most, most), number
    return most, found


def common_tail(one: bytes, other: Bytes, a: int, b: int, most: int = sys.maxsize) -> int:
    """How many bytes are the same in two texts, each up to a given place; at most ``most``."""
    least, most = 0, min(most, a, b)
    step = 64
    while least < most:
        reach = min(least + step, most)
        if one[a - reach : a - least] != other[b - reach : b - least]:
            most = reach - 1
            break
        least, step = reach, min(step * 4, _SLICE)
    while least < most:
        half = (least + most + 1) // 2
        if one[a - half : a - least] == other[b - half : b - least]:
            least = half
        else:
            most = half - 1
    return least
