"""Columns: many integers in the least width that holds them all, read and written at once.

A column is one byte, the width (1, 2, 4 or 8), and then the integers, signed and little-endian.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from itertools import accumulate
from operator import sub

_EMPTY = {1: array("b"), 2: array("h"), 4: array("i"), 8: array("q")}
"""Empty arrays to copy and fill. Calling the class ``array`` would be an audit event, and run every hook in the
process."""
_SWAPPED = sys.byteorder == "big"


def column(values: Sequence[int]) -> bytes:
    """Integers (at least one) as a column.

    Raises:
        OverflowError: One of them needs more than eight bytes.
    """
    bits = max(*values, ~min(values)).bit_length() + 1
    width = 1
    while width * 8 < bits and width < max(_EMPTY):
        width *= 2
    packed = _EMPTY[width][:]
    packed.extend(values)
    if _SWAPPED:
        packed.byteswap()
    return bytes([width]) + packed.tobytes()


def read(data: bytes, at: int, count: int) -> tuple[array[int], int]:
    """The ``count`` integers of the column at ``at``, and where it ends.

    Raises:
        ValueError: There is no such column.
    """
    width = data[at] if at < len(data) else 0
    end = at + 1 + width * count
    if width not in _EMPTY or end > len(data):
        raise ValueError("a column of integers is cut off, or has no known width")
    found = _EMPTY[width][:]
    found.frombytes(data[at + 1 : end])
    if _SWAPPED:
        found.byteswap()
    return found, end


def steps(values: Sequence[int]) -> list[int]:
    """The difference of each value from the one before; for the first value, from zero."""
    return list(map(sub, values, (0, *values)))


sums = accumulate
"""The values whose differences ``steps`` gave."""
