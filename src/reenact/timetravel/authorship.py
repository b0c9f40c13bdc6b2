"""Authorship: finds the step that last set a value of the agent's state, by digests, without reading states.

The states before and after a step are kept as one payload for each slot, and an unchanged slot keeps its digest. So the
store finds the newest snapshot in which the slot was different; the step right after it set the value. Payloads are
read only for a path below a slot: each version of that slot once.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from reenact.abc.store import Recording
from reenact.errors import UsageError
from reenact.facts.call import Json, Kind
from reenact.facts.checkpoint import SlotVersion, Snapshot
from reenact.facts.difference import dotted
from reenact.facts.event import Event, Payload
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.values import jsonable
from reenact.store.checkpoints import lanes_above, snapshots_before
from reenact.store.proofs import not_proven


class Absent:
    """Stands where there is no value; None is a value like any other."""

    def __repr__(self) -> str:
        return "(absent)"


ABSENT: Final = Absent()
"""The one ``Absent``."""


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """The event that last set a value.

    Attributes:
        path: The value, as a JSON pointer with dots.
        event: The step that set it.
        inside: Whether it was set while that step ran. If not, code between ``since`` and the step's beginning set it.
        since: The event whose state was the last without this value; None where the value was there from the start.
        before: The value before; ``ABSENT`` without one.
        after: The value.
    """

    path: str
    event: Event
    inside: bool
    since: int | None
    before: Json | Absent
    after: Json


def last_set(recording: Recording, path: Sequence[str], at: Event | None = None) -> ValueOrigin:
    """Find the event that last set a value of the state.

    Args:
        recording: The run.
        path: The slot of the state (a key, where the state is a dictionary), then keys and indices into it. A leading
            ``state`` is left out where no slot has that name.
        at: As seen from this event; None for the end of the run.

    Raises:
        UsageError: No state was kept, or the state has no such path; the message names the existing keys.
    """
    view = _View(recording, at)
    newest = next(view.backwards(), None)
    if newest is None:
        raise _no_state(recording, at)
    slot, rest = _slot_of(newest, path)
    value = _Values(recording, slot, rest)
    after = value.of(newest)
    if isinstance(after, Absent):
        raise _nothing(recording, newest, path, slot, value.whole(newest))
    other = _last_other(view, value, newest)
    first = next(view.after(other))
    before: Json | Absent = ABSENT if other is None else value.of(other)
    setter, inside = first, first.phase == "out" and other is not None and other.event == first.event
    if inside:
        setter = _innermost(recording, value, first)
    event = recording.event(setter.event)
    shown = dotted(path)
    return ValueOrigin(shown, event, inside, None if other is None else other.event, before, after)


class _View:
    """The snapshots that lead to the state at one place of a run."""

    def __init__(self, recording: Recording, at: Event | None) -> None:
        self._recording = recording
        self._before: int | None = None
        self._at = at
        self._lanes: tuple[str, ...] = ()
        if at is None:
            newest = next(recording.snapshots(backwards=True), None)
            if newest is not None:
                self._lanes = lanes_above(_outermost(recording, newest).lane)
        else:
            nearest = next(snapshots_before(recording, at), None)
            self._before = at.number + 1
            own = lanes_above(at.lane)
            self._lanes = own if nearest is None or nearest.lane in own else lanes_above(nearest.lane)
            self._around = _steps_around(recording, at)

    def backwards(self, older: Snapshot | None = None, unlike: tuple[str, str] | None = None) -> Iterator[Snapshot]:
        """The snapshots before ``older``, newest first. ``unlike``: only those where this slot has another digest."""
        before = self._before if older is None else older.event + 1
        for place in self._recording.snapshots(lanes=self._lanes, before=before, unlike=unlike, backwards=True):
            if self._counts(place) and (older is None or _moment(place) < _moment(older)):
                yield place

    def versions(self, older: Snapshot, slot: str) -> Iterator[SlotVersion]:
        """The versions of one slot before ``older``, newest first."""
        unended = () if self._at is None else self._around
        return self._recording.versions(slot, lanes=self._lanes, before=older.event + 1, unended=unended)

    def after(self, older: Snapshot | None) -> Iterator[Snapshot]:
        """The snapshots after ``older`` (None: all of them), oldest first."""
        start = -1 if older is None else older.event - 1
        for place in self._recording.snapshots(lanes=self._lanes, after=start, before=self._before):
            if self._counts(place) and (older is None or _moment(place) > _moment(older)):
                yield place

    def _counts(self, place: Snapshot) -> bool:
        """Whether a snapshot counts: the state after a step around the place does not, as that step ended later."""
        return self._at is None or place.phase == "in" or place.event not in self._around


def _moment(place: Snapshot) -> tuple[int, str]:
    """The position of a snapshot in its strand, where steps follow each other."""
    return place.event, place.phase


def _outermost(recording: Recording, place: Snapshot) -> Event:
    """The outermost step around a snapshot: its strand is the one whose state the run ended with."""
    found = event = recording.event(place.event)
    while event.parent is not None:
        event = recording.event(event.parent)
        found = event if event.kind == Kind.STEP else found
    return found


def _steps_around(recording: Recording, at: Event) -> set[int]:
    around = {at.number}
    while at.parent is not None:
        around.add(at.parent)
        at = recording.event(at.parent)
    return around


class _Values:
    """The value at one path in the snapshots of a run; each version of its slot is read once."""

    def __init__(self, recording: Recording, slot: str, rest: Sequence[str]) -> None:
        self._recording = recording
        self.slot = slot
        self.rest = tuple(rest)
        self._read: dict[str, Json | Absent] = {}

    def whole(self, place: Snapshot) -> Json | Absent:
        """The value of the whole slot."""
        digest = place.slots.get(self.slot)
        if self.slot in place.unproven:
            raise not_proven(self._recording.run.id, place.event, self.slot)
        if digest is None:
            return ABSENT
        if not digest:
            return ""
        short = place.short.get(self.slot)
        return jsonable(self._recording.body(Payload(digest, 0)) if short is None else short)

    def of(self, place: Snapshot) -> Json | Absent:
        """The value at the path."""
        digest = place.slots.get(self.slot, "absent")
        if digest not in self._read:
            self._read[digest] = descend(self.whole(place), self.rest)
        return self._read[digest]

    def in_version(self, version: SlotVersion) -> Json | Absent:
        """The value at the path in a version of the slot; not cached, because each of many versions is used once."""
        if version.digest is None:
            return ABSENT
        return descend(jsonable(version.body) if version.digest else "", self.rest)

    def slots_of(self, version: SlotVersion) -> dict[str, str]:
        """The slots of a snapshot that has this version, as far as they matter here."""
        return {} if version.digest is None else {self.slot: version.digest}

    def same(self, left: Snapshot, right: Snapshot) -> bool:
        """Whether two snapshots hold the same value there, by their digests where possible.

        Raises:
            BlobMissing: One of the values is not proven.
        """
        for each in (left, right):
            if self.slot in each.unproven:
                raise not_proven(self._recording.run.id, each.event, self.slot)
        one, other = left.slots.get(self.slot), right.slots.get(self.slot)
        return one == other or (bool(self.rest) and equal(self.of(left), self.of(right)))


def descend(value: Json | Absent, path: Sequence[str]) -> Json | Absent:
    """The value at a path below another value; ``ABSENT`` where there is none."""
    for key in path:
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, (list, tuple)) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return ABSENT
    return value


def equal(left: Json | Absent, right: Json | Absent) -> bool:
    """Whether two values are the same JSON: 1 is not True, and 1.0 is not 1."""
    if isinstance(left, Absent) or isinstance(right, Absent) or type(left) is not type(right):
        return left is right
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(equal(part, right[key]) for key, part in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(equal, left, right))
    return bool(left == right)


def _last_other(view: _View, value: _Values, newest: Snapshot) -> Snapshot | None:
    """The newest snapshot before ``newest`` that holds another value at the path; None without one."""
    digest = newest.slots[value.slot]
    older = next(view.backwards(newest, (value.slot, digest)), None)
    if older is None or not value.same(newest, older):
        return older
    wanted = value.of(newest)
    for version in view.versions(older, value.slot):
        if not equal(value.in_version(version), wanted):
            return Snapshot(version.event, version.phase, version.lane, value.slots_of(version))
    return None


def _innermost(recording: Recording, value: _Values, outer: Snapshot) -> Snapshot:
    """The step inside ``outer`` that set the value which ``outer`` left, else ``outer`` itself.

    Among steps that run at the same time (one inside the other, or side by side) it is the one that ended first with
    the value; of those that follow each other, the last.
    """
    begun: dict[int, Snapshot] = {}
    ended: list[tuple[int, int, Snapshot]] = []
    following = next(recording.events(lane=outer.lane, after=outer.event, limit=1), None)
    for place in recording.snapshots(after=outer.event, before=None if following is None else following.number):
        if place.phase == "in":
            begun[place.event] = place
        elif place.lane.startswith(f"{outer.lane}>") and value.same(place, outer):
            first = begun.get(place.event)
            event = recording.event(place.event)
            if (first is None or not value.same(first, place)) and outer.event in _steps_around(recording, event):
                ended.append((event.ended_us or 0, event.issued_us, place))
    found, since = outer, -1
    for ended_us, issued_us, place in sorted(ended, key=lambda each: each[:2], reverse=True):
        if since < 0 or ended_us > since:
            found, since = place, issued_us
    return found


def _slot_of(place: Snapshot, path: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The slot that a path begins with, and the rest of it. A state that is no dictionary has one slot without a
    name."""
    if path[0] == "state" and "state" not in place.slots and len(path) > 1:
        path = path[1:]
    if set(place.slots) == {""}:
        return "", () if list(path) == ["state"] else path
    return path[0], path[1:]


def _no_state(recording: Recording, at: Event | None) -> UsageError:
    where = "" if at is None else f" before event {at.number}"
    run = tail(recording.run.id)
    return UsageError(
        f"run {run} kept no state{where}",
        cause="state is what steps are given: `with reenact.step(name, state)`, or a parameter called state",
        next_command=f"reenact timeline {run}",
    )


def _nothing(recording: Recording, place: Snapshot, path: Sequence[str], slot: str, held: Json | Absent) -> UsageError:
    run = tail(recording.run.id)
    names = list(place.slots) if isinstance(held, Absent) else list(held) if isinstance(held, Mapping) else []
    near = difflib.get_close_matches(path[-1], [str(name) for name in names], 1)
    there = f"did you mean {near[0]}? " if near else ""
    if names:
        there += f"there are {', '.join(str(name) for name in names[:30])}"
    elif isinstance(held, list):
        there += f"{slot or 'it'} has {len(held)} members, counted from 0"
    else:
        there += f"{slot or 'it'} is {type(held).__name__}"
    return UsageError(
        f"the state of run {run} has nothing at {dotted(path)}",
        cause=there,
        next_command=f"reenact timeline {run} --at {place.event}",
    )
