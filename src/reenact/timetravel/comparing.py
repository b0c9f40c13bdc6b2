"""Compare: lay two runs beside each other, call by call, and find where they part."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from reenact.abc.store import Recording, Store
from reenact.facts.call import Failure, Json, Stream
from reenact.facts.difference import Difference, differences, patch
from reenact.facts.event import Event
from reenact.facts.run import Run
from reenact.facts.values import canonical
from reenact.store import open_store
from reenact.timetravel import documents
from reenact.timetravel.aligning import Match, Sort, align, last_inside
from reenact.timetravel.authorship import equal
from reenact.timetravel.faces import Side, compared, same_call, side_of
from reenact.timetravel.figures import figures
from reenact.timetravel.readings import decision_of

_MOST = 100_000


class Pair:
    """A call of the left run and its counterpart in the right one; one of them is None where there is none.

    Attributes:
        numbers: Numbers of their events.
        changes: How they differ; empty where they are the same.
    """

    __slots__ = ("_sides", "changes", "numbers")

    def __init__(
        self, sides: tuple[Side, Side], numbers: tuple[int | None, int | None], changes: tuple[Sort, ...]
    ) -> None:
        self._sides = sides
        self.numbers = numbers
        self.changes = changes

    @property
    def left(self) -> Event | None:
        """The event of the left run; it is read when it is asked for."""
        return self._event(0)

    @property
    def right(self) -> Event | None:
        """The event of the right run."""
        return self._event(1)

    @property
    def event(self) -> Event:
        """The event of the side that has one, the right one first."""
        found = self.right or self.left
        assert found is not None
        return found

    def differences(self) -> list[Difference]:
        """What differs inside the pair, from left to right; an event that is not there is null."""
        left, right = (documents.document(each.recording, self._event(n)) for n, each in enumerate(self._sides))
        return differences(left, right, _MOST)

    def patch(self) -> list[dict[str, Json]]:
        """An RFC 6902 patch that turns the left event's document into the right one's."""
        return patch(self.differences())

    def _event(self, side: int) -> Event | None:
        number = self.numbers[side]
        return None if number is None else self._sides[side].event(number)

    def __repr__(self) -> str:
        left, right = ("-" if number is None else number for number in self.numbers)
        return f"<Pair {left} {right} {', '.join(self.changes) or 'same'}>"


class Comparison:
    """Two runs, aligned. Each part is worked out when it is first asked for.

    Args:
        left: One run.
        right: The run it is compared with.

    Attributes:
        recordings: The logs of both.
    """

    def __init__(self, left: Recording, right: Recording) -> None:
        self.recordings = (left, right)

    @cached_property
    def first_difference(self) -> Pair | None:
        """The pair at which the runs part, in the order in which it happened; None when all pairs are the same.

        A call that asks the same and gets another answer parts when its answer comes, after what happened in it."""
        for match in sorted(self._matches, key=self._moment):
            changes = self._changes(match)
            if changes:
                return Pair(self._sides, (match.left, match.right), changes)
        return None

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Every call of both runs once, in the order of the left one."""
        return tuple(Pair(self._sides, (each.left, each.right), self._changes(each)) for each in self._matches)

    @property
    def differences(self) -> tuple[Pair, ...]:
        """The pairs that differ."""
        return tuple(pair for pair in self.pairs if pair.changes)

    @cached_property
    def summary(self) -> Mapping[str, Json]:
        """Answer, tools, tokens, cost and time of both, under ``left`` and ``right``; ``changes`` counts differences
        by their sort, ``same`` says whether there are none at all."""
        sides = {name: figures(side.recording, _calls(side)) for name, side in zip(_SIDES, self._sides, strict=True)}
        counts: dict[str, int] = {}
        for pair in self.differences:
            for change in pair.changes:
                counts[change.value] = counts.get(change.value, 0) + 1
        ended = all(equal(sides["left"][name], sides["right"][name]) for name in _ENDS)
        return {**sides, "changes": counts, "same": ended and not counts}

    @property
    def same(self) -> bool:
        """Whether every call is the same, and both ended in the same way."""
        return bool(self.summary["same"])

    @cached_property
    def _sides(self) -> tuple[Side, Side]:
        left, right = self.recordings
        return compared(side_of(left), side_of(right))

    @cached_property
    def _matches(self) -> list[Match]:
        left, right = self._sides
        return align(left.faces, right.faces)

    @cached_property
    def _last_inside(self) -> dict[int, int]:
        return last_inside(self._sides[0].faces)

    @cached_property
    def _places(self) -> dict[int, int]:
        """The left event behind which each added one of the right run stands, by number."""
        places = {}
        at = -1
        for match in self._matches:
            if match.left is not None:
                at = match.left
            elif match.right is not None:
                places[match.right] = at
        return places

    def _moment(self, match: Match) -> tuple[int, int, int]:
        """When a pair differs, if it does."""
        if match.left is None:
            assert match.right is not None
            return self._places[match.right], 1, match.right
        if match.change is not None:
            return match.left, 0, 0
        return self._last_inside[match.left], 2, -match.left

    def _changes(self, match: Match) -> tuple[Sort, ...]:
        if match.left is None or match.right is None:
            return () if match.change is None else (match.change,)
        found = [] if match.change is None else [match.change]
        ours, theirs = self._sides
        same_bytes = ours.said[match.left] == theirs.said[match.right]
        if same_bytes and match.change is not Sort.ARGUMENTS:
            return tuple(found)
        left, right = ours.recording, theirs.recording
        one, other = ours.event(match.left), theirs.event(match.right)
        if match.change is Sort.ARGUMENTS and same_call(left, one, right, other):
            found = []
        if not same_bytes and not same_answer(left, one, right, other):
            found.append(Sort.ANSWER)
        return tuple(found)


_SIDES = ("left", "right")
_ENDS = ("status", "answer", "error")


def _calls(side: Side) -> Iterator[str]:
    return (face.call for face in side.faces)


def same_answer(left: Recording, one: Event, right: Recording, other: Event) -> bool:
    """Whether two answers of different bytes say the same: decisions of a model without ids and times, values whose
    members have no order, content in another coding."""
    if type(one.outcome) is not type(other.outcome):
        return False
    if isinstance(one.outcome, (Stream, Failure)):
        decided = decision_of(one), decision_of(other)
        if None not in decided and isinstance(one.outcome, Stream):
            return decided[0] == decided[1]
        return equal(documents.answer(left, one), documents.answer(right, other))
    return canonical(left.body(one.answer)) == canonical(right.body(other.answer))


def compare(left: Run | str, right: Run | str, *, store: Store | str | None = None) -> Comparison:
    """Align two runs and say where they part.

    Calls are aligned by what they are (strand, name, what they ask), so that one that was inserted does not shift the
    rest. Each difference is *added*, *removed*, *reordered*, *changed arguments* or *changed answer*.

    Args:
        left: A run, or a reference to it.
        right: The run to compare it with, or a reference.
        store: Where both are kept; None takes the store that a ``Run`` was read from, else the project's.

    Returns:
        The aligned events, the first difference and a summary.

    Raises:
        RunNotFound: One of them is not there.
    """
    homes = [run.home for run in (left, right) if isinstance(run, Run) and run.home is not None]
    kept = store if store is not None else homes[0] if homes else None
    if kept is not None and not isinstance(kept, str):
        return Comparison(kept.open(left), kept.open(right))
    opened = open_store(kept)
    comparison = Comparison(opened.open(left), opened.open(right))
    weakref.finalize(comparison, opened.close)
    return comparison


def compare_all(recordings: Sequence[Recording]) -> list[Comparison]:
    """The first of some runs compared with each other one."""
    first, *others = recordings
    return [Comparison(first, other) for other in others]
