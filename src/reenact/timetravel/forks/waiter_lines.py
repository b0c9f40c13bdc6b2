"""The waiters at the gate of a fork, kept in the order in which they come, so that a delivery looks at few.

A timer, or a recorded answer, comes at a moment that is known once it waits. A waiter that can go already comes now. So
there is a line for each sort, of which nearly always the first one decides. A waiter that has left the gate is taken
out of its line when it is met there.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator
from itertools import takewhile

from reenact.facts.order import Tag
from reenact.seams.waits import Waiter
from reenact.timetravel.forks.due_moments import LATE_US, UNSURE_US

_SPARE = 64
"""So many more places than twice those who wait are kept before who has left is looked for."""

Place = tuple[int, int, Waiter]
"""One who waits: when it comes, when it joined, and itself."""

_TIMER, _ANSWER, _TIMER_HERE, _EVENT_HERE, _OTHER_HERE = range(5)
"""The lines. In those of what is there already no moment is kept: whenever it is asked for, it is now."""
_TIMERS = (_TIMER, _TIMER_HERE)
_ALL = (_TIMER, _ANSWER, _TIMER_HERE, _EVENT_HERE, _OTHER_HERE)
_NOT_TIMERS = (_ANSWER, _EVENT_HERE, _OTHER_HERE)


class WaiterTable(dict[Tag, Waiter]):
    """The waiters, in order of arrival.

    Args:
        joins: Told of each who begins to wait, and whether it takes the place of one who did.
    """

    def __init__(self, joins: Callable[[Waiter, bool], object]) -> None:
        super().__init__()
        self._joins = joins

    def __setitem__(self, tag: Tag, waiter: Waiter) -> None:
        replaces = tag in self
        super().__setitem__(tag, waiter)
        self._joins(waiter, replaces)


class Lines:
    """The waiters for a timer, for a recorded answer, and those that can go already.

    Args:
        waiting: The waiters, in order of arrival. One that is not alive never is again.
        comes: When a timer or a recorded answer comes; None for one that has come already, or is not known.
        is_there: Whether a waiter for neither goes before others, because it can go already.
    """

    def __init__(
        self,
        waiting: dict[Tag, Waiter],
        comes: Callable[[Waiter], int | None],
        is_there: Callable[[Waiter], bool],
    ) -> None:
        self._waiting = waiting
        self._comes = comes
        self._is_there = is_there
        self._joined = 0
        self._lines: tuple[list[Place], ...] = tuple([] for _ in _ALL)
        self.events: set[int] = set()
        """Recorded calls, and the fork's own, for whose answers a strand waits, or has waited."""
        for waiter in waiting.values():
            self.join(waiter)

    @property
    def is_stale(self) -> bool:
        """Whether most of those in the lines have left: they are to be made anew."""
        return sum(map(len, self._lines)) > 2 * len(self._waiting) + _SPARE

    def join(self, waiter: Waiter) -> None:
        """Take in a waiter that begins to wait."""
        self._joined += 1
        event, timer = waiter.tag.kind == "e", waiter.deadline_us is not None
        if event:
            self.events.add(waiter.tag.number)
        coming = self._comes(waiter)
        if coming is not None:
            insort(self._lines[_TIMER if timer else _ANSWER], (coming, self._joined, waiter))
        elif self._is_there(waiter):
            line = self._lines[_TIMER_HERE if timer else _EVENT_HERE if event else _OTHER_HERE]
            line.append((0, self._joined, waiter))

    # --- questions ---------------------------------------------------------------------------------------------

    def sooner(self, tag: Tag, comes_us: int, now_us: int, *held: Tag, answers: bool) -> Waiter | None:
        """A timer that fires clearly before what is next in the order, and before every recorded answer that somebody
        awaits, although its own place is later or nowhere; or the answer that comes before such a timer.

        Args:
            tag, held: What is next, and waits in which a handler runs: they are not looked at.
            comes_us: When that comes.
            now_us: When what is there already comes.
            answers: Whether an answer may go before that even where no timer does.
        """
        fires = min(self._heads(_ALL if answers else _TIMERS, (tag, *held), now_us), default=None)
        if fires is None or fires[0] >= comes_us - LATE_US:
            return None
        before = min(self._heads(_NOT_TIMERS, (tag, *held), now_us), default=fires)
        return before[2] if before[0] <= fires[0] + LATE_US else fires[2]

    def is_unsure(self, tag: Tag, comes_us: int, now_us: int, *held: Tag, timer: bool) -> bool:
        """Whether something would be before what is next in the order, if moments were certain, and one of them is a
        timer.

        Args:
            tag, comes_us, now_us: As for ``sooner``.
            timer: Whether the next delivery is one.
        """
        heads = self._heads(_ALL if timer else _TIMERS, (tag, *held), now_us)
        return any(place[0] < comes_us - UNSURE_US for place in heads)

    def first(self, tag: Tag, comes_us: int, now_us: int, *held: Tag) -> Waiter | None:
        """The most likely waiter before one that has no place in the order; None: none. Arguments as for ``sooner``."""
        place = min(self._heads(_ALL, (tag, *held), now_us), default=None)
        return place[2] if place is not None and place[0] < comes_us else None

    def is_near(self, tag: Tag, comes_us: int, now_us: int, *held: Tag) -> bool:
        """Whether an answer comes so near to a timer that it is not certain which of them is first. Arguments as for
        ``sooner``."""
        known = takewhile(lambda place: place[0] <= comes_us + LATE_US, self._walk(_ANSWER, (tag, *held), now_us))
        events = (*known, *self._heads((_EVENT_HERE,), (tag, *held), now_us))
        return any(abs(place[0] - comes_us) <= LATE_US for place in events)

    # --- lines -------------------------------------------------------------------------------------------------

    def _walk(self, number: int, but: tuple[Tag, ...], now_us: int) -> Iterator[Place]:
        """The places of a line, but for one of them."""
        line, at = self._lines[number], 0
        while at < len(line):
            place = line[at]
            waiter = place[2]
            if self._waiting.get(waiter.tag) is not waiter or (waiter.alive is not None and not waiter.alive()):
                del line[at]
                continue
            at += 1
            if waiter.tag not in but:
                yield place if number <= _ANSWER else (now_us, place[1], waiter)

    def _heads(self, lines: tuple[int, ...], but: tuple[Tag, ...], now_us: int) -> list[Place]:
        """The first of each line."""
        return [place for line in lines if (place := next(self._walk(line, but, now_us), None))]
