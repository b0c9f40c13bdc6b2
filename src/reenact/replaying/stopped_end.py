"""The end of a stopped fork: its replay comes to the call that stopped the fork, and goes no further."""

from __future__ import annotations

from collections.abc import Callable

from reenact.errors import Divergence
from reenact.facts.call import Call
from reenact.facts.fork_stop import stops_at, waited_in_vain
from reenact.facts.keys import Rules
from reenact.facts.run import Run
from reenact.replaying.matching import Miss


class StoppedEnd:
    """Tells the call that stopped a fork from a call that the fork never made.

    When the fork stopped, every lane stopped where it was. In its replay another lane may come further before the
    stopping call is reached. So a call after a lane's last recorded one waits, and is judged when no strand goes on any
    more.

    Args:
        run: A fork that was stopped.
        rules: How two calls are compared.
    """

    __slots__ = ("_astray", "_reached", "_rules", "_run")

    def __init__(self, run: Run, rules: Rules) -> None:
        self._run = run
        self._rules = rules
        self._reached = waited_in_vain(run)
        self._astray: Callable[[], Divergence] | None = None

    def holds(self, lane: str, call: Call, miss: Miss, divergence: Callable[[], Divergence]) -> bool:
        """Whether a call without a recording is to wait for the end.

        Args:
            lane: Path of the lane that asks.
            call: The call, cleaned.
            miss: The matcher's report of it.
            divergence: Makes the divergence for the call, if the stopping call is not reached.
        """
        if stops_at(self._run, lane, call, self._rules):
            self._reached = True
            return True
        if miss.reason != "added":
            return False
        self._astray = self._astray or divergence
        return True

    def divergence(self) -> Divergence | None:
        """The divergence when no strand goes on any more; None where this is the fork's own end."""
        return self._astray() if self._astray is not None and not self._reached else None
