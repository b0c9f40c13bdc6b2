"""In which order things happened: deliveries, their tags, and the packed form they are stored in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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


def _put(out: bytearray, value: int) -> None:
    value = (value << 1) ^ (value >> 63) if value < 0 else value << 1
    while value > 127:
        out.append((value & 127) | 128)
        value >>= 7
    out.append(value)


def _integers(data: bytes) -> list[int]:
    """All integers of a pack, in one pass: a replay reads one delivery for each turn."""
    found = []
    shift = value = 0
    for byte in data:
        if byte < 128:
            value |= byte << shift
            found.append((value >> 1) ^ -(value & 1))
            shift = value = 0
        else:
            value |= (byte & 127) << shift
            shift += 7
    return found


def pack(deliveries: Iterable[Delivery], lanes: dict[str, int]) -> bytes:
    """Pack consecutive deliveries into bytes.

    Each is five zig-zag LEB128 integers: kind and proof, lane number, number, n, and microseconds since the
    previous one in the pack (the first: since the run began). ``lanes`` maps lane paths to their numbers.
    """
    out = bytearray()
    last = 0
    for _, tag, at_us, proven in deliveries:
        _put(out, _KINDS.index(tag.kind) << 1 | (not proven))
        _put(out, lanes[tag.lane] if tag.lane else -1)
        _put(out, tag.number)
        _put(out, tag.n)
        _put(out, at_us - last)
        last = at_us
    return bytes(out)


def unpack(data: bytes, first: int, lanes: dict[int, str]) -> Iterator[Delivery]:
    """Read a pack back; ``first`` is the number of its first delivery, ``lanes`` maps numbers to paths."""
    last = 0
    numbers = iter(_integers(data))
    for kind, lane, number, n, delta in zip(numbers, numbers, numbers, numbers, numbers, strict=True):
        last += delta
        yield Delivery(first, Tag(_KINDS[kind >> 1], "" if lane < 0 else lanes[lane], number, n), last, not kind & 1)
        first += 1
