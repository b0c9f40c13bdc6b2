"""The events at which a run can branch: all calls that the run's own code makes again when it is executed again."""

from __future__ import annotations

from reenact.abc.store import Recording
from reenact.errors import EventNotFound, ForkError
from reenact.facts.call import is_transport
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.facts.plumbing import is_plumbing
from reenact.replaying.tape import Tape


def inside(recording: Recording, event: Event) -> Event | None:
    """The outermost frozen call around ``event``; None where its own code runs again."""
    found = None
    at = event
    while at.parent is not None:
        at = recording.event(at.parent)
        if not at.call.observed or is_transport(at.call):
            found = at
    return found


def prefix_is_behind(recording: Recording, tape: Tape, path: str, at: int) -> bool:
    """Whether a lane has made every call of its own before the branching event.

    Args:
        recording: The parent.
        tape: The parent's recorded calls, and which of them have been made.
        path: The lane. A lane that the parent does not have comes after all calls before the branching event.
        at: Number of the branching event.
    """
    if next(recording.events(lane=path, limit=1), None) is not None:
        head = tape.lane(path).head()
        return head is None or head.number >= at
    return not any(event.number < at and inside(recording, event) is None for event in tape.unused())


def require_fork_point(recording: Recording, number: int, *, resume: bool = False) -> Event:
    """The branching event of a fork, or the event from which a resumption continues.

    Raises:
        EventNotFound: The run has no such event; the message has their number.
        ForkError: The event lies inside a frozen call; the message names the nearest events that do not. Or the
            recording does not have the times at which timers were set and due.
    """
    run = tail(recording.run.id)
    count = recording.count()
    try:
        event = recording.event(number)
    except EventNotFound:
        raise EventNotFound(
            f"run {run} has no event {number}: {f'its last one is {count - 1}' if count else 'it has none'}",
            cause="a typing mistake, or another run was meant",
            next_command=f"reenact show {run}",
        ) from None
    if is_plumbing(event.call):
        event = recording.event(fork_point_at(recording, number))
    around = inside(recording, event)
    if around is None:
        if not resume:
            _require_timed(recording)
        return event
    own = (e for e in recording.events(after=number) if not is_plumbing(e.call))
    after = next((e.number for e in own if inside(recording, e) is None), None)
    near = f"{around.number}" + (f" or {after}" if after is not None else "")
    raise ForkError(
        f"event {number} ({event.name}) lies inside {around.name} (event {around.number}), which is answered frozen",
        cause=f"the nearest events it can {'go on from' if resume else 'branch at'} are {near}",
        next_command=f"reenact resume {run}:{around.number}" if resume else f"reenact fork {run}:{around.number}",
    )


def _require_timed(recording: Recording) -> None:
    """Require that the times of timers, which a fork needs, were recorded."""
    timer = next((each for each in recording.deliveries(0) if each.tag.kind == "t"), None)
    if timer is not None and timer.times is None:
        run = tail(recording.run.id)
        raise ForkError(
            f"run {run} does not say when its timers were set and due, and a fork needs that",
            cause="an earlier version of reenact recorded it; it can still be replayed",
            next_command=f"reenact replay {run}",
        )


def fork_point_at(recording: Recording, number: int) -> int:
    """The number of the event that a fork at ``number`` branches at: ``number`` itself, or the first event after
    telemetry, because no replay waits for telemetry."""
    behind = (event.number for event in recording.events(after=number - 1) if not is_plumbing(event.call))
    return next(behind, number)
