"""Hidden calls: one of two runs answered a call as a whole, and the calls inside it are taken from the other run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reenact.abc.store import Recording
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.timetravel.run_pair import RunPair


@dataclass(frozen=True, slots=True)
class HiddenCalls:
    """Calls that belong to the answers of a run, which has no events of them.

    Attributes:
        recording: The run that has the events.
        events: The events.
        around: For each event, by number, the calls around it in the run that does not have it.
    """

    recording: Recording
    events: tuple[Event, ...] = ()
    around: Mapping[int, frozenset[int]] = field(default_factory=dict)


def hidden_calls(laid: RunPair) -> tuple[HiddenCalls, HiddenCalls]:
    """The hidden calls of the left run, taken from the right one, and the other way round."""
    return _unseen(laid, 1), _unseen(laid, 0)


def _unseen(laid: RunPair, side: int) -> HiddenCalls:
    seen = laid.sides[side]
    numbers = [(match.left, match.right) for match in laid.matches]
    alone = {each[side] for each, match in zip(numbers, laid.matches, strict=True) if None in each and not match.change}
    if not alone:
        return HiddenCalls(seen.recording)
    counterpart = {each[side]: each[1 - side] for each in numbers}
    parents = {face.number: face.parent for face in seen.faces}
    events = tuple(seen.event(face.number) for face in seen.faces if face.number in alone)
    around = {
        event.number: frozenset(
            there for parent in _above(event.number, parents) if (there := counterpart.get(parent)) is not None
        )
        for event in events
    }
    return HiddenCalls(seen.recording, events, around)


def _above(number: int, parents: Mapping[int, int | None]) -> Iterator[int]:
    """The calls around a call, the innermost first."""
    parent = parents.get(number)
    while parent is not None:
        yield parent
        parent = parents.get(parent)
