"""Calls that were cancelled when the parent was recorded, and are not in the fork: nobody knows what would have come.

They are asked when everything waits, or when a timer that cut one short has a later deadline: by the rules of any call
behind the cut. A write among them is in doubt, for it had been begun.
"""

from __future__ import annotations

from typing import Final, Protocol

from reenact.errors import Divergence, Halt, ReplayError
from reenact.facts.call import Call, Effect, Failure, Kind, Value
from reenact.facts.connections import is_of_connection
from reenact.facts.effects import Claim
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Run
from reenact.facts.serving import arrives
from reenact.facts.values import encode
from reenact.recording.recording_session import RecordingSession
from reenact.seams.lanes import Lane
from reenact.timetravel.forks.fork_requests import unwritable
from reenact.timetravel.forks.fork_schedule import ForkSchedule
from reenact.timetravel.forks.handing import Handing
from reenact.timetravel.forks.ledger import WriteStanding
from reenact.timetravel.forks.model_calls import is_model
from reenact.timetravel.forks.plan import Plan, Settling, said_of
from reenact.timetravel.forks.refusals import given_up, unanswered
from reenact.timetravel.forks.taping import OwnCall, TapedCall

WHY: Final = "it was cancelled when it was recorded, and is not now"
"""Why such a call is made, in the report."""
_TOLD: Final = "the live server must hear it too"
"""The same of a notification that had no answer, of a session that has gone live."""
_IN_DOUBT: Final = "it may have been made"


class Reviving(Protocol):
    """What is asked of the fork."""

    revives: bool
    run: Run
    plan: Plan
    child: RecordingSession

    @property
    def schedule(self) -> ForkSchedule:
        """Where they wait."""

    def say(self, event: int, call: Call, how: str, why: str) -> None:
        """Note how a call was answered."""

    def makes(self, lane: Lane, call: Call, event: int, why: str) -> None:
        """A call that had no answer is made."""

    def standing(self, address: str) -> WriteStanding | None:
        """How a write stands in this lineage."""

    def refusal(self, lane: Lane, call: Call, model: bool) -> str:
        """Why a call without a recorded answer may not be made."""

    def doubted(self, lane: Lane, call: Call, why: str, claim: Claim | None = None) -> Halt:
        """The fork stops at a write that may have been made."""

    def stopped(self, lane: Lane, call: Call, error: ReplayError, why: str) -> Halt:
        """The fork stops at a call."""

    def stops_waiting(self) -> None:
        """It is about to stop where everything waits."""

    def diverges(self, divergence: Divergence) -> None:
        """The recording cannot answer any more."""

    def next_command(self, event: int | None) -> str:
        """What to type to see where it stopped."""


class CancelledCalls:
    """What becomes of them.

    Args:
        session: The fork.
    """

    def __init__(self, session: Reviving) -> None:
        self._session = session

    def revive(self) -> bool:
        """Let the one that waits longest go on, of those that may; False: none may. (Gate locked.)"""
        for taped in self._waiting():
            if not self._why_not(taped):
                taped.go_live()
                return True
        return False

    def stop(self) -> bool:
        """Nothing goes on: stop the fork at the one that waits longest, if one does. (Gate locked.)"""
        session = self._session
        for taped in self._waiting():
            why, call = self._why_not(taped), taped.asked
            session.stops_waiting()
            number = taped.recorded.number
            if why == _IN_DOUBT:
                place = f"event {number} of run {tail(session.run.id)}"
                claim = Claim(session.child.effects[taped.event], session.run.id, number)
                session.doubted(taped.lane, call, f"it was begun as {place}, and given up before it ended", claim)
            elif call.effect is Effect.WRITE:
                session.stopped(taped.lane, call, given_up(session.plan, call, why, session.next_command(number)), why)
            else:
                session.diverges(unanswered(taped.recorded, why, session.next_command(number)))
            return True
        return False

    def goes_on(self, taped: TapedCall, own: OwnCall) -> OwnCall | Handing:
        """One of them goes on: it is performed, unless it is said to have been done.

        Args:
            taped: The call as it waited.
            own: The same as one that is performed.
        """
        call, session = taped.asked, self._session
        known = self._known(taped)
        if known is not None:
            outcome, why = known
            session.say(taped.event, call, "frozen", why)
            return Handing(own.settle(outcome), outcome)
        session.makes(taped.lane, call, taped.event, WHY if taped.form == "open" else _TOLD)
        return own

    def _waiting(self) -> list[TapedCall]:
        if not self._session.revives:
            return []
        return [taped for taped in list(self._session.schedule.unanswered.values()) if _asks(taped.asked)]

    def _word(self, taped: TapedCall) -> Settling:
        """What has been said of a write that is in doubt."""
        address = self._session.child.effects.get(taped.event, "")
        word = said_of(self._session.plan, address, taped.recorded) if address else ""
        return "" if word == "done" else word  # what it gave is said of it, or it stays in doubt

    def _known(self, taped: TapedCall) -> tuple[Value | Failure, str] | None:
        """What came of a write that somebody of this lineage has made since, or is said to have come of it, and why it
        is given; None where that is not known."""
        address = self._session.child.effects.get(taped.event, "")
        standing = self._session.standing(address)
        if standing is not None and isinstance(standing.outcome, Value):
            return replace(standing.outcome, body=standing.body), standing.why
        if standing is not None and isinstance(standing.outcome, Failure):
            return standing.outcome, standing.why
        given = self._session.plan.given
        if address not in given or taped.asked.kind is Kind.HTTP:
            return None
        return Value(encode(given[address]).body, head={}), "said to have been done"

    def _why_not(self, taped: TapedCall) -> str:
        """Why it may not go on; empty where it may."""
        session, call = self._session, taped.asked
        word = self._word(taped)
        if self._known(taped) is not None:
            return ""
        refused = unwritable(session.plan, call) or session.refusal(taped.lane, call, is_model(call))
        if not refused and not word and session.child.effects.get(taped.event):
            return _IN_DOUBT
        return refused


def _asks(call: Call) -> bool:
    """Whether a call without an answer asks anything of anybody."""
    return not (call.observed or is_of_connection(call) or arrives(call))
