"""Which of a timer and a recorded answer comes first in a fork, where the order of the parent does not say it any more.

In the parent's order a timer has the place at which it fired. One that is set for longer, or for less, has lost that
place, and time decides. A recorded answer takes as long as it took. The recording keeps when a timer that fired was set
and due; of one that was cancelled it does not, so how long the code had worked before it is known of today's machine
alone, where it has read no clock. So each moment has bounds, and what they leave open is as the order has it.
"""

from __future__ import annotations

from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.order import Tag, Timed

LATE_US = 50_000
"""A timer that fires so much later than it did is another one, with another deadline."""
UNSURE_US = 1_000
"""What comes so much earlier than what the order has before it would be first if it were certain."""
ALIKE_US = 10_000
"""A timer that waits less by so little is the same one: code may reckon by a clock how long it is to wait."""
SLOWER = 4
"""How many times longer than today the code may have worked when the parent was recorded."""
_KEPT = 4_096
"""So many calls and timers are remembered; of what is older it is not known when it comes."""


@dataclass(frozen=True, slots=True)
class Coming:
    """When something comes, in the virtual time of the fork: not before ``from_us``, not after ``until_us``."""

    from_us: int
    until_us: int


@dataclass(frozen=True, slots=True)
class Timer(Coming):
    """When a timer fires.

    Attributes:
        set_us: When it was set, in the fork.
    """

    set_us: int

    def is_shorter(self, then: Timed) -> bool:
        """Whether it waits less than the recorded one did, however late that one fired."""
        return then.due_us - then.set_us - (self.from_us - self.set_us) > ALIKE_US


class Timing:
    """What is known of recorded answers and timers that are yet to come."""

    def __init__(self) -> None:
        self._timers: dict[Tag, Timer] = {}
        self._answers: dict[int, tuple[Coming, int]] = {}

    def sets(self, tag: Tag, now_us: int, deadline_us: int, unknown_us: int) -> Tag | None:
        """A timer is set; gives one that is forgotten for it.

        Args:
            tag: Its identity.
            now_us: Virtual time, as far as it is known.
            deadline_us: When it is to fire, by that.
            unknown_us: How much later it may be: the code has worked since the last delivery.
        """
        self._timers[tag] = Timer(deadline_us, deadline_us + unknown_us, now_us)
        if len(self._timers) <= _KEPT:
            return None
        self._timers.pop(oldest := next(iter(self._timers)))
        return oldest

    def asks(self, event: int, now_us: int, issued_us: int, came_us: int, unknown_us: int) -> int | None:
        """A call is made whose answer is recorded; gives one that is forgotten for it.

        Args:
            event: Its number in the parent.
            now_us, unknown_us: As for ``sets``.
            issued_us, came_us: When it was made in the parent, and answered.
        """
        comes_us = now_us + max(0, came_us - issued_us)
        self._answers[event] = (Coming(comes_us, comes_us + unknown_us), came_us)
        if len(self._answers) <= _KEPT:
            return None
        self._answers.pop(oldest := next(iter(self._answers)))
        return oldest

    def timer(self, tag: Tag) -> Timer | None:
        """When a timer fires."""
        return self._timers.get(tag)

    def over(self, tag: Tag) -> Timer | None:
        """When a timer was to fire that has, and is forgotten; None for what is none."""
        return self._timers.pop(tag, None)

    def answer(self, event: int, at_us: int | None = None) -> Coming | None:
        """When the answer of a call comes, or its part that came at ``at_us`` of the parent; None: nobody has asked."""
        known = self._answers.get(event)
        if known is None:
            return None
        coming, came_us = known
        later_us = max(0, at_us - came_us) if at_us is not None else 0
        return Coming(coming.from_us + later_us, coming.until_us + later_us)
