"""The tape: the recorded calls of each lane, read ahead a page at a time, and which of them have been used."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from reenact.abc.store import Recording
from reenact.facts.event import Event


class LaneTape:
    """Recorded calls of one lane in order; ``head`` is the first unused one.

    Args:
        events: The lane's events from the first on.
    """

    __slots__ = ("_ahead", "_events", "_used")

    def __init__(self, events: Iterator[Event]) -> None:
        self._events = events
        self._ahead: deque[Event] = deque()
        self._used: set[int] = set()

    def head(self) -> Event | None:
        """The next recorded call of the lane."""
        ahead = self._ahead
        if not self._used and ahead:
            return ahead[0]
        while True:
            if not ahead:
                event = next(self._events, None)
                if event is None:
                    return None
                ahead.append(event)
            event = ahead[0]
            if not self._used or event.number not in self._used:
                return event
            self._used.discard(event.number)
            ahead.popleft()

    def use(self, event: Event) -> None:
        """Mark a call as answered."""
        if self._ahead and self._ahead[0] is event:
            self._ahead.popleft()
        else:
            self._used.add(event.number)

    def rest(self) -> list[Event]:
        """All unused calls, the head first. Reads the lane to its end."""
        self._ahead.extend(self._events)
        return [event for event in self._ahead if event.number not in self._used]


class Tape:
    """All lanes of one recording.

    Args:
        recording: What to read from.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._lanes: dict[str, LaneTape] = {}
        self.used = 0
        self.holds = recording.holds
        """Whether a payload is exactly some bytes."""

    def lane(self, path: str) -> LaneTape:
        """One lane, opened when first asked for; a lane that was never recorded is empty."""
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

    def body(self, event: Event) -> bytes:
        """What the recorded call asked."""
        return self._recording.body(event.request)
