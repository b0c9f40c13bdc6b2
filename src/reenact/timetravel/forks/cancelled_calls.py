"""Calls that were cancelled when the parent was recorded, but are not cancelled in the fork: their answers are unknown.

They are made when all strands wait, or when the timer that cut one short has a later deadline. The rules for calls
after the cut apply. A write among them is in doubt, because it had begun.
"""

from __future__ import annotations

from typing import Final

from reenact.facts.call import Call, Effect, Failure, Kind, Value
from reenact.facts.connections import is_of_connection
from reenact.facts.effects import Claim
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import replace
from reenact.facts.served_requests import arrives
from reenact.facts.values import encode
from reenact.seams.turns import MappedTurn
from reenact.timetravel.forks.fork_answers import OwnCall, TapedCall, handing_over
from reenact.timetravel.forks.fork_calls import ForkCalls
from reenact.timetravel.forks.fork_requests import unwritable
from reenact.timetravel.forks.permits import is_model
from reenact.timetravel.forks.plan import Settling, said_of
from reenact.timetravel.forks.refusals import given_up, unanswered

WHY: Final = "it was cancelled when it was recorded, and is not now"
"""The reason for the call, in the report."""
_TOLD: Final = "the live server must hear it too"
"""The remark on a notification without an answer, in a session that has gone live."""
_IN_DOUBT: Final = "it may have been made"


class CancelledCalls:
    """Decides about cancelled calls.

    Args:
        calls: The calls of the fork.
        revives: Whether cancelled calls may be made.
    """

    def __init__(self, calls: ForkCalls, *, revives: bool) -> None:
        self._calls = calls
        self._revives = revives
        calls.goes_on = self.goes_on
        calls.schedule.revive = self.revive
        calls.schedule.revivable = lambda: self._first() is not None
        calls.schedule.give_up = self.stop

    def revive(self) -> bool:
        """Let one call go on: of those that may, the one that has waited longest. False if none may. (Gate locked.)"""
        taped = self._first()
        if taped is not None:
            taped.go_live()
        return taped is not None

    def _first(self) -> TapedCall | None:
        return next((taped for taped in self._waiting() if not self._why_not(taped)), None)

    def stop(self) -> bool:
        """Nothing can go on: stop the fork at the call that has waited longest, if any waits. (Gate locked.)"""
        session, stops = self._calls.session, self._calls.stops
        for taped in self._waiting():
            why, call = self._why_not(taped), taped.asked
            stops.waiting()
            number = taped.recorded.number
            shown = session.saying.next(number)
            if why == _IN_DOUBT:
                place, address = f"event {number} of run {tail(session.run.id)}", self._address(taped)
                claim = Claim(address, session.run.id, number)
                begun = f"it was begun as {place}, and given up before it ended"
                stops.doubted(taped.lane, call, begun, address, claim)
            elif call.effect is Effect.WRITE:
                error = given_up(self._calls.plan, call, why, stops.allowing(call) or shown)
                stops.stopped(taped.lane, call, error, why)
            else:
                session.faults.stop(session.diverged(unanswered(taped.recorded, why, shown)))
            return True
        return False

    def goes_on(self, taped: TapedCall, own: OwnCall) -> OwnCall | MappedTurn:
        """A cancelled call continues: it is performed, unless a user has said that it is done.

        Args:
            taped: The call as it waited.
            own: The call, continued as a live one.
        """
        call, known = taped.asked, self._known(taped)
        if known is not None:
            outcome, why = known
            self._calls.course.say(taped.event, call, "frozen", why)
            return handing_over(own, outcome)
        self._calls.makes(taped.lane, call, taped.event, WHY if taped.form == "open" else _TOLD)
        return own

    def _waiting(self) -> list[TapedCall]:
        if not self._revives:
            return []
        return [taped for taped in list(self._calls.schedule.unanswered.values()) if _asks(taped.asked)]

    def _address(self, taped: TapedCall) -> str:
        """The identity of a write; empty for other calls."""
        return self._calls.child.writes.issued.get(taped.event, "")

    def _word(self, taped: TapedCall) -> Settling:
        """The user's answer for a write in doubt."""
        address = self._address(taped)
        word = said_of(self._calls.plan, address, taped.recorded) if address else ""
        return "" if word == "done" else word  # the user must give the write's result, or it stays in doubt

    def _known(self, taped: TapedCall) -> tuple[Value | Failure, str] | None:
        """The result of a write, with its source: a run of this lineage has made the write since, or a user has given
        the result; None where it is not known."""
        address = self._address(taped)
        standing = self._calls.standing(address)
        if standing is not None and isinstance(standing.outcome, Value):
            return replace(standing.outcome, body=standing.body), standing.why
        if standing is not None and isinstance(standing.outcome, Failure):
            return standing.outcome, standing.why
        given = self._calls.plan.given
        if address not in given or taped.asked.kind is Kind.HTTP:
            return None
        return Value(encode(given[address]).body, head={}), "said to have been done"

    def _why_not(self, taped: TapedCall) -> str:
        """Why a cancelled call may not go on; empty where it may."""
        calls, call = self._calls, taped.asked
        word = self._word(taped)
        if self._known(taped) is not None:
            return ""
        refused = unwritable(calls.plan, call) or calls.refusal(taped.lane, call, is_model(call))
        if not refused and not word and self._address(taped):
            return _IN_DOUBT
        return refused


def _asks(call: Call) -> bool:
    """Whether a call without an answer makes a request."""
    return not (call.observed or is_of_connection(call) or arrives(call))
