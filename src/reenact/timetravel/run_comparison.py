"""Compare: lay two runs beside each other, call by call, and find where they part."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from reenact.abc.store import Recording, Store
from reenact.facts.call import Json
from reenact.facts.difference import Difference, differences, patch
from reenact.facts.event import Event
from reenact.facts.run import Run
from reenact.store import open_store
from reenact.timetravel import event_documents
from reenact.timetravel.alignment import CallPair, PairSort
from reenact.timetravel.authorship import equal
from reenact.timetravel.faces import Side, beginnings, compared, side_of
from reenact.timetravel.figures import figures
from reenact.timetravel.hidden_calls import hidden_calls
from reenact.timetravel.run_pair import RunPair

_MOST = 100_000
_NEAR = 64
"""The number of calls after the first difference that are aligned, to find out what the difference is."""


class Pair:
    """A call of the left run and its counterpart in the right one; one of them may be None.

    Attributes:
        numbers: The numbers of their events.
        changes: Their differences; empty where they are equal. Also empty for a call inside a call that the other run
            answered as a whole, because its counterpart is unknown.
    """

    __slots__ = ("_sides", "changes", "numbers")

    def __init__(
        self, sides: tuple[Side, Side], numbers: tuple[int | None, int | None], changes: tuple[PairSort, ...]
    ) -> None:
        self._sides = sides
        self.numbers = numbers
        self.changes = changes

    @property
    def left(self) -> Event | None:
        """The event of the left run; it is read on first use."""
        return self._event(0)

    @property
    def right(self) -> Event | None:
        """The event of the right run."""
        return self._event(1)

    @property
    def event(self) -> Event:
        """The event of the right run, or of the left run where the right one has none."""
        found = self.right or self.left
        assert found is not None
        return found

    def differences(self) -> list[Difference]:
        """The differences inside the pair, from left to right; a missing event is null."""
        left, right = (event_documents.document(each.recording, self._event(n)) for n, each in enumerate(self._sides))
        return differences(left, right, _MOST)

    def patch(self) -> list[dict[str, Json]]:
        """An RFC 6902 patch that turns the left event's document into the right one's."""
        return patch(self.differences())

    def _event(self, side: int) -> Event | None:
        number = self.numbers[side]
        return None if number is None else self._sides[side].event(number)

    def __repr__(self) -> str:
        left, right = ("-" if number is None else number for number in self.numbers)
        return f"<Pair {left} {right} {', '.join(self.changes) or ('unknown' if None in self.numbers else 'same')}>"


class Comparison:
    """Two runs, aligned. Each part is computed on first use.

    Args:
        left: One run.
        right: The run it is compared with.
        sent: Whether a model request is compared as a fork sent it; if not, as the agent's code made it.

    Attributes:
        recordings: The logs of both.
    """

    def __init__(self, left: Recording, right: Recording, *, sent: bool = True) -> None:
        self.recordings = (left, right)
        self._sent = sent

    @cached_property
    def first_difference(self) -> Pair | None:
        """The pair at which the runs part, in the order of events; None when all pairs are the same.

        A call with the same request and another answer differs at the moment of its answer, after the calls inside
        it."""
        if "_laid" in self.__dict__:
            return self._pair(self._laid, self._laid.first())
        found = beginnings(*self.recordings, 2 * _NEAR, sent=self._sent)
        if found is None:
            return None
        left, right, alike = found
        near = RunPair(*compared(left, right))
        rest = left.faces[alike:]
        first = near.first(before=rest[_NEAR].number if len(rest) > _NEAR else None)
        return self._pair(near, first) if first is not None else self._pair(self._laid, self._laid.first())

    def _pair(self, laid: RunPair, match: CallPair | None) -> Pair | None:
        return None if match is None else Pair(laid.sides, (match.left, match.right), laid.changes(match))

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Every call of both runs once, in the order of the left one."""
        laid = self._laid
        return tuple(Pair(laid.sides, (each.left, each.right), laid.changes(each)) for each in laid.matches)

    @property
    def differences(self) -> tuple[Pair, ...]:
        """The pairs that differ."""
        return tuple(pair for pair in self.pairs if pair.changes)

    @cached_property
    def summary(self) -> Mapping[str, Json]:
        """Answer, tools, tokens, cost and time of both, under ``left`` and ``right``; ``changes`` counts the
        differences by sort, and ``same`` is true without any. Calls inside one that a run answered as a whole count for
        both."""
        sides = {
            name: figures(side.recording, _calls(side), more)
            for name, side, more in zip(_SIDES, self._laid.sides, hidden_calls(self._laid), strict=True)
        }
        counts: dict[str, int] = {}
        for pair in self.differences:
            for change in pair.changes:
                counts[change.value] = counts.get(change.value, 0) + 1
        ended = all(equal(sides["left"][name], sides["right"][name]) for name in _ENDS)
        return {**sides, "changes": counts, "same": ended and not counts}

    @property
    def same(self) -> bool:
        """Whether all calls are equal, and both runs ended in the same way."""
        return bool(self.summary["same"])

    @cached_property
    def _laid(self) -> RunPair:
        left, right = self.recordings
        return RunPair(*compared(side_of(left, sent=self._sent), side_of(right, sent=self._sent)))


_SIDES = ("left", "right")
_ENDS = ("status", "answer", "error")


def _calls(side: Side) -> Iterator[str]:
    return (face.call for face in side.faces)


def compare(left: Run | str, right: Run | str, *, store: Store | str | None = None) -> Comparison:
    """Align two runs, and find where they part.

    Calls are aligned by strand, name and request, so that an inserted call does not shift the rest. Calls inside one
    that a run answered as a whole, as a replay or a fork answers a tool, are no difference. Each difference is *added*,
    *removed*, *reordered*, *changed arguments* or *changed answer*.

    Args:
        left: A run, or a reference to it.
        right: The run to compare it with, or a reference.
        store: The store of both; None takes the store that a ``Run`` was read from, else the project's.

    Returns:
        The aligned events, the first difference and a summary.

    Raises:
        RunNotFound: A run does not exist.
    """
    homes = [run.home for run in (left, right) if isinstance(run, Run) and run.home is not None]
    kept = store if store is not None else homes[0] if homes else None
    if kept is not None and not isinstance(kept, str):
        return Comparison(kept.open(left), kept.open(right))
    opened = open_store(kept)
    comparison = Comparison(opened.open(left), opened.open(right))
    weakref.finalize(comparison.recordings[0], opened.close)  # a pair that is still in use keeps the store open
    return comparison


def compare_all(recordings: Sequence[Recording]) -> list[Comparison]:
    """Comparisons of the first run with each of the others."""
    first, *others = recordings
    return [Comparison(first, other) for other in others]
