"""The policy of a cell: that of a golden, but calls that a candidate changes go live, and no request is sent twice."""

from __future__ import annotations

from collections.abc import Sequence

from reenact.abc.session import Crossing
from reenact.abc.store import Recording
from reenact.errors import Halt, UnreplayableRun
from reenact.facts.call import Call
from reenact.facts.event import Event
from reenact.seams.lanes import Lane
from reenact.testing.experiments.cell import UNANSWERED_MODEL
from reenact.testing.goldens.golden_answers import Answers
from reenact.testing.goldens.golden_misses import GoldenMisses
from reenact.timetravel.forks.fork_calls import ForkCalls
from reenact.timetravel.forks.fork_misses import ForkMisses, as_rewritten
from reenact.timetravel.forks.fork_requests import is_rewritten, unwritable
from reenact.timetravel.forks.ladder import ForkQuestion, LadderResult
from reenact.timetravel.forks.permits import is_model
from reenact.timetravel.forks.refusals import recorded_calls


class CellMisses(ForkMisses):
    """Answers calls that the row's own recording does not answer, and sends calls again that a candidate changes.

    Args:
        row: The answers of the row's golden. A cell is judged as a whole, even if its recording is cut off.
        first: The answers that come before a live call, by source: those that the candidate scripts (``scripted``),
            then those of an interrupted attempt (``resumed``).
    """

    revives = False
    from_the_start = True
    needs_flags = False  # a flag that this row does not evaluate is no fault of the candidate

    def __init__(self, row: GoldenMisses, first: Sequence[tuple[str, Answers]]) -> None:
        self._row = row
        self._first = first
        row.judges_cut = False
        row.stale = _stale

    def asked(self, calls: ForkCalls, question: ForkQuestion, model: bool) -> Crossing:
        """Decide a call that the row's own recording does not or must not answer."""
        lane, call = question.lane, question.call
        for source, answers in self._first:
            given = answers.find(lane.path, call)
            if given is not None:
                self._row.used[source] += 1
                return calls.given(question, given.outcome, given.body, source)
        why = unwritable(calls.plan, call)
        if why:
            raise self._cannot_change(calls, lane, call, why)
        if is_rewritten(calls.plan, call):  # the candidate's request is sent, even if its provider stores it
            return self._row.performed(calls, as_rewritten(calls, question))
        return self._row.asked(calls, question, model)

    def is_stale(self, calls: ForkCalls, call: Call, model: bool) -> bool:
        """Tools stay frozen, even if a model's provider stores its requests."""
        return False

    def breaks_off(self, calls: ForkCalls, event: Event) -> bool:
        """See ``GoldenMisses.breaks_off``."""
        return self._row.breaks_off(calls, event)

    def ends(self, calls: ForkCalls) -> bool:
        """See ``GoldenMisses.ends``."""
        return self._row.ends(calls)

    def _cannot_change(self, calls: ForkCalls, lane: Lane, call: Call, why: str) -> Halt:
        """Stop: this request has no place for the candidate's change."""
        self._row.stale_at = call.name
        error = UnreplayableRun(
            f"row {self._row.named.name} cannot be run on this candidate: {why}",
            cause="the request is bound to the body it has, or speaks another protocol",
            next_command="reenact fork --help",
            missing=(call.name,),
        )
        return calls.stops.stopped(lane, call, error, why)


def _stale(recording: Recording, call: Call, found: LadderResult) -> UnreplayableRun:
    """The error for a call without an answer: it shows the request, and the options that would give an answer."""
    lead = f"{UNANSWERED_MODEL}: " if is_model(call) else ""
    where = call.source or "an unknown place"
    return UnreplayableRun(
        f"{lead}{call.name} at {where}: {found.why}" + recorded_calls(recording, call, found.place),
        cause="the candidate leads to a call that was not recorded; live=missing asks models, and answers=@FILE "
        "of the candidate scripts what is missing",
        next_command="reenact experiment --help",
        missing=(call.name,),
    )
