"""The smallest pair of sessions: one keeps what crosses, the other answers each lane's calls in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from reenact.facts.call import Call, End, Failure, Stream, Value
from reenact.facts.run import Run
from reenact.seams import lanes
from reenact.seams.lanes import Lane
from reenact.seams.source import located
from reenact.testing.frozen_time import OpenSchedule


class Given:
    """A turn that has come, with what it hands over."""

    def __init__(self, what: Any = None) -> None:
        self.what = what

    def wait(self) -> Any:
        return self.what

    def __await__(self) -> Any:
        return self.what
        yield


@dataclass
class Kept:
    """One recorded call."""

    number: int
    lane: str
    call: Call
    parent: int | None = None
    outcome: Value | Failure | None = None
    head: Mapping[str, Any] | None = None
    segments: list[bytes] = field(default_factory=list)
    end: End | None = None


class LiveCall:
    mode: Literal["live"] = "live"

    def __init__(self, session: Tape, lane: Lane, kept: Kept) -> None:
        self.session, self.lane, self.kept, self.event = session, lane, kept, kept.number

    def ready(self) -> Given:
        return Given()

    def enter(self) -> AbstractContextManager[None]:
        return lanes.inside(self.lane.scope(self.kept.call.name, self.event))

    def sends(self, url: str, body: bytes) -> None:
        return None

    def adds(self) -> dict[str, str]:
        return {}

    def settle(self, outcome: Value | Failure) -> Given:
        self.kept.outcome = outcome
        return Given()

    def at_hand(self, outcome: Value | Failure) -> None:
        self.kept.outcome = outcome

    def head(self, head: Mapping[str, Any]) -> Given:
        self.kept.head = head
        return Given()

    def segment(self, data: bytes) -> Given:
        assert self.kept.end is None
        self.kept.segments.append(data)
        return Given()

    def end(self, end: End) -> Given:
        self.kept.end = end
        return Given()

    def dropped(self, end: End) -> None:
        if self.kept.end is None:
            self.kept.end = end


class FrozenCall:
    mode: Literal["frozen"] = "frozen"

    def __init__(self, session: Tape, kept: Kept) -> None:
        self.kept, self.event = kept, kept.number
        self.parts = iter(kept.segments)
        self.closed = 0

    @property
    def form(self) -> str:
        if self.kept.head is not None:
            return "stream"
        return {Value: "value", Failure: "failure"}.get(type(self.kept.outcome), "open")

    def outcome(self) -> Given:
        return Given(self.kept.outcome)

    answer = outcome

    def head(self) -> Given:
        return Given(Stream(self.kept.head or {}, self.kept.end))

    def part(self) -> Given:
        return Given(next(self.parts, self.kept.end))

    def dropped(self) -> None:
        self.closed += 1


class RerunCall(LiveCall):
    mode: Literal["rerun"] = "rerun"  # type: ignore[assignment]

    def settle(self, outcome: Value | Failure) -> Given:
        self.session.rerun.append((self.kept, outcome))
        return Given()

    ready = head = segment = end = dropped = None  # type: ignore[assignment]


class Tape:
    """Records while ``playing`` is False, answers from what it has kept while it is True."""

    run = Run("fake")
    reaches_world = True

    def __init__(self) -> None:
        self.kept: list[Kept] = []
        self.left: dict[str, list[Kept]] = {}
        self.playing = False
        self.faults: list[Exception] = []
        self.notes: list[tuple[int | None, str, Any]] = []
        self.checkpoints: list[tuple[int, str, dict[str, bytes]]] = []
        self.rerun: list[tuple[Kept, Value | Failure]] = []
        self.through: set[str] = set()

    @contextmanager
    def listening(self, *, playing: bool = False) -> Iterator[None]:
        self.playing = playing
        self.left = {}
        for kept in self.kept:
            self.left.setdefault(kept.lane, []).append(kept)
        lanes.session_began()
        try:
            with lanes.inside(Lane("root", self, OpenSchedule().gate)):
                yield
        finally:
            lanes.session_ended()

    def unrecorded(self, lane: Lane, source: str, fresh: Any) -> Any:
        return fresh

    def ambient(self, lane: Lane, source: str, fresh: Any) -> Any:
        return fresh

    def decide(self, lane: Lane, call: Call) -> Any:
        lane.issued()
        if not self.playing:
            kept = Kept(len(self.kept), lane.path, located(call), lane.parent)
            self.kept.append(kept)
            return LiveCall(self, lane, kept)
        kept = self.left[lane.path].pop(0)
        assert (kept.call.name, kept.call.body) == (call.name, call.body)
        if call.observed or call.name in self.through:
            return RerunCall(self, lane, kept)
        return FrozenCall(self, kept)

    def fault(self, error: Exception) -> bool:
        self.faults.append(error)
        return self.playing

    def note(self, lane: Lane, key: str, value: Any) -> None:
        self.notes.append((lane.parent, key, value))

    def checkpoint(self, event: int, phase: str, slots: Mapping[str, bytes]) -> None:
        self.checkpoints.append((event, phase, dict(slots)))

    def growing(self, step: str, declared: tuple[str, ...]) -> tuple[tuple[str, ...], None]:
        """Lists are looked at whole."""
        return declared, None

    def restate(self, event: int, state: Any) -> None:
        """Nothing is changed."""

    def gap(self, what: str, place: str) -> None:
        """Nothing escapes that these tests are about."""

    def printed(self, stream: int, data: bytes) -> None:
        """Nothing is printed."""

    def cannot_go_on(self, message: str, *, cause: str, next_command: str = "") -> Exception:
        raise AssertionError("nothing goes on live")
