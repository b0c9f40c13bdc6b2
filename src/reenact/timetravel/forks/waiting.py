"""Who waits at the gate of a fork, in the order in which it comes: kept as they join, so that a delivery looks at few.

A timer, or a recorded answer, comes at a moment that is known once it waits. What is there already comes now, whenever
that is. So there is a line for each sort, of which nearly always the first one decides. Who has left the gate is taken
out of its line when it is met there.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator

from reenact.facts.order import Tag
from reenact.seams.waits import Waiter
from reenact.timetravel.forks.timing import LATE_US, UNSURE_US, Coming

_SPARE = 64
"""So many more places than twice those who wait are kept before who has left is looked for."""

Place = tuple[int, int, int, Waiter]
"""One who waits: from when on it comes, when it joined, until when it comes, and itself; for who is there already the
moments are 0."""
Line = list[Place]


class Waiting(dict[Tag, Waiter]):
    """Who waits, in order of arrival.

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
    """Who waits for a timer, for a recorded answer, or is there already.

    Args:
        waiting: Who waits, in order of arrival. Who is not alive never is again.
        comes: When a timer or a recorded answer comes; None for what is there already, or is not known.
        is_there: Whether somebody who waits for neither goes before others, as what is there already.
    """

    def __init__(
        self,
        waiting: dict[Tag, Waiter],
        comes: Callable[[Waiter], Coming | None],
        is_there: Callable[[Waiter], bool],
    ) -> None:
        self._waiting = waiting
        self._comes = comes
        self._is_there = is_there
        self._joined = 0
        self._timers: Line = []
        self._answers: Line = []
        self._timers_there: Line = []
        self._events_there: Line = []
        self._others_there: Line = []
        self._places: dict[Tag, tuple[Line, Place]] = {}
        self._events: set[int] = set()
        self._fill()

    def _fill(self) -> None:
        for line in (self._timers, self._answers, self._timers_there, self._events_there, self._others_there):
            line.clear()
        self._places.clear()
        self._events.clear()
        for waiter in self._waiting.values():
            self._add(waiter, self._joined)
            self._joined += 1

    def join(self, waiter: Waiter) -> None:
        """Somebody begins to wait."""
        if len(self._places) > 2 * len(self._waiting) + _SPARE:
            self._fill()  # it waits already
            return
        self._add(waiter, self._joined)
        self._joined += 1

    def forget(self, timer: Tag) -> None:
        """It is not known any more when a timer comes."""
        known = self._places.get(timer)
        if known is not None and self._waiting.get(timer) is known[1][3]:
            line, place = known
            at = bisect_left(line, place)
            if at < len(line) and line[at] is place:
                del line[at]
                self._add(place[3], place[1])

    def learn(self, event: int) -> None:
        """It has become known when a recorded answer comes, or is not known any more."""
        if event in self._events:
            self._fill()

    def _add(self, waiter: Waiter, joined: int) -> None:
        if waiter.tag.kind == "e":
            self._events.add(waiter.tag.number)
        coming = self._comes(waiter)
        if coming is not None:
            line = self._answers if waiter.deadline_us is None else self._timers
            place = (coming.from_us, joined, coming.until_us, waiter)
        elif self._is_there(waiter):
            if waiter.deadline_us is not None:
                line = self._timers_there
            else:
                line = self._events_there if waiter.tag.kind == "e" else self._others_there
            place = (0, joined, 0, waiter)
        else:
            return
        insort(line, place)
        self._places[waiter.tag] = (line, place)

    # --- questions ---------------------------------------------------------------------------------------------

    def sooner(self, tag: Tag, comes: Coming, now_us: int, *, answers: bool) -> Waiter | None:
        """A timer that fires clearly before what is next in the order, and before every recorded answer that somebody
        awaits, although its own place is later or nowhere; or the answer that comes before such a timer.

        Args:
            tag: What is next, which is not looked at.
            comes: When that comes.
            now_us: When what is there already comes.
            answers: Whether an answer may go before that even where no timer does.
        """
        timed = (self._timers, self._answers) if answers else (self._timers,)
        found = [place for line in timed if (place := self._clearly_before(line, tag, comes))]
        if now_us + LATE_US < comes.from_us:
            there = (self._timers_there, self._events_there, self._others_there)
            found += self._at(there if answers else there[:1], tag, now_us)
        if not found:
            return None
        fires = min(found)
        calls = self._at((self._events_there, self._others_there), tag, now_us)
        calls += self._heads((self._answers,), tag)
        before = min(calls, default=fires)
        return before[3] if before[0] <= fires[2] + LATE_US else fires[3]

    def is_unsure(self, tag: Tag, comes: Coming, now_us: int, *, timer: bool) -> bool:
        """Whether something would be before what is next in the order, if moments were certain, and one of them is a
        timer.

        Args:
            tag, comes, now_us: As for ``sooner``.
            timer: Whether what is next is one.
        """
        bound_us = comes.from_us - UNSURE_US
        timed = (self._timers, self._answers) if timer else (self._timers,)
        if any(place[0] < bound_us for place in self._heads(timed, tag)):
            return True
        there = (self._timers_there, self._events_there, self._others_there) if timer else (self._timers_there,)
        return now_us < bound_us and bool(self._heads(there, tag))

    def first(self, tag: Tag, comes: Coming, now_us: int) -> Waiter | None:
        """Who is most likely before somebody who has no place in the order; None: nobody. Arguments as for
        ``sooner``."""
        found = self._heads((self._timers, self._answers), tag)
        found += self._at((self._timers_there, self._events_there, self._others_there), tag, now_us)
        place = min(found, default=None)
        return place[3] if place is not None and place[0] < comes.from_us else None

    def is_near(self, tag: Tag, comes: Coming, now_us: int) -> bool:
        """Whether an answer comes so near to a timer that it is not certain which of them is first. Arguments as for
        ``sooner``."""
        for from_us, _, until_us, _ in self._walk(self._answers, tag):
            if from_us > comes.until_us + LATE_US:
                break
            if until_us + LATE_US >= comes.from_us:
                return True
        near = comes.from_us - LATE_US <= now_us <= comes.until_us + LATE_US
        return near and bool(self._heads((self._events_there,), tag))

    # --- lines -------------------------------------------------------------------------------------------------

    def _walk(self, line: Line, tag: Tag) -> Iterator[Place]:
        """Who stands in a line, but for one of them."""
        at = 0
        while at < len(line):
            place = line[at]
            waiter = place[3]
            if self._waiting.get(waiter.tag) is not waiter or (waiter.alive is not None and not waiter.alive()):
                del line[at]
                if (known := self._places.get(waiter.tag)) is not None and known[1] is place:
                    del self._places[waiter.tag]
                continue
            at += 1
            if waiter.tag != tag:
                yield place

    def _heads(self, lines: tuple[Line, ...], tag: Tag) -> list[Place]:
        """The first of each line."""
        return [place for line in lines if (place := next(self._walk(line, tag), None))]

    def _at(self, lines: tuple[Line, ...], tag: Tag, now_us: int) -> list[Place]:
        """The first of each line of those who are there already, with the moment that it is now."""
        return [(now_us, joined, now_us, waiter) for _, joined, _, waiter in self._heads(lines, tag)]

    def _clearly_before(self, line: Line, tag: Tag, comes: Coming) -> Place | None:
        """The first of a line that comes clearly before something else."""
        bound_us = comes.from_us - LATE_US
        for place in self._walk(line, tag):
            if place[0] >= bound_us:
                return None
            if place[2] < bound_us:
                return place
        return None
