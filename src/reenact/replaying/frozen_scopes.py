"""Insides of calls that are answered as a whole: no code runs there, and no delivery is handed over."""

from __future__ import annotations

from reenact.abc.store import Recording
from reenact.facts.call import EndKind, Stream, is_transport
from reenact.facts.event import Event
from reenact.facts.lane_paths import parent_path
from reenact.facts.order import Delivery
from reenact.seams.lanes import scope_path


class FrozenScopes:
    """The scopes of the calls that were answered as a whole, by their paths."""

    __slots__ = ("_paths", "add", "discard")

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self.add = self._paths.add
        self.discard = self._paths.discard

    def __bool__(self) -> bool:
        return bool(self._paths)

    def hold(self, path: str) -> bool:
        """Whether a lane lies in one of these scopes."""
        paths = self._paths
        while path:
            if path in paths:
                return True
            path = parent_path(path)[0]
        return False


def never_handed_over(event: Event, delivery: Delivery) -> bool:
    """Whether a turn had come, but its receiver was cancelled before it got the delivery."""
    part, outcome = delivery.tag.n, event.outcome
    if part == 0:
        return event.delivery != delivery.number
    if not isinstance(outcome, Stream):
        return True
    if part > 0:
        return part > outcome.segments
    return outcome.end is None or outcome.end.kind in (EndKind.CLOSED, EndKind.CANCELLED)


def recorded_scope(recording: Recording, event: Event) -> str:
    """The recorded path of a call's scope, in a lane whose calls were not all made in their order."""
    ordinal = 0
    for other in recording.events(lane=event.lane, name=event.name):
        ordinal += not is_transport(other.call)
        if other.number == event.number:
            break
    return scope_path(event.lane, event.name, ordinal)
