"""The lanes that a replay has met, beside those of the recording: which have ended, and which calls are due."""

from __future__ import annotations

from collections.abc import Mapping

from reenact.abc.store import Recording
from reenact.errors import StoreError
from reenact.replaying.insides import FrozenScopes
from reenact.replaying.tape import Tape
from reenact.seams.lanes import Lane
from reenact.seams.turns import parent_path


class MetLanes:
    """Looks at the lanes of a replay.

    Args:
        lanes: Those met so far, by their recorded paths. The session adds to it.
        tape: The recorded calls.
        frozen_scopes: Where no code runs.
    """

    __slots__ = ("_frozen_scopes", "_lanes", "_tape")

    def __init__(self, lanes: Mapping[str, Lane], tape: Tape, frozen_scopes: FrozenScopes) -> None:
        self._lanes = lanes
        self._tape = tape
        self._frozen_scopes = frozen_scopes

    def gone(self, path: str) -> bool:
        """Whether a recorded lane has ended in this replay, or hangs on one that has."""
        while path:
            lane = self._lanes.get(path)
            if lane is not None:
                return lane.finished()
            path = parent_path(path)[0]
        return False

    def due(self, at_us: int) -> list[str]:
        """The lanes whose next recorded call had been made by then. Gate locked: no call is matched meanwhile."""
        heads = self._tape.heads()
        return [event.lane for event in heads if event.issued_us < at_us and not self._frozen_scopes.hold(event.lane)]


def lane_of(recording: Recording, event: int) -> str:
    """The lane of a recorded event; empty for what is none."""
    try:
        return recording.event(event).lane
    except StoreError:
        return ""
