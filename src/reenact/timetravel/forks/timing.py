"""Which of a timer and a recorded answer comes first in a fork, where the order of the parent does not say it any more.

In the parent's order a timer has the place at which it fired. One that is set for longer, or for less, has lost that
place, and time decides. A recorded answer takes as long as it took. A fork does not know when exactly its code asked or
set a timer: between two deliveries no virtual time passes, and how long the code itself worked is known of today's
machine alone. So each moment has bounds, and what they leave open is as the order has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reenact.facts.order import Tag
from reenact.seams.gate import Waiter

LATE_US = 50_000
"""A timer that fires so much later than it did is another one, with another deadline."""
SLOWER = 4
"""How many times longer than today the code may have worked when the parent was recorded."""
_KEPT = 4_096
"""So many calls and timers are remembered; of what is older it is not known when it comes."""


@dataclass(frozen=True, slots=True)
class Coming:
    """When something comes, in the virtual time of the fork: not before ``from_us``, not after ``until_us``."""

    from_us: int
    until_us: int

    def is_before(self, other: Coming) -> bool:
        """Whether it comes clearly before something else."""
        return self.until_us + LATE_US < other.from_us


class Timing:
    """What is known of recorded answers and timers that are yet to come."""

    def __init__(self) -> None:
        self._timers: dict[Tag, Coming] = {}
        self._answers: dict[int, tuple[Coming, int]] = {}

    def sets(self, tag: Tag, now_us: int, wait_us: int, worked_us: int) -> None:
        """A timer is set.

        Args:
            tag: Its identity.
            now_us: Virtual time of the last delivery.
            wait_us: How long it is to wait.
            worked_us: How long the process has worked since that delivery, today. What it waits for a processor, on a
                busy machine, is not in it.
        """
        self._timers[tag] = Coming(now_us + wait_us, now_us + wait_us + SLOWER * worked_us)
        if len(self._timers) > _KEPT:
            del self._timers[next(iter(self._timers))]

    def asks(self, event: int, now_us: int, issued_us: int, came_us: int, worked_us: int) -> None:
        """A call is made whose answer is recorded.

        Args:
            event: Its number in the parent.
            now_us: Virtual time of the last delivery.
            issued_us, came_us: When it was made in the parent, and answered.
            worked_us: As for ``sets``.
        """
        takes_us = max(0, came_us - issued_us)
        coming = Coming(now_us + takes_us, now_us + takes_us + SLOWER * worked_us)
        self._answers[event] = (coming, came_us)
        if len(self._answers) > _KEPT:
            del self._answers[next(iter(self._answers))]

    def timer(self, tag: Tag) -> Coming | None:
        """When a timer fires."""
        return self._timers.get(tag)

    def answer(self, event: int, at_us: int | None = None) -> Coming | None:
        """When the answer of a call comes, or its part that came at ``at_us`` of the parent; None: nobody has asked."""
        known = self._answers.get(event)
        if known is None:
            return None
        coming, came_us = known
        later_us = max(0, at_us - came_us) if at_us is not None else 0
        return Coming(coming.from_us + later_us, coming.until_us + later_us)

    def sooner(self, waiting: Iterable[Waiter], next_tag: Tag, comes: Coming) -> Waiter | None:
        """A timer that fires clearly before what is next in the order, and before every recorded answer that somebody
        awaits, although its own place is later or nowhere; or the answer that comes before such a timer.

        Args:
            waiting: Who waits at the gate.
            next_tag, comes: What is next in the order, and when it comes.
        """
        others = [each for each in waiting if each.tag != next_tag and (each.alive is None or each.alive())]
        timers = [(fires, each) for each in others if (fires := self._timers.get(each.tag)) is not None]
        early = [(fires, each) for fires, each in timers if fires.is_before(comes)]
        if not early:
            return None
        fires, first = min(early, key=lambda each: each[0].from_us)
        calls = [each for each in others if each.tag.kind == "e" and not each.tag.lane]
        answers = [(answer, each) for each in calls if (answer := self.answer(each.tag.number)) is not None]
        before = [(answer, each) for answer, each in answers if not fires.is_before(answer)]
        return min(before, key=lambda each: each[0].from_us, default=(fires, first))[1]
