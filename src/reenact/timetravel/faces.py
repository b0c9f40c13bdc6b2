"""Faces: the requests of two runs' calls, as tokens that are equal for equal calls.

Equal payloads of one store have one digest, so most calls are found equal without reading. Only calls without a
counterpart by bytes are read, and compared by the rules of a replay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest

from reenact.abc.body_access import body_or_size
from reenact.abc.store import Recording
from reenact.facts.call import Failure, Json, Kind, Stream, Value
from reenact.facts.event import REWRITTEN, Event, sent_call
from reenact.facts.insides import is_whole
from reenact.facts.keys import Rules, plain, rules_of
from reenact.facts.large_values import is_withheld
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.plumbing import is_plumbing
from reenact.facts.states import GROWS
from reenact.facts.trace_runs import is_original
from reenact.timetravel.alignment import Face
from reenact.timetravel.event_contents import Unread, asked, status_of

_POSITIONS: Mapping[Kind, str] = {Kind.STEP: "number", Kind.PROCESS: "of"}
"""The field in a head that says a call's position. It is no part of the request: an inserted call would shift it."""

_KINDS = {kind: kind.value for kind in Kind}
"""The value of each kind: a look-up here costs less than asking the member of the enumeration for its value."""

_WORDY = 256 << 10
_MOST_WORDS = 2000
_HELD = 10_000
"""Most events of a run that are held: about 2 kB each."""


@dataclass(frozen=True, slots=True)
class Side:
    """One run of a comparison.

    Attributes:
        recording: The run.
        faces: Its calls, in order.
        said: The answer of each call, as a token that is equal for equal bytes. By number.
        held: The first events of the run, which need not be read again. By number.
        sent: Whether a model request is compared as a fork sent it; if not, as the agent's code made it.
    """

    recording: Recording
    faces: tuple[Face, ...]
    said: Mapping[int, str]
    held: Mapping[int, Event]
    sent: bool

    def event(self, number: int) -> Event:
        """The event of this number."""
        return self.held.get(number) or self.recording.event(number)

    def words(self, face: Face) -> frozenset[str]:
        """The words in a call: each value in its request, with its name. Reads its request, up to a limit."""
        event = self.event(face.number)
        content = asked(self.recording, event, _WORDY, sent=self.sent)
        return frozenset() if isinstance(content, Unread) else frozenset(islice(_words("", content), _MOST_WORDS))


def _words(name: str, content: object) -> Iterator[str]:
    if isinstance(content, Mapping):
        for key, part in content.items():
            yield from _words(str(key), part)
    elif isinstance(content, (list, tuple)):
        for part in content:
            yield from _words(name, part)
    else:
        yield f"{name}: {str(content).lower() if isinstance(content, bool) else content}"


def side_of(recording: Recording, *, sent: bool = True) -> Side:
    """Read the calls of a run, without their payloads. About 12 µs a call. ``sent``: see ``Side``."""
    return _side(recording, list(_looked_at(recording, sent)), sent)


def beginnings(left: Recording, right: Recording, further: int, *, sent: bool) -> tuple[Side, Side, int] | None:
    """The calls of two runs up to their first difference by number, and ``further`` ones after it.

    Returns:
        The two sides, and the number of calls before the difference; None where the runs are the same. The cost does
        not depend on the calls after the difference. ``sent``: see ``Side``.
    """
    ours, theirs = _looked_at(left, sent), _looked_at(right, sent)
    seen: tuple[list[_Look], list[_Look]] = ([], [])
    alike = 0
    for one, other in zip_longest(ours, theirs):
        seen[0].extend([one] if one is not None else [])
        seen[1].extend([other] if other is not None else [])
        if one is None or other is None or not _alike(one[0], other[0]) or one[1] != other[1]:
            break
        alike += 1
    else:
        return None
    seen[0].extend(islice(ours, further))
    seen[1].extend(islice(theirs, further))
    return _side(left, seen[0], sent), _side(right, seen[1], sent), alike


def _alike(one: Face, other: Face) -> bool:
    return (one.number, one.parent, one.lane, one.call, one.asks) == (
        other.number,
        other.parent,
        other.lane,
        other.call,
        other.asks,
    )


_Look = tuple[Face, str, Event]


def _looked_at(recording: Recording, sent: bool) -> Iterator[_Look]:
    """The face of each event except telemetry and original documents, with its answer as a token."""
    run = recording.run
    sent = sent and run.parent is not None  # only a fork rewrites, and what goes on from it has its notes
    for event in recording.events():
        if is_plumbing(event.call) or is_original(event.call):
            continue
        call, request = event.call, event.request
        grows = GROWS in call.head
        state = _state(recording, event, "in") if grows else ""
        left = _state(recording, event, "out") if grows else ""
        asks = f"{'' if request is None else request.digest} {plain(call.rule, _deciding(event))}{state}"
        changes = event.attributes.get(REWRITTEN) if sent and call.kind is Kind.HTTP else None
        asks += f" as {changes}" if changes else ""
        face = Face(
            event.number, event.parent, event.lane, f"{_KINDS[call.kind]} {call.name}", asks, is_whole(run, event)
        )
        yield face, f"{_said(event)}{left}", event


def _side(recording: Recording, looks: Sequence[_Look], sent: bool) -> Side:
    parents = {look[0].parent for look in looks}
    faces = (look[0] for look in looks)
    return Side(
        recording,
        tuple(replace(face, whole=False) if face.whole and face.number in parents else face for face in faces),
        {face.number: said for face, said, _ in looks},
        {event.number: event for _, _, event in looks[:_HELD]},
        sent,
    )


def compared(left: Side, right: Side) -> tuple[Side, Side]:
    """The two sides with tokens by the rules of keys where bytes alone find no counterpart."""
    ours, theirs = ({face.asks for face in side.faces} for side in (left, right))
    rules = rules_of(left.recording.run.capture)
    return _ruled(left, theirs, rules), _ruled(right, ours, rules)


def _ruled(side: Side, known: set[str], rules: Rules) -> Side:
    faces = tuple(
        face
        if face.asks in known
        else replace(face, asks="=" + asked_key(side.recording, side.event(face.number), rules, sent=side.sent))
        for face in side.faces
    )
    return replace(side, faces=faces)


def asked_key(recording: Recording, event: Event, rules: Rules, *, sent: bool) -> str:
    """The request of an event as its key, by the rules of a replay. Reads the request; the digest of a withheld request
    is the key. ``sent``: see ``Side``."""
    if GROWS in event.call.head:  # compared by digests: of growing lists a request has only the length
        return f"state {_state(recording, event, 'in')}"
    event, body = _requested(recording, event, sent)
    return f"withheld {body.digest}" if is_withheld(body) else rules.key(event.call.rule, _deciding(event), body)


def same_call(left: Recording, one: Event, right: Recording, other: Event, *, sent: bool) -> bool:
    """Whether two calls have the same request by the rules of keys; for a withheld request, by the digests. ``sent``:
    see ``Side``."""
    if GROWS in one.call.head or GROWS in other.call.head:
        return one.call.rule == other.call.rule and _state(left, one, "in") == _state(right, other, "in")
    rules = rules_of(left.run.capture)
    (one, ours), (other, theirs) = _requested(left, one, sent), _requested(right, other, sent)
    if is_withheld(ours) or is_withheld(theirs):
        return one.call.rule == other.call.rule and one.request == other.request
    return one.call.rule == other.call.rule and rules.same(
        one.call.rule, _deciding(one), ours, _deciding(other), theirs
    )


def _requested(recording: Recording, event: Event, sent: bool) -> tuple[Event, bytes]:
    """A call and the body of its request, in the form that is compared."""
    body = body_or_size(recording, event.request)
    if not sent or event.call.kind is not Kind.HTTP or is_withheld(body):
        return event, body
    call = sent_call(event, body)
    return replace(event, call=call), call.body


def _deciding(event: Event) -> Mapping[str, Json]:
    """A head without the fields that only give the call's position."""
    head = event.call.head
    position = _POSITIONS.get(event.call.kind)
    return head if position is None else {name: value for name, value in head.items() if name != position}


def _state(recording: Recording, event: Event, phase: str) -> str:
    """The state of a step as a token: by the digests of its parts. An unproven state is equal to no other."""
    number = event.number
    for place in recording.snapshots(after=number - 1, before=number + 1):
        if place.phase == phase:
            alone = f"not proven: {recording.run.id}" if place.unproven else ""
            return f" {alone}{sorted(place.slots.items())}"
    return ""


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
