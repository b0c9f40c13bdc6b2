"""The part of a fork's session that ends it before its end: at a call that may not be made, or that nothing answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reenact.errors import Divergence, Halt, ReplayError
from reenact.facts.call import Call, Effect, Kind
from reenact.facts.effects import Claim, acts
from reenact.facts.lazy_dataclass import replace
from reenact.facts.stopped import stopped_at, stopped_waiting
from reenact.seams.lanes import Lane
from reenact.timetravel.forks.again import again
from reenact.timetravel.forks.keeping import KeepingSession
from reenact.timetravel.forks.ladder import Found
from reenact.timetravel.forks.ledger import Doubt, in_doubt
from reenact.timetravel.forks.plan import may_write
from reenact.timetravel.forks.refusals import nothing_comes, refused_call

if TYPE_CHECKING:
    from reenact.timetravel.forks.cancelled_calls import CancelledCalls


class StoppingSession(KeepingSession):
    """A session that says why a fork cannot go on, and lets its own replay stop at the same place.

    Args: those of ``KeepingSession``.
    """

    _address = ""
    """Identity of the write under way; empty where the call is none."""
    _top = -1
    """The highest number that the fork has given."""
    _cancelled_calls: CancelledCalls

    def doubted(self, lane: Lane, call: Call, why: str, claim: Claim | None = None) -> Halt:
        """The fork stops at a write that may have been made: a person's word is needed, and what it gave."""
        error = in_doubt(call, why, self.run, self.plan, claim)
        self.doubt = Doubt(self._address, call.name, why, call.kind is not Kind.HTTP, error.next_command)
        return self.stopped(lane, call, error, f"{call.name} is in doubt: {why}")

    def _refused(self, lane: Lane, call: Call, why: str, found: Found) -> Halt:
        """The fork stops at a call that it may not make."""
        error = refused_call(self.recording, self.plan, call, found, why, self._instead(call, found))
        if lacks := self._lacks(call):
            error.cause += f"; {lacks} is not set, which it needs too"
        return self.stopped(lane, call, error, why, write=self._may_be_allowed(call))

    def _may_be_allowed(self, call: Call) -> bool:
        """Whether ``--allow-write`` lets a refused call be made."""
        return call.effect is Effect.WRITE and not self.plan.only

    def _lacks(self, call: Call) -> str:
        """The variable of a key that a call would need besides, were it allowed; empty where it has what it needs."""
        return ""

    def _instead(self, call: Call, found: Found) -> str:
        """What leads on: the fork that may make it, where an option lets it; else what shows the recorded call."""
        plan = self.plan
        if self._may_be_allowed(call):
            return again(self.run, replace(plan, allow_writes=(*plan.allow_writes, call.name)))
        if plan.live == "none" and not (plan.only or plan.resume or acts(call)):
            return again(self.run, replace(plan, live="reads"), *self._looked_at_first())
        return self.saying.next(found.place.number if found.place is not None else None)

    def stopped(self, lane: Lane, call: Call, error: ReplayError, why: str, *, write: bool = False) -> Halt:
        """Stop the fork at a call, with what is said of it; what to raise."""
        if self._stop_kept is None:
            cleaned = self._redactor.call(call)
            self._stop_kept = stopped_at(self.child.run, lane.path, cleaned, self.rules, write=write)
        return self._ends(self._top + 1, call, error, why)

    def _ends(self, event: int, call: Call, error: ReplayError, why: str) -> Halt:
        self.course.refused.append(why)
        self.say(event, call, "refused", why.removeprefix(f"{call.name} "))
        self.stopped_by = error
        return self._stop(Halt(error.message))

    stopped_by: ReplayError | None = None

    def stops_waiting(self) -> None:
        """The fork is about to stop where everything waits, and so is its replay."""
        self._stop_kept = self._stop_kept or stopped_waiting()

    def diverges(self, divergence: Divergence) -> None:
        """The recording cannot answer any more: stop."""
        self._stop(self._diverged(divergence))

    def _diverged(self, divergence: Divergence) -> Halt:
        """What the recording cannot answer any more after the cut is no fault of the prefix. Either way it is the end,
        and that of the fork's own replay."""
        self._stop_kept = self._stop_kept or stopped_waiting()
        if self.schedule.cut and divergence.reason != "end":
            if self.plan.resume:
                divergence.cause = f"what is different since event {self.plan.at} reaches this; {divergence.cause}"
            else:
                divergence.cause = f"what is different since the branching event reaches this; {divergence.cause}"
                divergence.next_command = again(self.run, replace(self.plan, live="all"), *self._looked_at_first())
        return super()._diverged(divergence)

    def _looked_at_first(self) -> tuple[str, ...]:
        """What makes the next fork a plan alone, where it would come to writes that it may not make."""
        behind = self.recording.events(after=self.plan.at - 1)
        blocked = any(acts(event.call) and not may_write(self.plan, event.call) for event in behind)
        return ("--dry-run",) if blocked else ()

    def _at_the_end(self) -> None:
        """Everything waits for what will never come: after the cut, for what the change has removed."""
        if not self.schedule.cut:
            super()._at_the_end()
            return
        if self._cancelled_calls.stop():
            return
        behind = [event for event in self.unused() if event.number > self._branching and not event.call.observed]
        left = min(behind, key=lambda event: event.number, default=None)
        self._stop(self._diverged(nothing_comes(left, self.saying.next(left.number if left is not None else None))))

    def next_command(self, event: int | None) -> str:
        """What to type to see where it stopped."""
        return self.saying.next(event)
