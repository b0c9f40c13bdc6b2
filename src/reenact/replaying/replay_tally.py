"""The counts of a replay, and the facts for its verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Any

from reenact.facts.call import STATE, Effect, Failure, Fidelity, Kind, Value
from reenact.facts.event import Event
from reenact.facts.large_values import LARGE, is_large
from reenact.facts.lazy_dataclass import dataclass, field

_LEVELS = [Fidelity.EXACT, Fidelity.SEALED, Fidelity.REDACTED, Fidelity.WITHHELD]


@dataclass(slots=True)
class Tally:
    """The counts of a replay so far."""

    matched: int = 0
    reordered: int = 0
    moved: int = 0
    renamed: int = 0
    """The number of strands whose functions have other names now."""
    redacted: int = 0
    fidelity: Fidelity = Fidelity.EXACT
    unread: list[int] = field(default_factory=list)
    gaps: dict[str, int] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    states_unproven: list[int] = field(default_factory=list)
    """Steps whose recorded state is not proven, and was not compared."""
    signals: set[int] = field(default_factory=set)
    """The signals whose handlers ran inside frozen calls, and do not run again."""
    set_now: dict[str, str] = field(default_factory=dict)
    own_state: dict[str, None] = field(default_factory=dict)
    """Parameters that are a tool's own state, in the order in which they were met: they are not compared."""
    unchecked: dict[str, str] = field(default_factory=dict)
    """Tools answered from the recording whose arguments were too large to be searched for changes."""

    def count(self, event: Event, how: str, through: Collection[str]) -> None:
        """Count a call that was matched with a recorded one.

        Args:
            event: The recorded call.
            how: ``exact``, ``reordered``, or another way in which it has moved.
            through: Names of the tools that run again.
        """
        self.matched += 1
        if how != "exact":
            if how == "reordered":
                self.reordered += 1
            else:
                self.moved += 1
        if event.call.kind is Kind.TOOL:
            self._count_tool(event, through)
        if event.fidelity is not Fidelity.EXACT:
            self.redacted += 1
            if _LEVELS.index(event.fidelity) > _LEVELS.index(self.fidelity):
                self.fidelity = event.fidelity

    def _count_tool(self, event: Event, through: Collection[str]) -> None:
        """Note that changes of a tool to its arguments are not known."""
        if STATE in event.call.head:
            self.own_state.update(dict.fromkeys(event.call.head[STATE]))
        unchecked = event.outcome.head.get("unchecked") if isinstance(event.outcome, Value | Failure) else None
        if unchecked and event.call.effect is Effect.WRITE and event.name not in through:
            self.unchecked[event.name] = ", ".join(unchecked)

    def escaped(self, what: str, place: str) -> None:
        """Count an escape: contact that no seam answers."""
        name = f"{what}: {place}"
        self.gaps[name] = self.gaps.get(name, 0) + 1

    def used_as_set(self, name: str) -> None:
        """Note that a variable is set now that was not set when the run was recorded."""
        self.set_now[name] = f"the variable {name}, which was not set when it was recorded, is used as it is now"

    def suspects(self) -> list[str]:
        """The first tool that may have changed an argument in a way that the replay did not repeat."""
        return [
            f"{tool} may have changed {what}: it is too large to be looked into, so a replay does not change it"
            f" (--through {tool} runs it again; @tool(state=…) leaves a parameter out of the request)"
            for tool, what in list(self.unchecked.items())[:1]
        ]


class Chains:
    """The chains of one replay."""

    __slots__ = ("_lanes",)

    def __init__(self) -> None:
        self._lanes: dict[str, Any] = {}

    def add(self, event: Event, part: int, data: bytes) -> None:
        """Add a recorded part of a call that has been handed over. Two lanes may call this at the same time."""
        chain = self._lanes.get(event.lane)
        if chain is None:
            chain = self._lanes.setdefault(event.lane, hashlib.blake2b(event.lane.encode(), digest_size=16))
        if is_large(data) or len(data) >= LARGE:
            data = _digest(data)
        chain.update(b"%d %d %d\n%b" % (event.number, part, len(data), data))  # one update needs no lock

    def digest(self) -> str:
        """One digest over all chains, in the order of the lanes' paths."""
        whole = hashlib.blake2b(digest_size=16)
        for path in sorted(self._lanes):
            whole.update(self._lanes[path].digest())
        return whole.hexdigest()


def _digest(data: bytes) -> bytes:
    """The stand-in for a long value."""
    found = hashlib.blake2b(digest_size=16)
    for piece in data.pieces() if is_large(data) else (data,):
        found.update(piece)
    return found.digest()
