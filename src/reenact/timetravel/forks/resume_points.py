"""The head of a run: where it can go on, and which of its writes are in doubt."""

from __future__ import annotations

import signal
from collections.abc import Container

from reenact.abc.store import Recording
from reenact.errors import UsageError
from reenact.facts.call import EndKind, Failure, Kind, Outcome, Stream, Value
from reenact.facts.effects import UNMADE, acts
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.order import Delivery
from reenact.facts.plumbing import is_plumbing
from reenact.facts.run import Run, Status
from reenact.seams.databases.statements import ends_with
from reenact.timetravel.forks.fork_points import inside
from reenact.timetravel.forks.ledger import may_be_open

_ERROR = 400
"""The lowest HTTP status of a failed request."""


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """The place where a run goes on.

    Attributes:
        at: The number of the event that is made again, or of the next event if the recording simply ends.
        retries: Numbers of recorded calls that failed and are made again.
        doubts: The writes among the calls that are made again: they may have changed the world.
        until: The number of the delivery at which Ctrl-C ended the run: neither it nor its results are repeated.
    """

    at: int
    retries: tuple[int, ...] = ()
    doubts: tuple[Event, ...] = ()
    until: int | None = None


def resume_point_of(recording: Recording, happened: Container[int]) -> ResumePoint:
    """Where an interrupted or failed run goes on: where Ctrl-C was typed, or at the first call without an end; else at
    the call with which it failed; else after its last event. In any case not after a write that its database has rolled
    back. ``happened``: the numbers of the calls in doubt of which a user says that they happened.

    Raises:
        UsageError: The run was not interrupted and has not failed.
    """
    require_broken(recording.run)
    typed = _ctrl_c(recording)
    head = _before(recording, typed) if typed is not None else _broken_off(recording)
    return _with_taken_back(recording, head, happened)


def _with_taken_back(recording: Recording, head: ResumePoint, happened: Container[int]) -> ResumePoint:
    """A write that the database rolled back when the process ended is made again, with its transaction. If a tool made
    the write, the tool did more than this write, and a user must decide."""
    lost = _taken_back(recording, happened)
    if not lost:
        return head
    tools = tuple({each.number: each for event in lost if (each := inside(recording, event)) is not None}.values())
    lost = (*tools, *lost)
    return replace(
        head,
        at=min(head.at, *(event.number for event in lost)),
        retries=tuple(sorted({*head.retries, *(event.number for event in lost)})),
        doubts=(*head.doubts, *(tool for tool in tools if acts(tool.call) and tool not in head.doubts)),
    )


def _taken_back(recording: Recording, happened: Container[int]) -> tuple[Event, ...]:
    """Statements whose transaction was open when their process ended, in order: the database has rolled them back. A
    commit without an answer ends a transaction only if it ``happened``. For a database with several connections, only
    those after the last end of a transaction on any of them."""
    found: list[Event] = []
    settled: set[object] = set()
    for event in recording.events(kinds=[Kind.DB], backwards=True):
        database, ending = event.call.head.get("database"), ends_with(event.call)
        answered = isinstance(event.outcome, Value)
        unknown = ending == "commit" and not answered and (inside(recording, event) or event).number not in happened
        if database in settled or unknown:
            continue
        if ending or not may_be_open(recording, event):
            settled.add(database)
        elif acts(event.call) and "sql" in event.call.head and answered:
            found.append(event)
    return tuple(reversed(found))


def _broken_off(recording: Recording) -> ResumePoint:
    """The resume point of a run that Ctrl-C did not end."""
    unfinished = [event for event in _outermost(recording) if event.is_open]
    if unfinished:
        doubts = (e for e in unfinished if acts(e.call) and not recording.notes(e.number).get(UNMADE))
        return ResumePoint(unfinished[0].number, (), tuple(doubts))
    broke_off = recording.run.status is Status.INTERRUPTED or stopped_in_doubt(recording.run)
    failing = None if broke_off else _failing(recording)
    if failing is None:
        return ResumePoint(recording.count())
    return ResumePoint(failing.number, (failing.number,), (failing,) if acts(failing.call) else ())


def _ctrl_c(recording: Recording) -> Delivery | None:
    """The interrupt from the keyboard that ended a run; None for a run that ended in another way."""
    if not recording.run.error.startswith(KeyboardInterrupt.__name__):
        return None
    came = [each for each in recording.deliveries() if each.tag.kind == "i" and each.tag.number == signal.SIGINT]
    return came[-1] if came else None


def _before(recording: Recording, typed: Delivery) -> ResumePoint:
    """Where a run stood when Ctrl-C was typed: the calls under way at that time are made again."""
    calls = _outermost(recording)
    cut_short = [
        event
        for event in calls
        if event.issued_us <= typed.at_us
        and (event.is_open or ((event.ended_us or 0) >= typed.at_us and _is_cut_short(event)))
    ]
    if cut_short:
        retries = tuple(event.number for event in cut_short if not event.is_open)
        doubts = tuple(event for event in cut_short if acts(event.call))
        return ResumePoint(cut_short[0].number, retries, doubts, typed.number)
    later = (event.number for event in calls if event.issued_us > typed.at_us)
    return ResumePoint(min(later, default=recording.count()), until=typed.number)


def stopped_in_doubt(run: Run) -> bool:
    """Whether a run is an attempt that was stopped at a write in doubt, and waits for a user's answer."""
    return bool(run.environment.get("in_doubt"))


def require_broken(run: Run) -> None:
    """Refuse a run that did not break off: it has nothing to resume.

    Raises:
        UsageError: The run is being recorded, or ended well.
    """
    name = tail(run.id)
    if run.status is Status.RECORDING:
        raise UsageError(
            f"run {name} is still being recorded",
            cause="its process lives and goes on by itself",
            next_command=f"reenact show {name}",
        )
    if run.status is Status.OK:
        raise UsageError(
            f"run {name} ended well: there is nothing to resume",
            cause="only an interrupted or failed run has a head to go on from; "
            f"'reenact resume {name}:EVENT' runs this one on from an event, as a child run",
            next_command=f"reenact show {name}",
        )


def _outermost(recording: Recording) -> list[Event]:
    """Calls that the run's own code makes into the world, without plumbing."""
    own = (event for event in recording.events() if not event.call.observed and not is_plumbing(event.call))
    return [event for event in own if inside(recording, event) is None]


def _failing(recording: Recording) -> Event | None:
    """The latest failed call that is the last of its lane: if a lane went on, the run failed with something else."""
    last = {event.lane: event for event in _outermost(recording)}
    failed = [event for event in last.values() if has_failed(event.outcome)]
    return max(failed, key=lambda event: event.number, default=None)


def _is_cut_short(event: Event) -> bool:
    """Whether a call failed, or was cancelled."""
    end = event.outcome.end if isinstance(event.outcome, Stream) else None
    return has_failed(event.outcome) or (end is not None and end.kind is EndKind.CANCELLED)


def has_failed(outcome: Outcome | None) -> bool:
    """Whether an outcome is an error, or a response with the status of one."""
    if not isinstance(outcome, Stream):
        return isinstance(outcome, Failure)
    status = outcome.head.get("status")
    error = outcome.end is not None and outcome.end.kind is EndKind.ERROR
    return error or (isinstance(status, int) and status >= _ERROR)
