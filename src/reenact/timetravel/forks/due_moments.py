"""When the timers and the recorded answers of a fork come that are awaited, where the parent's order does not say it.

In the parent's order a timer has the place at which it fired. One that is set for longer, or for less, has lost that
place, and time decides: it fires when its wait is over, and a recorded answer takes as long as it took.
"""

from __future__ import annotations

from reenact.facts.order import Tag, TimerSpan

LATE_US = 50_000
"""A timer that fires so much later than it did is another one, with another deadline."""
UNSURE_US = 1_000
"""A delivery that comes so much earlier than one before it in the order would be first if it were certain."""
ALIKE_US = 10_000
"""A timer that waits less by so little is the same one: code may reckon by a clock how long it is to wait."""
_KEPT = 4_096
"""So many calls and timers are remembered; of what is older it is not known when it comes."""


def is_shorter(timer: TimerSpan, then: TimerSpan) -> bool:
    """Whether a timer waits less than the recorded one did, however late that one fired."""
    return then.due_us - then.set_us - (timer.due_us - timer.set_us) > ALIKE_US


class DueMoments:
    """The moments of recorded answers and timers that are yet to come, as far as known."""

    def __init__(self) -> None:
        self._timers: dict[Tag, TimerSpan] = {}
        self._answers: dict[int, tuple[int, int]] = {}

    def sets(self, tag: Tag, timed: TimerSpan) -> Tag | None:
        """A timer is set; gives one that is forgotten for it.

        Args:
            tag: Its identity.
            timed: When, and for when, in virtual time.
        """
        self._timers[tag] = timed
        if len(self._timers) <= _KEPT:
            return None
        self._timers.pop(oldest := next(iter(self._timers)))
        return oldest

    def asks(self, event: int, now_us: int, issued_us: int, came_us: int) -> int | None:
        """A call is made whose answer is recorded; gives one that is forgotten for it.

        Args:
            event: Its number in the parent.
            now_us: Virtual time.
            issued_us, came_us: When it was made in the parent, and answered.
        """
        self._answers[event] = (now_us + max(0, came_us - issued_us), came_us)
        if len(self._answers) <= _KEPT:
            return None
        self._answers.pop(oldest := next(iter(self._answers)))
        return oldest

    def timer(self, tag: Tag) -> TimerSpan | None:
        """When a timer fires."""
        return self._timers.get(tag)

    def over(self, tag: Tag) -> TimerSpan | None:
        """When a timer was to fire that has, and is forgotten; None for what is none."""
        return self._timers.pop(tag, None)

    def answer(self, event: int, at_us: int | None = None) -> int | None:
        """When the answer of a call comes, or its part that came at ``at_us`` of the parent; None: not asked."""
        known = self._answers.get(event)
        if known is None:
            return None
        comes_us, came_us = known
        return comes_us + (max(0, at_us - came_us) if at_us is not None else 0)
