"""The ids of processes that the agent started through a seam; in a replay these are the recorded ids."""

from __future__ import annotations

from typing import Protocol


class TrackedProcess(Protocol):
    """The known facts about a process."""

    program: str
    event: int
    played: bool

    def begin(self) -> None:
        """Start the process before its first live use, where its start was answered from a recording."""


_known: dict[int, TrackedProcess] = {}


def track(pid: int, process: TrackedProcess) -> None:
    """Remember the process of an id; the last start of an id counts."""
    _known[pid] = process


def known(pid: int) -> TrackedProcess | None:
    """The process with this id, or the leader of the group or session with this id."""
    return _known.get(abs(pid))
