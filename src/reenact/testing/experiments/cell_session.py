"""The session of a cell: a golden's, in which a candidate's changes go live, and nothing is asked a second time."""

from __future__ import annotations

from collections.abc import Sequence

from reenact.abc.session import Crossing
from reenact.errors import Halt, UnreplayableRun
from reenact.facts.call import Call
from reenact.seams.lanes import Lane
from reenact.testing.experiments.cell import UNANSWERED_MODEL
from reenact.testing.goldens.answers import Answers
from reenact.testing.goldens.golden_session import GoldenSession
from reenact.timetravel.forks.fork_requests import as_sent, is_rewritten, unwritable
from reenact.timetravel.forks.ladder import Found
from reenact.timetravel.forks.refusals import recorded_calls


class CellSession(GoldenSession):
    """Answers today's code from a row, and asks again what a candidate changes.

    Args:
        recording: The run that the row is.
        redactor: Cleans calls as the run's were, so that both sides compare.
        rules: How two calls are compared.
        options: Those of a replay.
        answers: What else the row has.
        misses: What becomes of a call without an answer.
        plan: The candidate, as a fork.
        named: What is said of it.

    Attributes:
        first: What is asked before anything goes live, by its source: answers that the candidate scripts
            (``scripted``), then those that an attempt which was broken off has had (``resumed``).
        unfelt: Flags that the plan sets and the agent has not evaluated; known when it is closed.
    """

    mode = "experiment"
    judges_cut = False

    first: Sequence[tuple[str, Answers]] = ()
    unfelt: tuple[str, ...] = ()
    _lead = ""

    def _asked(self, lane: Lane, call: Call, found: Found, model: bool) -> Crossing:
        """What the row's own recording does not answer, or is not to."""
        for source, answers in self.first:
            given = answers.find(lane.path, call)
            if given is not None:
                self.used[source] += 1
                self.say(self._top + 1, call, "frozen", source)
                return self._given(lane, call, found, given.outcome, given.body)
        why = unwritable(self.plan, call)
        if why:
            raise self._cannot_change(lane, call, found, why)
        if is_rewritten(self.plan, call):
            return self._changed_request(lane, call, found)
        self._lead = f"{UNANSWERED_MODEL}: " if model else ""
        return super()._asked(lane, call, found, model)

    def _is_stale(self, call: Call, *, model: bool) -> bool:
        """Tools stay frozen, whatever a model's provider keeps of what it is asked."""
        return False

    def _changed_request(self, lane: Lane, call: Call, found: Found) -> Crossing:
        """A model is asked what the candidate makes of a request, also where its provider keeps the answer."""
        goes_out = as_sent(self.plan, call)
        if self._address and goes_out is not call:  # what a provider keeps is another write, rewritten
            self._address = self.child.identity(lane, goes_out)
        self.used["live"] += 1
        return self._performed(lane, call, found, None)

    def _stale(self, call: Call, found: Found) -> UnreplayableRun:
        """Says what was asked, and who could answer it."""
        where = call.source or "an unknown place"
        return UnreplayableRun(
            f"{self._lead}{call.name} at {where}: {found.why}" + recorded_calls(self.recording, call, found.place),
            cause="the candidate leads to a call that was not recorded; live=missing asks models, and answers=@FILE "
            "of the candidate scripts what is missing",
            next_command="reenact experiment --help",
            missing=(call.name,),
        )

    def _cannot_change(self, lane: Lane, call: Call, found: Found, why: str) -> Halt:
        """The candidate cannot be had here: what it changes in a request cannot be changed in this one."""
        self.stale_at = call.name
        error = UnreplayableRun(
            f"row {self._named.name} cannot be had on this candidate: {why}",
            cause="the request is bound to the body it has, or speaks another protocol",
            next_command="reenact fork --help",
            missing=(call.name,),
        )
        return self.stopped(lane, call, error, why)

    def close(self) -> None:
        """End it. A flag that this row does not evaluate is no fault of the candidate: it is noted, not held against
        it."""
        self.unfelt = tuple(sorted(set(self.plan.flags) - self.course.given))
        self.course.given.update(self.unfelt)
        super().close()
