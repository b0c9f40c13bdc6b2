"""Calls that a fork or resumption cannot answer: the plan decides which go live, and no write is made twice."""

from __future__ import annotations

from reenact.abc.session import Crossing
from reenact.facts.call import Call, Effect, Kind, Value
from reenact.facts.event import Event
from reenact.facts.values import encode
from reenact.timetravel.forks.fork_calls import ForkCalls
from reenact.timetravel.forks.fork_requests import as_sent, unwritable
from reenact.timetravel.forks.ladder import ForkQuestion
from reenact.timetravel.forks.ledger import WriteStanding
from reenact.timetravel.forks.plan import said_of
from reenact.timetravel.forks.refusals import unwritten
from reenact.timetravel.forks.resume_points import has_failed


class ForkMisses:
    """Decides about calls that the recording cannot or must not answer."""

    revives = True
    """Whether calls may be made that were cancelled in the parent, but are not cancelled in the fork."""
    from_the_start = False
    """Whether the first call, whichever it is, lies after the cut."""
    needs_flags = True
    """Whether the fork fails if the agent does not evaluate a flag that the fork sets."""

    def asked(self, calls: ForkCalls, question: ForkQuestion, model: bool) -> Crossing:
        """Perform the call, unless it has been made before or is not allowed."""
        session, plan, lane, call = calls.session, calls.plan, question.lane, question.call
        why = unwritable(plan, call)
        if why:
            raise calls.stops.stopped(lane, call, unwritten(session.run, plan, why), why)
        question, recorded = as_rewritten(calls, question), question
        standing = calls.standing(question.write)
        made = self._made_before(calls, question, standing)
        if made is not None:
            # Recorded reads do not know of a write that is not in the recording.
            calls.course.wrote |= question is not recorded or question.found.answer is None
            return made
        refused = calls.refusal(lane, call, model)
        if refused:
            raise calls.stops.refused(question, refused)
        return calls.performed(question, standing)

    def _made_before(self, calls: ForkCalls, question: ForkQuestion, standing: WriteStanding | None) -> Crossing | None:
        """The result of a write that a run of this lineage has made; None: it may be made. A write in doubt stops the
        fork, unless the plan has the user's word on it."""
        if standing is None or standing.undone:
            return None
        plan, (lane, call, write, found) = calls.plan, question
        here = standing.claim.run == calls.session.run.id
        again = said_of(plan, write, found.answer) == "retry"
        retried = found.answer is not None and found.answer.number in plan.retries
        failed = (retried and here) or ((retried or again) and has_failed(standing.outcome))
        if failed and call.kind is Kind.DB and isinstance(standing.outcome, Value):
            return None  # its transaction is made again
        elsewhere = calls.counterparts.is_elsewhere(call)
        if standing.outcome is not None and not failed and not elsewhere:
            return calls.given(question, standing.outcome, standing.body, standing.why)
        if again or lane.parent in calls.retried:
            return None
        if write in plan.given and call.kind is not Kind.HTTP:
            return calls.given(question, Value(b"", head={}), encode(plan.given[write]).body, "said to have been done")
        remark = " with an error" if failed else ", over another connection" if elsewhere else ""
        raise calls.stops.doubted(lane, call, standing.why + remark, write, standing.claim)

    def is_stale(self, calls: ForkCalls, call: Call, model: bool) -> bool:
        """Whether a recorded answer may be out of date, because a live write came before this read."""
        return calls.course.wrote and call.effect is Effect.READ and not model and calls.plan.live != "none"

    def breaks_off(self, calls: ForkCalls, event: Event) -> bool:
        """Whether the recorded answer is cut off because its run was: then the call is made again, where that is
        allowed. Without live calls, and where the code itself read no further, the recorded part is the answer."""
        plan, was_cut_off = calls.plan, calls.session.run.interrupted_at is not None
        return event.outcome is None or (event.is_open and (plan.resume or (was_cut_off and plan.live != "none")))

    def ends(self, calls: ForkCalls) -> bool:
        """End the fork when everything waits for a delivery that will never come; False: it ends like any fork."""
        return False


def as_rewritten(calls: ForkCalls, question: ForkQuestion) -> ForkQuestion:
    """A call as the plan sends it: a rewritten request that its provider stores is a different write."""
    goes_out = as_sent(calls.plan, question.call)
    if not question.write or goes_out is question.call:
        return question
    return question._replace(write=calls.child.identity(question.lane, goes_out))
