"""The policy of a cell: a golden's, in which a candidate's changes go live, and nothing is asked a second time."""

from __future__ import annotations

from collections.abc import Sequence

from reenact.abc.session import Crossing
from reenact.abc.store import Recording
from reenact.errors import Halt, UnreplayableRun
from reenact.facts.call import Call
from reenact.facts.event import Event
from reenact.seams.lanes import Lane
from reenact.testing.experiments.cell import UNANSWERED_MODEL
from reenact.testing.goldens.answers import Answers
from reenact.testing.goldens.golden_misses import GoldenMisses
from reenact.timetravel.forks.fork_calls import ForkCalls
from reenact.timetravel.forks.fork_misses import ForkMisses, as_rewritten
from reenact.timetravel.forks.fork_requests import is_rewritten, unwritable
from reenact.timetravel.forks.ladder import ForkQuestion, Found
from reenact.timetravel.forks.permits import is_model
from reenact.timetravel.forks.refusals import recorded_calls


class CellMisses(ForkMisses):
    """Answers what the row's own recording does not, and has asked again what a candidate changes.

    Args:
        row: What answers a golden of the row. A cell is judged as a whole, also where its recording was cut off.
        first: What is asked before anything goes live, by its source: answers that the candidate scripts
            (``scripted``), then those that an attempt which was broken off has had (``resumed``).
    """

    revives = False
    from_the_start = True
    needs_flags = False  # one that this row does not evaluate is no fault of the candidate

    def __init__(self, row: GoldenMisses, first: Sequence[tuple[str, Answers]]) -> None:
        self._row = row
        self._first = first
        row.judges_cut = False
        row.stale = _stale

    def asked(self, calls: ForkCalls, question: ForkQuestion, model: bool) -> Crossing:
        """What the row's own recording does not answer, or is not to."""
        lane, call = question.lane, question.call
        for source, answers in self._first:
            given = answers.find(lane.path, call)
            if given is not None:
                self._row.used[source] += 1
                return calls.given(question, given.outcome, given.body, source)
        why = unwritable(calls.plan, call)
        if why:
            raise self._cannot_change(calls, lane, call, why)
        if is_rewritten(calls.plan, call):  # what the candidate makes of it is asked, also where its provider keeps it
            return self._row.performed(calls, as_rewritten(calls, question))
        return self._row.asked(calls, question, model)

    def is_stale(self, calls: ForkCalls, call: Call, model: bool) -> bool:
        """Tools stay frozen, whatever a model's provider keeps of what it is asked."""
        return False

    def breaks_off(self, calls: ForkCalls, event: Event) -> bool:
        """As in a golden."""
        return self._row.breaks_off(calls, event)

    def ends(self, calls: ForkCalls) -> bool:
        """As in a golden."""
        return self._row.ends(calls)

    def _cannot_change(self, calls: ForkCalls, lane: Lane, call: Call, why: str) -> Halt:
        """The candidate cannot be had here: what it changes in a request cannot be changed in this one."""
        self._row.stale_at = call.name
        error = UnreplayableRun(
            f"row {self._row.named.name} cannot be had on this candidate: {why}",
            cause="the request is bound to the body it has, or speaks another protocol",
            next_command="reenact fork --help",
            missing=(call.name,),
        )
        return calls.stops.stopped(lane, call, error, why)


def _stale(recording: Recording, call: Call, found: Found) -> UnreplayableRun:
    """Says what was asked, and who could answer it."""
    lead = f"{UNANSWERED_MODEL}: " if is_model(call) else ""
    where = call.source or "an unknown place"
    return UnreplayableRun(
        f"{lead}{call.name} at {where}: {found.why}" + recorded_calls(recording, call, found.place),
        cause="the candidate leads to a call that was not recorded; live=missing asks models, and answers=@FILE "
        "of the candidate scripts what is missing",
        next_command="reenact experiment --help",
        missing=(call.name,),
    )
