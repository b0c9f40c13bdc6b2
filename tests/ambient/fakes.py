"""Two small sessions for these tests: one keeps what is read, in the packed form, the other answers from that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from reenact.abc.session import Session
from reenact.facts.run import Run
from reenact.seams import ambient, clock, entropy, lanes
from reenact.seams.ambient import pack
from reenact.testing.frozen_time import OpenSchedule

Address = tuple[str, int, str]


class Recorder:
    """Keeps every ambient read under lane, position and source."""

    run = Run("fake")
    reaches_world = True

    def __init__(self) -> None:
        self.kept: dict[Address, list[Any]] = {}
        self.read: list[tuple[str, str, Any]] = []
        self.virtual_reads: list[str] = []
        self.faults: list[Exception] = []

    def ambient(self, lane: lanes.Lane, source: str, fresh: Any) -> Any:
        """Keep and pass on."""
        self.kept.setdefault((lane.path, lane.position, source), []).append(fresh)
        self.read.append((lane.path, source, fresh))
        return fresh

    def unrecorded(self, lane: lanes.Lane, source: str, fresh: Any) -> Any:
        """Pass on."""
        self.virtual_reads.append(source)
        return fresh

    def fault(self, error: Exception) -> bool:
        """Remember; the agent goes on."""
        self.faults.append(error)
        return False

    def gap(self, what: str, place: str) -> None:
        """Nothing escapes here."""

    def tape(self) -> dict[Address, bytes]:
        """The packs."""
        return {address: pack(address[2], values) for address, values in self.kept.items()}


class Player(Recorder):
    """Answers every ambient read from a tape."""

    def __init__(self, tape: dict[Address, bytes]) -> None:
        super().__init__()
        self.values = {address: ambient.unpack(address[2], data) for address, data in tape.items()}
        self.counts: dict[Address, int] = {}
        self.surplus = 0

    def ambient(self, lane: lanes.Lane, source: str, fresh: Any) -> Any:
        """The n-th recorded value, or an extrapolated one."""
        address = (lane.path, lane.position, source)
        n = self.counts.get(address, 0)
        self.counts[address] = n + 1
        values = self.values.get(address, [])
        if n < len(values):
            return values[n]
        self.surplus += 1
        return ambient.extrapolate(source, values[-1] if values else None, n - len(values) + 1, lane.path.encode())

    def unrecorded(self, lane: lanes.Lane, source: str, fresh: Any) -> Any:
        """A clock that stands at one second."""
        return 1_000_000_000

    @property
    def left(self) -> list[Address]:
        """Addresses with values that nobody asked for."""
        return [address for address, values in self.values.items() if self.counts.get(address, 0) < len(values)]


def lane_of(session: Recorder, path: str = "root", *, below: bool = False) -> lanes.Lane:
    """A lane whose session has the methods of a session that reads of clocks and chance use."""
    return lanes.Lane(path, cast(Session, session), OpenSchedule().gate, below=below)


@contextmanager
def listening(session: Recorder) -> Iterator[lanes.Lane]:
    """A session listens to the block, in a lane named root."""
    lane = lane_of(session)
    clock.rebinding.join()
    entropy.rebinding.join()
    lanes.session_began()
    try:
        with lanes.inside(lane):
            yield lane
    finally:
        lanes.session_ended()
        entropy.rebinding.leave()
        clock.rebinding.leave()


def twice(agent: Callable[[], Any]) -> tuple[Any, Any, Recorder, Player]:
    """Record ``agent``, then play it: both results and both sessions."""
    recorder = Recorder()
    with listening(recorder):
        state = entropy.snapshot()
        recorded = agent()
    player = Player(recorder.tape())
    with listening(player):
        entropy.restore(state)
        played = agent()
    return recorded, played, recorder, player
