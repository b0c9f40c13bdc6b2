"""Tallies: how many calls of each kind a run has made, and each run inside it, by the strands that made them."""

from __future__ import annotations

from collections.abc import Mapping

from reenact.facts.call import Kind
from reenact.facts.run import Totals


def belongs(path: str, lane: str) -> bool:
    """Whether a lane is, or lies below, another lane: a child run has the lanes below its own."""
    return path.startswith(lane) and path[len(lane) : len(lane) + 1] in ("", "/", ">")


class KindTally:
    """Calls by kind. The caller holds the session's lock."""

    def __init__(self) -> None:
        self.calls: dict[Kind, int] = {}
        self._inside: dict[str, dict[Kind, int]] = {}

    def add(self, lane: str, kind: Kind) -> None:
        """Count a call that was issued in a lane, also for the child runs around this lane."""
        self.calls[kind] = self.calls.get(kind, 0) + 1
        for own, calls in list(self._inside.items()):  # a signal handler may begin a run meanwhile
            if belongs(lane, own):
                calls[kind] = calls.get(kind, 0) + 1

    def begin(self, lane: str) -> None:
        """Count the work of a lane from now on also for the child run that begins in it."""
        self._inside[lane] = {}

    def end(self, lane: str) -> dict[Kind, int]:
        """The counts of a child run that has ended; empty for a lane in which no run began."""
        return self._inside.pop(lane, {})


def summed(calls: Mapping[Kind, int]) -> Totals:
    """The totals of some calls."""
    return Totals(events=sum(calls.values()), models=calls.get(Kind.MODEL, 0), tools=calls.get(Kind.TOOL, 0))
