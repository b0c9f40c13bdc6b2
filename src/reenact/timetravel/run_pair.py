"""Two runs side by side: the pairs of their calls, the differences, and the first difference."""

from __future__ import annotations

from functools import cached_property

from reenact.abc.body_access import WITHHELD
from reenact.abc.store import Recording
from reenact.errors import BlobMissing
from reenact.facts.call import Failure, Stream
from reenact.facts.event import Event
from reenact.facts.values import canonical
from reenact.timetravel import event_documents
from reenact.timetravel.alignment import CallPair, PairSort, align, last_inside
from reenact.timetravel.authorship import equal
from reenact.timetravel.faces import Side, same_call
from reenact.timetravel.model_readings import decision_of


class RunPair:
    """Two runs, or their beginnings, aligned.

    Args:
        left: One side.
        right: The other.

    Attributes:
        sides: Both.
        matches: The calls of both, each once.
    """

    def __init__(self, left: Side, right: Side) -> None:
        self.sides = (left, right)
        self.matches = align(left.faces, right.faces, (left.words, right.words))

    def first(self, before: int | None = None) -> CallPair | None:
        """The match that differs first, in the order of events; None without one.

        Args:
            before: Only matches before this event of the left run.
        """
        for moment, match in sorted(((self._moment(match), match) for match in self.matches), key=lambda each: each[0]):
            if before is not None and moment[0] >= before:
                return None
            if self.changes(match):
                return match
        return None

    @cached_property
    def _last_inside(self) -> dict[int, int]:
        return last_inside(self.sides[0].faces)

    @cached_property
    def _places(self) -> dict[int, int]:
        """The left event after which each added event of the right run is placed, by number."""
        places = {}
        at = -1
        for match in self.matches:
            if match.left is not None:
                at = match.left
            elif match.right is not None:
                places[match.right] = at
        return places

    def _moment(self, match: CallPair) -> tuple[int, int, int]:
        """The moment at which a pair differs; None if it does not."""
        if match.left is None:
            assert match.right is not None
            return self._places[match.right], 1, match.right
        if match.change is not None:
            return match.left, 0, 0
        if match.left < self._branching:  # this call's answer came after the fork point
            return self.sides[0].faces[-1].number, 3, match.left
        return self._last_inside[match.left], 2, -match.left

    @cached_property
    def _branching(self) -> int:
        """The event up to which both have the same course: the branching event of a fork from the other run, or from
        their common parent; 0 without one."""
        left, right = (side.recording.run for side in self.sides)
        cuts = {run.id: run.fork_event or 0 for run in (left, right) if run.relation == "fork"}
        if left.parent == right.parent and {left.id, right.id} == cuts.keys():
            return min(cuts.values())
        if right.parent == left.id:
            return cuts.get(right.id, 0)
        return cuts.get(left.id, 0) if left.parent == right.id else 0

    def changes(self, match: CallPair) -> tuple[PairSort, ...]:
        """The differences between the two calls of a match; empty where they are the same. Payloads are read where
        bytes differ."""
        if match.left is None or match.right is None:
            return () if match.change is None else (match.change,)
        found = [] if match.change is None else [match.change]
        ours, theirs = self.sides
        same_bytes = ours.said[match.left] == theirs.said[match.right]
        if same_bytes and match.change is not PairSort.ARGUMENTS:
            return tuple(found)
        left, right = ours.recording, theirs.recording
        one, other = ours.event(match.left), theirs.event(match.right)
        if match.change is PairSort.ARGUMENTS and same_call(left, one, right, other, sent=ours.sent):
            found = []
        if not same_bytes and not same_answer(left, one, right, other):
            found.append(PairSort.ANSWER)
        return tuple(found)


def same_answer(left: Recording, one: Event, right: Recording, other: Event) -> bool:
    """Whether two answers with different bytes mean the same: decisions of a model without ids and times, objects with
    their members in any order, content in another encoding."""
    if type(one.outcome) is not type(other.outcome):
        return False
    if isinstance(one.outcome, (Stream, Failure)):
        decided = decision_of(one), decision_of(other)
        if None not in decided and isinstance(one.outcome, Stream):
            return decided[0] == decided[1]
        return equal(event_documents.answer(left, one), event_documents.answer(right, other))
    try:
        return canonical(left.body(one.answer)) == canonical(right.body(other.answer))
    except BlobMissing as error:
        if error.reason != WITHHELD:
            raise
        return False  # of one answer only the digest is known, and the digests differ
