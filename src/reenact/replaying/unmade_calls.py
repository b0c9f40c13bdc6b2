"""Recorded calls that a replay has not made, and those of them that are no difference."""

from __future__ import annotations

import sys
from typing import NamedTuple

from reenact.abc.store import Recording
from reenact.facts.call import Kind
from reenact.facts.event import Event
from reenact.facts.served_requests import REQUEST, RESPONSE
from reenact.replaying.frozen_scopes import FrozenScopes
from reenact.replaying.tape import Tape


class ReplayCoverage(NamedTuple):
    """The part of its recording that a replay has covered.

    Attributes:
        total: The number of recorded calls that could be made again.
        inside: The number of calls inside calls that were answered as a whole: the code that would make them did not
            run.
        fidelity: The weakest fidelity of a served answer.
    """

    total: int
    inside: int
    fidelity: str


def unmade(recording: Recording, tape: Tape, frozen_scopes: FrozenScopes, *, cut_short: bool) -> list[Event]:
    """The recorded calls that were not made, without those inside frozen calls and after the end.

    Args:
        recording: The run.
        tape: The calls, with those that were made.
        frozen_scopes: The scopes in which no code ran.
        cut_short: Whether the run was stopped, so that calls without an outcome are after its end.
    """
    if tape.used == recording.count():
        return []
    end = _last_of_a_request(recording)
    return [
        event
        for event in tape.unused()
        if not (frozen_scopes.hold(event.lane) or (cut_short and event.outcome is None)) and event.number <= end
    ]


def count_inside(recording: Recording, tape: Tape, frozen_scopes: FrozenScopes) -> int:
    """How many unmade calls lie inside calls that were answered as a whole: no code ran that would make them."""
    if not frozen_scopes or tape.used == recording.count():
        return 0
    return sum(frozen_scopes.hold(event.lane) for event in tape.unused())


def _last_of_a_request(recording: Recording) -> int:
    """The number of the response, with which the run of a request ends. Later calls of a task or a thread that outlives
    the response come after the end. Other runs end with their last event."""
    run = recording.run
    if run.entry.kind == REQUEST:
        for event in recording.events(lane=run.lane or "root", kinds=[Kind.OUTPUT.value], name=RESPONSE):
            return event.number
    return sys.maxsize
