"""Decides whether a timer or a recorded answer comes first in a fork, where the parent's order no longer decides.

In the parent's order a timer has the place at which it fired. A timer that is set for a longer or a shorter wait has
lost that place, and time decides: it fires when its wait is over, and a recorded answer takes as long as it took.
"""

from __future__ import annotations

from reenact.facts.order import Tag, TimerSpan

LATE_US = 50_000
"""A timer that fires this much later than in the parent counts as another timer, with another deadline."""
UNSURE_US = 1_000
"""A delivery that comes this much earlier than its predecessor would be first, if moments were certain."""
ALIKE_US = 10_000
"""A timer that waits less by this much counts as the same timer: code may compute its wait from a clock."""
_KEPT = 4_096
"""This many calls and timers are remembered. The moments of older ones are forgotten."""


def is_shorter(timer: TimerSpan, then: TimerSpan) -> bool:
    """Whether a timer's wait is shorter than that of the recorded timer, however late the recorded one fired."""
    return then.due_us - then.set_us - (timer.due_us - timer.set_us) > ALIKE_US


class DueMoments:
    """The moments of timers and recorded answers that are yet to come, as far as they are known."""

    def __init__(self) -> None:
        self._timers: dict[Tag, TimerSpan] = {}
        self._answers: dict[int, tuple[int, int]] = {}

    def sets(self, tag: Tag, times: TimerSpan) -> Tag | None:
        """A timer is set. Returns the tag of an older timer that is forgotten to make room; None if none is.

        Args:
            tag: The timer's identity.
            times: The moments at which the timer is set and due, in virtual time.
        """
        self._timers[tag] = times
        if len(self._timers) <= _KEPT:
            return None
        self._timers.pop(oldest := next(iter(self._timers)))
        return oldest

    def asks(self, event: int, now_us: int, issued_us: int, came_us: int) -> int | None:
        """A call is made whose answer is recorded. Returns the number of an older call that is forgotten to make room;
        None if none is.

        Args:
            event: Its number in the parent.
            now_us: Virtual time.
            issued_us, came_us: The moments at which the parent made the call, and had the answer.
        """
        self._answers[event] = (now_us + max(0, came_us - issued_us), came_us)
        if len(self._answers) <= _KEPT:
            return None
        self._answers.pop(oldest := next(iter(self._answers)))
        return oldest

    def timer(self, tag: Tag) -> TimerSpan | None:
        """When a timer was set and is due; None where it is not known."""
        return self._timers.get(tag)

    def over(self, tag: Tag) -> TimerSpan | None:
        """Forget a timer that has fired, and return when it was set and due; None for any other tag."""
        return self._timers.pop(tag, None)

    def answer(self, event: int, at_us: int | None = None) -> int | None:
        """When the answer of a call comes, or the part that the parent had at ``at_us``; None before the call."""
        known = self._answers.get(event)
        if known is None:
            return None
        comes_us, came_us = known
        return comes_us + (max(0, at_us - came_us) if at_us is not None else 0)
