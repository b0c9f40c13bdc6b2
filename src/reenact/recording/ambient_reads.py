"""Ambient reads on their way to the writer: gathered for each lane, packed when a batch is written."""

from __future__ import annotations

from collections.abc import Iterator

from reenact.facts.record import AmbientRead
from reenact.seams.ambient import pack


class Reads:
    """The unwritten ambient reads of one lane since one of its calls, in order.

    ``listed`` is true while the writer knows of these reads. A lane that has ended, or only waits, costs the writer
    nothing.
    """

    __slots__ = ("items", "lane", "listed", "position", "taken", "taking")

    def __init__(self, lane: int, position: int) -> None:
        self.lane = lane
        self.position = position
        self.items: list[tuple[str, object]] = []
        self.listed = False
        self.taken = 0
        self.taking = False

    def count(self) -> int:
        """The number of all items, written ones included; -1 while the writer takes some."""
        count = self.taken + len(self.items)
        return -1 if self.taking else count


def _packed(reads: Reads) -> Iterator[AmbientRead]:
    """The reads that are not yet written, as one record for each source. The agent may append reads meanwhile."""
    count = len(reads.items)
    fresh = reads.items[:count]
    reads.taking = True
    del reads.items[:count]
    reads.taken += count
    reads.taking = False
    sources: dict[str, list[object]] = {}
    for source, value in fresh:
        sources.setdefault(source, []).append(value)
    for source, values in sources.items():
        data = pack(source, values)
        yield AmbientRead(reads.lane, reads.position, source, len(data).to_bytes(4, "big") + data)


def take_reads(listed: dict[Reads, None]) -> Iterator[AmbientRead]:
    """The reads of all lanes since the last batch; in the writer's thread."""
    for reads in list(listed):
        # In this order, a read that the agent appends meanwhile is either packed here, or listed again by its own
        # thread.
        listed.pop(reads, None)
        reads.listed = False
        yield from _packed(reads)
