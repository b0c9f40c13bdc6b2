"""In which order things happened: deliveries, their tags, and the packed form they are stored in."""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, repeat
from operator import sub
from typing import NamedTuple


class Tag(NamedTuple):
    """Identity of one delivery, stable between a recording and its replay.

    ``kind`` is one letter:

    - ``e`` part of a recorded event: ``number`` is the event, ``n`` the part (0 the value or head, 1… the
      segments, -1 the end of a stream); ``lane`` is empty.
    - ``t`` a timer of the agent, ``w`` a wake-up, ``p`` a callback posted to a loop, ``j`` a return from ``join``:
      ``lane`` is the path of the lane, ``number`` how many calls it had issued, ``n`` a count since then.
    - ``s`` the start of a thread or job: ``lane`` is its own path.
    """

    kind: str
    lane: str
    number: int
    n: int


class Delivery(NamedTuple):
    """One turn at the gate.

    Attributes:
        number: Position in the run's order, from 0.
        tag: Whose turn it was.
        at_us: Microseconds of monotonic time since the run began.
        proven: False when the gate let go without knowing that nothing else could run.
    """

    number: int
    tag: Tag
    at_us: int
    proven: bool


def event_tag(event: int, part: int) -> Tag:
    """The tag of one part of an event: 0 its value or head, 1… its segments, -1 its end."""
    return Tag("e", "", event, part)


_KINDS = "etwpjs"
_WIDTHS = {1: "b", 2: "h", 4: "i", 8: "q"}
_COLUMNS = 5
_COUNT = struct.Struct("<I")
_SWAPPED = sys.byteorder == "big"
_make = tuple.__new__
"""Makes a named tuple of a tuple, in C: a replay reads one delivery for each turn."""


def _column(values: Sequence[int]) -> bytes:
    """Integers in the least width that holds them all, behind one byte that says it."""
    most = max(*values, ~min(values)).bit_length() + 1
    width = 1
    while width * 8 < most:
        width *= 2
    column = array(_WIDTHS[width], values)
    if _SWAPPED:
        column.byteswap()
    return bytes([width]) + column.tobytes()


def _columns(data: bytes) -> tuple[int, list[array[int]]]:
    """How many deliveries there are, and the columns of ``pack``."""
    (count,) = _COUNT.unpack_from(data)
    at = _COUNT.size
    found = []
    for _ in range(_COLUMNS):
        width = data[at]
        end = at + 1 + width * count
        column = array(_WIDTHS[width], data[at + 1 : end])
        if _SWAPPED:
            column.byteswap()
        found.append(column)
        at = end
    return count, found


def pack(deliveries: Sequence[Delivery], lanes: Mapping[str, int]) -> bytes:
    """Pack consecutive deliveries into bytes, by columns: Python reads and writes a whole column in one go.

    Behind their count (four bytes) stand five columns: kind and proof, number of the lane, number, n, and time. Each
    is one byte that gives the width of its integers, then the integers, signed and little-endian. Numbers and times are
    kept as the difference from the delivery before (the first: from zero).

    Args:
        deliveries: At least one.
        lanes: Numbers of lane paths; -1 stands for no lane.
    """
    _, tags, times, proofs = zip(*deliveries, strict=True)
    kinds, paths, numbers, counts = zip(*tags, strict=True)
    columns = (
        [_KINDS.index(kind) << 1 | (not proven) for kind, proven in zip(kinds, proofs, strict=True)],
        [lanes[path] if path else -1 for path in paths],
        list(map(sub, numbers, (0, *numbers))),
        counts,
        list(map(sub, times, (0, *times))),
    )
    return _COUNT.pack(len(times)) + b"".join([_column(column) for column in columns])


def unpack(data: bytes, first: int, lanes: Mapping[int, str]) -> Iterator[Delivery]:
    """Read a pack back; ``first`` is the number of its first delivery, ``lanes`` maps numbers to paths.

    Cost: about 0.4 µs a delivery.
    """
    _, (marks, strands, numbers, counts, times) = _columns(data)
    kinds = [_KINDS[mark >> 1] for mark in marks]
    paths = [lanes[strand] if strand >= 0 else "" for strand in strands]
    tags = map(_make, repeat(Tag), zip(kinds, paths, accumulate(numbers), counts, strict=True))
    proofs = [not mark & 1 for mark in marks]
    positions = range(first, first + len(kinds))
    return map(_make, repeat(Delivery), zip(positions, tags, accumulate(times), proofs, strict=True))
