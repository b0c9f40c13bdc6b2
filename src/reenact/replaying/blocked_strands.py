"""Finds the strand that a replay has to wait for because it blocks where no hook sees it: in a ``select``, in a lock of
a C library.

No strand runs then, and still that strand may go on by itself: its ``select`` times out after the same time as in the
recording. Its next call must neither be reported as missing, nor be overtaken by later deliveries of the recorded run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from reenact.abc.store import Recording
from reenact.errors import StoreError
from reenact.facts.lane_paths import parent_path, strand
from reenact.facts.order import Delivery, Tag
from reenact.replaying.frozen_scopes import FrozenScopes
from reenact.replaying.tape import Tape
from reenact.seams.lanes import Lane
from reenact.seams.schedules import PendingChange


class MetLanes:
    """Looks at the lanes of a replay.

    Args:
        lanes: The lanes met so far, by their recorded paths. The session adds to it.
        tape: The recorded calls.
        frozen_scopes: The scopes in which no code runs.
    """

    __slots__ = ("_frozen_scopes", "_lanes", "_tape")

    def __init__(self, lanes: Mapping[str, Lane], tape: Tape, frozen_scopes: FrozenScopes) -> None:
        self._lanes = lanes
        self._tape = tape
        self._frozen_scopes = frozen_scopes

    def gone(self, path: str) -> bool:
        """Whether a recorded lane has ended in this replay, or is below a lane that has."""
        while path:
            lane = self._lanes.get(path)
            if lane is not None:
                return lane.finished()
            path = parent_path(path)[0]
        return False

    def due(self, at_us: int) -> list[str]:
        """The lanes whose next recorded call had been made by ``at_us``. The gate is locked, so no call is matched
        meanwhile."""
        heads = self._tape.heads()
        return [event.lane for event in heads if event.issued_us < at_us and not self._frozen_scopes.hold(event.lane)]


def lane_of(recording: Recording, event: int) -> str:
    """The lane of a recorded event; empty for other numbers."""
    try:
        return recording.event(event).lane
    except StoreError:
        return ""


CALL_US = 2_000_000
"""How long a call is waited for, in addition to twice the time after which the recorded run made it."""
REST_US = 20_000
"""How long a delivery that is no answer is waited for, in addition to twice the time since the delivery before."""


class BlockedStrands:
    """Knows which strands may yet come.

    Args:
        lane_of: The lane of a recorded event.
        gone: Whether a recorded lane has ended, or will not appear.
        due: The lanes that had made their next call by this moment of the recorded run (in microseconds).
    """

    def __init__(
        self, lane_of: Callable[[int], str], gone: Callable[[str], bool], due: Callable[[int], Iterable[str]]
    ) -> None:
        self._lane_of = lane_of
        self._gone = gone
        self._due = due
        self.astray: set[str] = set()
        """The strands that have been waited for long enough."""

    def away(self, head: Delivery, waiting: Iterable[Tag], waited_us: int, now_us: int) -> list[str]:
        """The strand that may still wait for this delivery, if the replay has not waited for it yet.

        A missing call is a divergence, so the replay waits for it about as long as the recorded run took to make it,
        once for each strand. For another delivery it waits as long as the recorded run did after the delivery before.

        Args:
            head: The next delivery.
            waiting: The tags that strands wait for.
            waited_us: The time without any event.
            now_us: The time of the delivery before.
        """
        path = self._path(head.tag)
        if head.tag.kind != "e":
            return [strand(path)] * (waited_us <= REST_US + 2 * (head.at_us - now_us) and self._is_away(path, waiting))
        return [strand(path)] * (strand(path) not in self.astray and self._is_away(path, waiting))

    def late(self, head: Delivery, waiting: Iterable[Tag]) -> list[str]:
        """The strands that still have to make a call that was recorded before this delivery."""
        paths = [path for path in self._due(head.at_us) if self._is_away(path, waiting)]
        return [own for own in map(strand, paths) if own not in self.astray]

    def waits(self, strands: list[str], head: Delivery, waited_us: int) -> PendingChange | None:
        """None while the strands are waited for; after that the change that ends the wait for them."""
        return None if waited_us <= CALL_US + 2 * head.at_us else PendingChange(self.astray.update, (strands,))

    def _is_away(self, path: str, waiting: Iterable[Tag]) -> bool:
        """Whether a strand has not ended, and waits for no delivery."""
        return not self._gone(path) and strand(path) not in {strand(self._path(tag)) for tag in waiting}

    def _path(self, tag: Tag) -> str:
        """The lane that a delivery is for."""
        return self._lane_of(tag.number) if tag.kind == "e" else tag.lane
