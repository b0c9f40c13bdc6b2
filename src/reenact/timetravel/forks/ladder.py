"""The ladder of a fork after its cut: finds the recorded answer that a call still gets.

Python has no data flow to follow, so the requests show what a change affects: a call with a recorded request gets its
recorded answer. In this order: the same lane's next recorded call of this key; an earlier, unused one of that lane; the
only unused one of another lane. A call with another request has no answer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from reenact.facts.call import Call
from reenact.facts.event import Event
from reenact.facts.keys import Rules
from reenact.facts.lazy_dataclass import dataclass
from reenact.replaying.tape import Tape
from reenact.seams.lanes import Lane


@dataclass(frozen=True, slots=True)
class LadderResult:
    """The ladder's result for one call.

    Attributes:
        answer: The recorded call that answers; None without one.
        place: The recorded call whose place in the order this call takes: the answer itself, or the call that the lane
            made at this point with another request. The other call keeps its answer, because this call may have been
            inserted before it.
        why: The reason, in words, for the report.
    """

    answer: Event | None
    place: Event | None
    why: str


class ForkQuestion(NamedTuple):
    """A call of a fork that needs an answer. ``write`` is its identity as a write, empty for other calls; ``found`` is
    the ladder's result for it."""

    lane: Lane
    call: Call
    write: str
    found: LadderResult = LadderResult(None, None, "")

    @property
    def place(self) -> Event | None:
        """The recorded call whose place in the order this call takes."""
        return self.found.answer or self.found.place


class Ladder:
    """Finds recorded answers in any order of requests.

    A call in its lane's recorded order costs one comparison. The first call out of order makes an index of all unused
    calls by key; from then on each call costs a look-up.

    Args:
        tape: The recorded calls, and which of them have been used.
        rules: How two calls are compared.
    """

    def __init__(self, tape: Tape, rules: Rules) -> None:
        self._tape = tape
        self._rules = rules
        self._last: dict[str, int] = {}
        self._placed: dict[str, int] = {}
        self._left: dict[str, list[Event]] = {}
        self._taken: set[int] = set()
        self._index: defaultdict[tuple[str, ...], dict[int, Event]] | None = None

    def used(self, path: str, event: Event) -> None:
        """Note that a call of lane ``path`` has taken the answer of a recorded one."""
        self._tape.use(event)
        self._taken.add(event.number)
        if event.lane == path:
            self._last[path] = max(self._last.get(path, -1), event.number)

    def placed(self, path: str, event: Event) -> None:
        """Note that a call of lane ``path`` without a recorded answer takes the place of a recorded call."""
        self._placed[path] = max(self._placed.get(path, -1), event.number)

    def find(self, path: str, call: Call) -> LadderResult:
        """Find the recorded call that ``call`` stands for; ``call`` is cleaned as the recording was."""
        last = self._last.get(path, -1)
        following = next(self._ahead(path, last), None)
        if following is not None and _alike(following, call) and self._asks(following, call):
            return LadderResult(following, following, "answered from the recording")
        reach = max(last, self._placed.get(path, -1))
        place = next((event for event in self._ahead(path, reach) if _alike(event, call)), None)
        fitting = self._fitting(call)
        mine = [event for event in fitting if event.lane == path]
        found = next((event for event in mine if event.number > last), None)
        if found is not None:
            return LadderResult(found, found, "answered from the recording")
        if mine:
            return LadderResult(mine[0], place, "answered from the recording, out of its place")
        if len(fitting) == 1:
            return LadderResult(fitting[0], place, f"answered from the recording of {fitting[0].lane}")
        if fitting:
            return LadderResult(None, place, "more than one recorded call matches")
        return LadderResult(
            None, place, "no recorded answer for this call" if place is None else f"differs from event {place.number}"
        )

    def _ahead(self, path: str, last: int) -> Iterator[Event]:
        """The unused calls of a lane after an event."""
        left = self._left.get(path)
        if left is None:
            left = self._left[path] = self._tape.lane(path).rest()
        for at in range(bisect_right(left, last, key=_number), len(left)):
            if left[at].number not in self._taken:
                yield left[at]

    def _fitting(self, call: Call) -> list[Event]:
        """Every unused recorded call with the same request, in order of lanes."""
        index = self._index
        if index is None:
            index = self._index = defaultdict(dict)
            for event in self._tape.unused():
                index[self._key(event.call, self._tape.body(event))][event.number] = event
        found = index.get(self._key(call, call.body))
        if not found:
            return []
        for number in self._taken.intersection(found):
            del found[number]
        return list(found.values())

    def _key(self, call: Call, body: bytes) -> tuple[str, ...]:
        return call.kind, call.rule, call.name, self._rules.key(call.rule, call.head, body)

    def _asks(self, event: Event, call: Call) -> bool:
        return self._rules.same(call.rule, event.call.head, self._tape.body(event), call.head, call.body)


_number = attrgetter("number")


def _alike(event: Event, call: Call) -> bool:
    recorded = event.call
    return recorded.kind is call.kind and recorded.rule == call.rule and recorded.name == call.name
