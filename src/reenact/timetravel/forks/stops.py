"""How a fork stops before its end: at a call that it may not make, or when no delivery comes any more."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reenact.errors import Divergence, Halt, ReplayError
from reenact.facts.call import Call, Effect, Json, Kind
from reenact.facts.effects import Claim, acts
from reenact.facts.fork_stop import stopped_at, stopped_waiting
from reenact.facts.lazy_dataclass import replace
from reenact.replaying.replay_session import ReplaySession
from reenact.seams.lanes import Lane
from reenact.timetravel.forks.fork_command import again, with_models
from reenact.timetravel.forks.fork_course import ForkCourse
from reenact.timetravel.forks.ladder import ForkQuestion, LadderResult
from reenact.timetravel.forks.ledger import Doubt, in_doubt
from reenact.timetravel.forks.permits import is_model
from reenact.timetravel.forks.plan import Plan, may_write
from reenact.timetravel.forks.refusals import refused_call


class ForkStops:
    """Explains why a fork cannot go on, and keeps the place, so that its own replay stops there too.

    Args:
        session: The fork, as far as it is a replay.
        plan: Its plan.
        course: The course so far.
        lacks: The variable of a key that a call would also need, if it were allowed; empty where it has all it needs.

    Attributes:
        at: The facts that are kept of the place; None while the fork goes on.
        error: The error with which it stopped at a call; None elsewhere.
        doubt: The write in doubt at which it stopped.
    """

    at: Mapping[str, Json] | None = None
    error: ReplayError | None = None
    doubt: Doubt | None = None

    def __init__(self, session: ReplaySession, plan: Plan, course: ForkCourse, lacks: Callable[[Call], str]) -> None:
        self._session = session
        self._plan = plan
        self._course = course
        self._lacks = lacks

    def doubted(self, lane: Lane, call: Call, why: str, address: str, claim: Claim | None = None) -> Halt:
        """Stop the fork at a write in doubt: a user must say whether it happened, and with which result."""
        error = in_doubt(call, why, self._session.run, self._plan, claim)
        self.doubt = Doubt(address, call.name, why, call.kind is not Kind.HTTP, error.next_command)
        return self.stopped(lane, call, error, f"{call.name} is in doubt: {why}")

    def refused(self, question: ForkQuestion, why: str) -> Halt:
        """Stop the fork at a call that it may not make."""
        call, found = question.call, question.found
        error = refused_call(self._session.recording, self._plan, call, found, why, self._instead(call, found))
        if lacks := self._lacks(call):
            error.cause += f"; {lacks} is not set, which it needs too"
        return self.stopped(question.lane, call, error, why, write=self._may_be_allowed(call))

    def _may_be_allowed(self, call: Call) -> bool:
        """Whether ``--allow-write`` lets a refused call be made."""
        return call.effect is Effect.WRITE and not self._plan.only

    def allowing(self, call: Call) -> str:
        """The command of a fork that may make a refused call; empty where ``--allow-write`` does not let it."""
        if not self._may_be_allowed(call):
            return ""
        return again(self._session.run, replace(self._plan, allow_writes=(*self._plan.allow_writes, call.name)))

    def _instead(self, call: Call, found: LadderResult) -> str:
        """The next command: a fork that may make the call, or one that shows the recorded call."""
        plan = self._plan
        if allowed := self.allowing(call):
            return allowed
        if plan.live == "none" and not (plan.only or plan.resume or acts(call)):
            return again(self._session.run, replace(plan, live="reads"), *self._looked_at_first())
        if plan.only and found.place is not None and call.effect is Effect.READ and is_model(call):
            return with_models(self._session.run, plan)
        return self._session.saying.next(found.place.number if found.place is not None else None)

    def stopped(self, lane: Lane, call: Call, error: ReplayError, why: str, *, write: bool = False) -> Halt:
        """Stop the fork at a call, with an explanation; returns the exception to raise."""
        if self.at is None:
            self.keep(lane, self._session.redactor.call(call), write=write)
        return self.ends(self._course.top + 1, call, error, why)

    def keep(self, lane: Lane, cleaned: Call, *, write: bool = False) -> None:
        """Note that the fork stops at this call."""
        self.at = stopped_at(self._session.run, lane.path, cleaned, self._session.rules, write=write)

    def waiting(self) -> None:
        """Note that the fork stops because everything waits, unless it has stopped already."""
        self.at = self.at or stopped_waiting()

    def ends(self, event: int, call: Call, error: ReplayError, why: str) -> Halt:
        """Stop the fork with an explanation of a call."""
        self._course.refused.append(why)
        self._course.say(event, call, "refused", why.removeprefix(f"{call.name} "))
        self.error = error
        return self._session.faults.stop(Halt(error.message))

    def explain(self, divergence: Divergence) -> None:
        """Explain a divergence after the cut, where the prefix is not the cause."""
        if divergence.reason == "end":
            return
        if self._plan.resume:
            divergence.cause = f"the change since event {self._plan.at} affects this call; {divergence.cause}"
        else:
            divergence.cause = f"the change since the branching event affects this call; {divergence.cause}"
            run, live = self._session.run, replace(self._plan, live="all")
            divergence.next_command = again(run, live, *self._looked_at_first())

    def _looked_at_first(self) -> tuple[str, ...]:
        """The option for a dry run, if the next fork would come to writes that are not allowed."""
        behind = self._session.recording.events(after=self._plan.at - 1)
        blocked = any(acts(event.call) and not may_write(self._plan, event.call) for event in behind)
        return ("--dry-run",) if blocked else ()
