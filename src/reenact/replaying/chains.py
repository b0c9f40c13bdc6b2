"""Digest chains over all that a replay hands over: one a lane, in the lane's own order."""

from __future__ import annotations

import hashlib
from typing import Any

from reenact.facts.event import Event
from reenact.facts.large import LARGE, is_large


class Chains:
    """The chains of one replay."""

    __slots__ = ("_lanes",)

    def __init__(self) -> None:
        self._lanes: dict[str, Any] = {}

    def add(self, event: Event, part: int, data: bytes) -> None:
        """Something recorded has been handed over; two lanes may say so at the same time."""
        chain = self._lanes.get(event.lane)
        if chain is None:
            chain = self._lanes.setdefault(event.lane, hashlib.blake2b(event.lane.encode(), digest_size=16))
        if is_large(data) or len(data) >= LARGE:
            data = _digest(data)
        chain.update(b"%d %d %d\n%b" % (event.number, part, len(data), data))  # in one piece: it needs no lock

    def digest(self) -> str:
        """One digest over all of them: the lanes by path."""
        whole = hashlib.blake2b(digest_size=16)
        for path in sorted(self._lanes):
            whole.update(self._lanes[path].digest())
        return whole.hexdigest()


def _digest(data: bytes) -> bytes:
    """What stands for a long value."""
    found = hashlib.blake2b(digest_size=16)
    for piece in data.pieces() if is_large(data) else (data,):
        found.update(piece)
    return found.digest()
