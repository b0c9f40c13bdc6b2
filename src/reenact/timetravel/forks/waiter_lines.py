"""The waiters at the gate of a fork, kept in the order in which they come, so that a delivery looks at few.

The moment of a timer, or of a recorded answer, is known once its waiter waits; if it can go already, its moment is now.
So there is a line for each sort, and nearly always the first waiter of a line decides. A waiter that has left the
gate is taken out of its line when it is met there.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator
from itertools import takewhile

from reenact.facts.order import Tag
from reenact.seams.waits import Waiter
from reenact.timetravel.forks.due_moments import LATE_US, UNSURE_US

_SPARE = 64
"""The lines are filled again when they have more places than twice the number of waiters and this many."""

Place = tuple[int, int, Waiter]
"""A waiter in a line: when it comes, its number in the order of arrival, and the waiter."""

_TIMER, _ANSWER, _TIMER_HERE, _EVENT_HERE, _OTHER_HERE = range(5)
"""The lines. The last three hold waiters that can go already and always come now, so they have no moment."""
_TIMERS = (_TIMER, _TIMER_HERE)
_ALL = (_TIMER, _ANSWER, _TIMER_HERE, _EVENT_HERE, _OTHER_HERE)
_NOT_TIMERS = (_ANSWER, _EVENT_HERE, _OTHER_HERE)


class WaiterTable(dict[Tag, Waiter]):
    """The waiters, in order of arrival.

    Args:
        joins: Called with each waiter that begins to wait, and whether it replaces another waiter with the same tag.
    """

    def __init__(self, joins: Callable[[Waiter, bool], object]) -> None:
        super().__init__()
        self._joins = joins

    def __setitem__(self, tag: Tag, waiter: Waiter) -> None:
        replaces = tag in self
        super().__setitem__(tag, waiter)
        self._joins(waiter, replaces)


class WaiterLines:
    """The waiters for a timer, for a recorded answer, and those that can go already.

    Args:
        waiting: The waiters, in order of arrival. A waiter that is not alive is never alive again.
        comes: Gives the moment of a timer or of a recorded answer; None if it has passed, or is not known.
        is_there: Whether a waiter that waits for neither can go already, and so goes before the others.
    """

    def __init__(
        self, waiting: dict[Tag, Waiter], comes: Callable[[Waiter], int | None], is_there: Callable[[Waiter], bool]
    ) -> None:
        self._waiting = waiting
        self._comes = comes
        self._is_there = is_there
        self._joined = 0
        self._lines: tuple[list[Place], ...] = tuple([] for _ in _ALL)
        self.events: set[int] = set()
        """The calls, recorded ones and the fork's own, for whose answers a strand waits or has waited."""
        for waiter in waiting.values():
            self.join(waiter)

    @property
    def is_stale(self) -> bool:
        """Whether most waiters in the lines have left the gate, so that the lines should be filled again."""
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
        """The waiter that goes before the next delivery of the order, because time says so. It is a timer that fires
        clearly before that delivery and before every awaited answer, or the answer that comes before such a timer.

        Args:
            tag: The next delivery.
            comes_us: The moment of the next delivery.
            now_us: The moment of a waiter that can go already.
            held: The waits in which a signal handler runs. They and ``tag`` are left out.
            answers: Whether an answer may go first even where no timer does.
        """
        fires = min(self._heads(_ALL if answers else _TIMERS, (tag, *held), now_us), default=None)
        if fires is None or fires[0] >= comes_us - LATE_US:
            return None
        before = min(self._heads(_NOT_TIMERS, (tag, *held), now_us), default=fires)
        return before[2] if before[0] <= fires[0] + LATE_US else fires[2]

    def is_unsure(self, tag: Tag, comes_us: int, now_us: int, *held: Tag, timer: bool) -> bool:
        """Whether a waiter would go before the next delivery of the order if moments were certain. One of the two must
        be a timer.

        Args:
            tag, comes_us, now_us, held: As for ``sooner``.
            timer: Whether the next delivery is a timer.
        """
        heads = self._heads(_ALL if timer else _TIMERS, (tag, *held), now_us)
        return any(place[0] < comes_us - UNSURE_US for place in heads)

    def first(self, tag: Tag, comes_us: int, now_us: int, *held: Tag) -> Waiter | None:
        """The waiter that most likely goes before one without a place in the order, or None. See ``sooner``."""
        place = min(self._heads(_ALL, (tag, *held), now_us), default=None)
        return place[2] if place is not None and place[0] < comes_us else None

    def is_near(self, tag: Tag, comes_us: int, now_us: int, *held: Tag) -> bool:
        """Whether an answer and a timer are so close that their order is uncertain. Arguments as for ``sooner``."""
        known = takewhile(lambda place: place[0] <= comes_us + LATE_US, self._walk(_ANSWER, (tag, *held), now_us))
        events = (*known, *self._heads((_EVENT_HERE,), (tag, *held), now_us))
        return any(abs(place[0] - comes_us) <= LATE_US for place in events)

    # --- lines -------------------------------------------------------------------------------------------------

    def _walk(self, number: int, but: tuple[Tag, ...], now_us: int) -> Iterator[Place]:
        """The places of a line, without the places of the tags in ``but``."""
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
        """The first place of each line."""
        return [place for line in lines if (place := next(self._walk(line, but, now_us), None))]
