"""The ladder of a fork after its cut: which recorded answer a call still gets.

Python has no data flow to follow, so what a change reaches is found out by asking: a call that asks what was asked
before gets what was answered before. In this order: the same lane's next recorded call of this key; the same key left
behind in that lane; the only one left in another lane. Whatever asks something else has no answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reenact.facts.call import Call
from reenact.facts.event import Event
from reenact.facts.keys import Rules
from reenact.replaying.tape import Tape


@dataclass(frozen=True, slots=True)
class Found:
    """What the ladder says of one call.

    Attributes:
        answer: The recorded call it is; None where there is none.
        place: The recorded call whose place in the order it takes: the answer itself, or the one that the lane made
            at this point when it was recorded, asking something else. That one keeps its answer: it may be asked yet,
            where this call was inserted before it.
        why: In words, for the report.
    """

    answer: Event | None
    place: Event | None
    why: str


class Ladder:
    """Finds recorded answers without insisting on the order they were asked for in.

    Args:
        tape: The recorded calls, and which of them have been used.
        rules: How two calls are compared.
    """

    def __init__(self, tape: Tape, rules: Rules) -> None:
        self._tape = tape
        self._rules = rules
        self._last: dict[str, int] = {}
        self._placed: dict[str, int] = {}

    def used(self, path: str, event: Event) -> None:
        """A call of lane ``path`` has taken a recorded one."""
        self._tape.use(event)
        if event.lane == path:
            self._last[path] = max(self._last.get(path, -1), event.number)

    def placed(self, path: str, event: Event) -> None:
        """A call of lane ``path`` that has no recorded answer stands in the place of a recorded one."""
        self._placed[path] = max(self._placed.get(path, -1), event.number)

    def find(self, path: str, call: Call) -> Found:
        """The recorded call that ``call``, cleaned as the recording was, is now."""
        rest = self._tape.lane(path).rest()
        last = self._last.get(path, -1)
        ahead = [event for event in rest if event.number > last]
        reach = max(last, self._placed.get(path, -1))
        place = next((event for event in ahead if event.number > reach and _alike(event, call)), None)
        found = self._first(ahead, call)
        if found is not None:
            return Found(found, found, "answered from the recording")
        found = self._first((event for event in rest if event.number <= last), call)
        if found is not None:
            return Found(found, place, "answered from the recording, out of its place")
        others = [
            event
            for event in self._tape.unused()
            if event.lane != path and _alike(event, call) and self._asks(event, call)
        ]
        if len(others) == 1:
            return Found(others[0], place, f"answered from the recording of {others[0].lane}")
        if others:
            return Found(None, place, "several recorded answers would fit")
        return Found(
            None, place, "asks what was never asked" if place is None else f"asks other than event {place.number}"
        )

    def _first(self, events: Iterable[Event], call: Call) -> Event | None:
        return next((event for event in events if _alike(event, call) and self._asks(event, call)), None)

    def _asks(self, event: Event, call: Call) -> bool:
        return self._rules.same(call.rule, event.call.head, self._tape.body(event), call.head, call.body)


def _alike(event: Event, call: Call) -> bool:
    recorded = event.call
    return recorded.kind is call.kind and recorded.rule == call.rule and recorded.name == call.name
