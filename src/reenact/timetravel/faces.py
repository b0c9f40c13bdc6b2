"""Faces: what the calls of two runs ask, as tokens that are equal where the calls are.

Payloads of one store that are equal have one digest, so most calls are found to be the same without reading anything.
Only what has no counterpart by its bytes is read, and compared by the rules that a replay compares by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from reenact.abc.store import Recording
from reenact.facts.call import Failure, Json, Kind, Stream, Value
from reenact.facts.event import Event
from reenact.facts.keys import Rules, plain
from reenact.timetravel.aligning import Face
from reenact.timetravel.contents import status_of

_POSITIONS: Mapping[Kind, str] = {Kind.STEP: "number", Kind.PROCESS: "of"}
"""What in a head says where a call stands instead of what it asks: an inserted call would shift it."""

_HELD = 10_000
"""Most events of a run that are held: about 2 kB each."""


@dataclass(frozen=True, slots=True)
class Side:
    """One run of a comparison.

    Attributes:
        recording: The run.
        faces: Its calls, in order.
        said: What came back of each, as a token: equal for answers of equal bytes. By number.
        held: The first events of the run, which need not be read again. By number.
    """

    recording: Recording
    faces: tuple[Face, ...]
    said: Mapping[int, str]
    held: Mapping[int, Event]

    def event(self, number: int) -> Event:
        """One of its events."""
        return self.held.get(number) or self.recording.event(number)


def side_of(recording: Recording) -> Side:
    """Read the calls of a run, without their payloads. About 12 µs a call."""
    faces = []
    said = {}
    held: dict[int, Event] = {}
    for event in recording.events():
        asks = f"{'' if event.request is None else event.request.digest} {_head(event)}"
        faces.append(Face(event.number, event.parent, event.lane, f"{event.kind} {event.name}", asks))
        said[event.number] = _said(event)
        if len(held) < _HELD:
            held[event.number] = event
    return Side(recording, tuple(faces), said, held)


def compared(left: Side, right: Side) -> tuple[Side, Side]:
    """The two sides with tokens by the rules of keys where bytes alone find no counterpart."""
    ours, theirs = ({face.asks for face in side.faces} for side in (left, right))
    rules = Rules(left.recording.run.capture.get("ignore") or {})
    return _ruled(left, theirs, rules), _ruled(right, ours, rules)


def _ruled(side: Side, known: set[str], rules: Rules) -> Side:
    faces = tuple(
        face if face.asks in known else replace(face, asks=_canonical(side.recording, side.event(face.number), rules))
        for face in side.faces
    )
    return replace(side, faces=faces)


def _canonical(recording: Recording, event: Event, rules: Rules) -> str:
    return "=" + rules.key(event.call.rule, _deciding(event), recording.body(event.request))


def same_call(left: Recording, one: Event, right: Recording, other: Event) -> bool:
    """Whether two calls ask the same by the rules of keys."""
    rules = Rules(left.run.capture.get("ignore") or {})
    return one.call.rule == other.call.rule and rules.same(
        one.call.rule, _deciding(one), left.body(one.request), _deciding(other), right.body(other.request)
    )


def _deciding(event: Event) -> Mapping[str, Json]:
    """A head without what only says where the call stands."""
    position = _POSITIONS.get(event.call.kind)
    head = event.call.head
    return head if position is None else {name: value for name, value in head.items() if name != position}


def _head(event: Event) -> str:
    return repr(plain(event.call.rule, _deciding(event)))


def _said(event: Event) -> str:
    outcome = event.outcome
    if isinstance(outcome, Value):
        return f"value {'' if event.answer is None else event.answer.digest}"
    if isinstance(outcome, Failure):
        return f"error {outcome.error.type} {outcome.error.text}"
    if isinstance(outcome, Stream):
        end = "" if outcome.end is None else outcome.end.kind.value
        return f"stream {status_of(event)} {end} {'' if event.answer is None else event.answer.digest}"
    return "open"
