"""Resources that a run uses over several calls (a process, a websocket, an active RPC), in a fork: each is wholly the
recorded one or wholly live.

A recorded resource does not exist now: a call on it gets its recorded answer if all earlier messages to it were sent
again; else the fork cannot go on. On a resource that the fork has begun every call is performed, because a recorded
answer came from another process or connection.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reenact.errors import UnreplayableRun
from reenact.facts.call import Call, Effect, Kind
from reenact.facts.event import Event
from reenact.facts.handles import begins_rpc, handle_of, says_something, waits_for_message
from reenact.facts.ids import tail
from reenact.facts.run import Run
from reenact.replaying.tape import Tape
from reenact.timetravel.forks.ladder import LadderResult

if TYPE_CHECKING:
    from reenact.timetravel.forks.fork_answers import TapedCall
    from reenact.timetravel.forks.plan import Plan


class Resources:
    """The known facts about each resource, by the fork's number of the event that began it.

    Args:
        tape: The recorded calls.
    """

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._begins: dict[int, Call] = {}
        self._said: set[int] = set()
        self._live: set[int] = set()
        self._waiting: dict[int, list[TapedCall]] = {}
        self._writes: dict[int, list[Event]] | None = None
        self._used: set[int] = set()

    # --- what has happened -------------------------------------------------------------------------------------

    def used(self, event: Event) -> None:
        """Note that a recorded call has been made again, after the cut."""
        self._used.add(event.number)

    def went_live(self, number: int) -> None:
        """Note that a resource was begun live."""
        self._live.add(number)

    def can_begin(self, number: int, call: Call) -> None:
        """Note that the resource which ``number`` begins is answered from the recording, and can be begun later."""
        self._begins[number] = call

    def answered(self, crossing: TapedCall) -> None:
        """Note that a call is answered from the recording."""
        handle = handle_of(crossing.asked)
        if handle is None or handle in self._said:
            return
        if says_something(crossing.asked):
            self._has_said(handle)
        elif waits_for_message(crossing.asked):
            self._waiting.setdefault(handle, []).append(crossing)

    def handed(self, crossing: TapedCall) -> None:
        """Note that the answer of a call has been handed over."""
        handle = handle_of(crossing.asked)
        if handle is not None and waits_for_message(crossing.asked):
            self._has_said(handle)

    def _has_said(self, handle: int) -> None:
        self._said.add(handle)
        self._waiting.pop(handle, None)

    def begin(self, number: int) -> None:
        """A resource goes live that was answered from the recording until now: its waiters wait for live deliveries."""
        self._live.add(number)
        for crossing in self._waiting.pop(number, []):
            crossing.go_live()

    # --- decisions ---------------------------------------------------------------------------------------------

    def is_live(self, number: int) -> bool:
        """Whether the fork itself has begun a resource."""
        return number in self._live

    def to_begin(self, number: int) -> Call | None:
        """The call that begins the resource now; None if that cannot be, or if anything has passed through it."""
        return None if number in self._said else self._begins.get(number)

    def fitting(self, call: Call, found: LadderResult) -> LadderResult:
        """The ladder's result for a call, without an answer that belongs to another resource.

        Args:
            call: The call, with the fork's number of its resource.
            found: The ladder's result.
        """
        handle = handle_of(call)
        answer = found.answer
        if handle is None or answer is None:
            return found
        if self.is_live(handle):
            return LadderResult(None, found.place, "is asked of what the fork has begun again")
        skipped = next((event for event in self._unsaid(answer) if _came_before(event, answer)), None)
        if skipped is None:
            return found
        return LadderResult(None, found.place, _not_made(skipped))

    def unfit(self, crossing: TapedCall) -> str:
        """Why a recorded answer no longer fits (a write is missing, or its resource is live); empty where it fits."""
        handle = handle_of(crossing.asked)
        if handle is not None and self.is_live(handle) and waits_for_message(crossing.asked):
            return "the connection went live while its recorded answer was handed over"
        delivery, at_us = crossing.came
        for write in self._unsaid(crossing.recorded):
            done = write.delivery is not None and delivery is not None and write.delivery < delivery
            if done or write.issued_us < at_us:  # a write counts from its issue, and may be under way
                return _not_made(write)
        return ""

    def _unsaid(self, event: Event) -> Iterator[Event]:
        """The recorded writes to the resource of a call that were not made again."""
        then = began_by(event)
        if then is None:
            return
        if self._writes is None:
            self._writes = {}
            for other in self._tape.unused():
                handle = handle_of(other.call)
                if handle is not None and other.call.effect is Effect.WRITE:
                    self._writes.setdefault(handle, []).append(other)
        for write in self._writes.get(then, ()):
            if write.number not in self._used and write.number != event.number:
                yield write


def began_by(event: Event) -> int | None:
    """The event that began the resource of a recorded call. An RPC's own event counts: its answers belong to it."""
    return event.number if begins_rpc(event.call) else handle_of(event.call)


def _came_before(write: Event, event: Event) -> bool:
    """Whether the strand that made a call had made a write before it."""
    return write.lane == event.lane and write.number < event.number


def _not_made(write: Event) -> str:
    """Why a recorded answer no longer fits: the write before it was not made again."""
    return f"its recorded answer came after event {write.number} ({write.name}), which was not made again"


def gone(run: Run, plan: Plan, call: Call, began: Event | None, why: str) -> UnreplayableRun:
    """The error for a call that only a frozen resource could answer.

    Args:
        run: The parent.
        plan: The plan of the fork.
        call: The call.
        began: The parent's event that began its resource.
        why: The ladder's reason.
    """
    what = f"{began.name}, event {began.number}" if began is not None else "a call"
    where = f"{tail(run.id)}:{began.number if began is not None else 0}"
    if call.kind is Kind.WEBSOCKET:
        cause = (
            "earlier messages of the connection were answered from the recording, so its server does not know "
            "them; a fork at or before the event that opened it opens it again, with all that is sent allowed by name"
        )
    else:
        cause = (
            "its state at that time cannot be restored, and a start with the recorded request never acts "
            "again: fork at the event that began it with code that begins it differently, or put @reenact.tool on the "
            "function that talks to it and record again"
        )
    sent = f"send {call.name.partition(' ')[2]}"
    return UnreplayableRun(
        f"the {plan.noun} cannot go on live with what the recording began ({what}): {call.name} was asked at "
        f"{call.source or 'an unknown place'}, and {why}",
        cause=cause,
        next_command=f"reenact fork {where} --live all --allow-write '{sent}'"
        if call.kind is Kind.WEBSOCKET
        else f"reenact fork {where} --rev HEAD",
        missing=(call.kind.value,),
    )
