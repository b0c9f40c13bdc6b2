"""The tape: the recorded calls of each lane, read ahead a page at a time, and which of them have been used.

Exports of telemetry are kept beside these calls, and do not affect them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from reenact.abc.store import Recording
from reenact.facts.event import Event
from reenact.facts.plumbing import MARK, is_plumbing


class LaneTape:
    """Recorded calls of one lane in order; ``head`` is the first unused one.

    Args:
        events: The lane's events from the first on.

    Attributes:
        exports: The number of telemetry exports that were read.
    """

    __slots__ = ("_ahead", "_events", "_exports", "_used", "exports")

    def __init__(self, events: Iterator[Event]) -> None:
        self._events = events
        self._ahead: deque[Event] = deque()
        self._exports: list[Event] = []
        self.exports = 0
        self._used: set[int] = set()

    def head(self) -> Event | None:
        """The next recorded call of the lane."""
        ahead = self._ahead
        if not self._used and ahead:
            return ahead[0]
        while True:
            if not ahead:
                event = self._read()
                if event is None:
                    return None
                ahead.append(event)
            event = ahead[0]
            if not self._used or event.number not in self._used:
                return event
            self._used.discard(event.number)
            ahead.popleft()

    def _read(self) -> Event | None:
        """The next recorded call. Exports of telemetry are set aside: no call matches them."""
        for event in self._events:
            if not is_plumbing(event.call):
                return event
            self._set_aside(event)
        return None

    def _set_aside(self, export: Event) -> None:
        self._exports.append(export)
        self.exports += 1

    def export(self, rule: str) -> Event | None:
        """The next recorded export by a rule. Reads on until one is found."""
        while True:
            for event in self._exports:
                if event.call.head[MARK] == rule:
                    return event
            following = next(self._events, None)
            if following is None:
                return None
            if is_plumbing(following.call):
                self._set_aside(following)
            else:
                self._ahead.append(following)

    def use(self, event: Event) -> None:
        """Mark a call as answered."""
        if is_plumbing(event.call):
            self._exports.remove(event)
        elif self._ahead and self._ahead[0] is event:
            self._ahead.popleft()
        else:
            self._used.add(event.number)

    def rest(self) -> list[Event]:
        """All unused calls, the head first. Reads the lane to its end."""
        while (event := self._read()) is not None:
            self._ahead.append(event)
        return [event for event in self._ahead if event.number not in self._used]


class Tape:
    """All lanes of one recording.

    Args:
        recording: The recording to read.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._lanes: dict[str, LaneTape] = {}
        self.used = 0
        self.holds = recording.holds
        """Whether a payload is exactly some bytes."""

    def lane(self, path: str) -> LaneTape:
        """One lane, opened on first use; a lane that was never recorded is empty."""
        tape = self._lanes.get(path)
        if tape is None:
            tape = self._lanes[path] = LaneTape(self._recording.events(lane=path))
        return tape

    def head(self, path: str) -> Event | None:
        """The next recorded call of one lane that has not been used."""
        tape = self._lanes.get(path)
        return (self.lane(path) if tape is None else tape).head()

    def heads(self) -> list[Event]:
        """The next recorded call of each lane that has been opened."""
        return [event for tape in list(self._lanes.values()) if (event := tape.head()) is not None]

    def use(self, event: Event) -> None:
        """Mark a call as answered."""
        self.used += 1
        tape = self._lanes.get(event.lane)
        (self.lane(event.lane) if tape is None else tape).use(event)

    def unused(self) -> Iterator[Event]:
        """Every call not answered yet, in order of lanes. Reads everything."""
        for fact in list(self._recording.lanes()):
            yield from self.lane(fact.path).rest()

    def paths(self) -> list[str]:
        """The addresses of all recorded lanes."""
        return [fact.path for fact in self._recording.lanes()]

    def exports(self) -> int:
        """How many recorded exports have been read."""
        return sum(tape.exports for tape in self._lanes.values())

    def body(self, event: Event) -> bytes:
        """The request of the recorded call."""
        return self._recording.body(event.request)
