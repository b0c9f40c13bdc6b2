"""The policy of a golden: a fork from the start, in which nothing goes live that the golden does not allow.

Each request of today's code is looked up, first in the golden's own recording. The code may stop earlier than it did
then. A request that is neither recorded nor scripted makes the golden stale; it never gets another call's answer.
"""

from __future__ import annotations

import shlex
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from typing import Literal, NamedTuple

from reenact.abc.session import Crossing
from reenact.abc.store import Recording
from reenact.errors import Halt, UnreplayableRun
from reenact.facts.call import Call, Effect, Json
from reenact.facts.event import Event
from reenact.seams.lanes import Lane
from reenact.testing.goldens.golden_answers import Answers
from reenact.testing.goldens.golden_trace import all_recorded
from reenact.timetravel.forks.fork_calls import ForkCalls
from reenact.timetravel.forks.fork_course import ForkCourse
from reenact.timetravel.forks.fork_misses import ForkMisses
from reenact.timetravel.forks.ladder import ForkQuestion, LadderResult
from reenact.timetravel.forks.permits import is_model
from reenact.timetravel.forks.plan import opens
from reenact.timetravel.forks.refusals import recorded_calls

Misses = Literal["stale", "models", "reads"]
"""The rule for a call without an answer: the golden is stale; model calls go live; all reads go live."""


class NamedGolden(NamedTuple):
    """The names of a golden in messages.

    Attributes:
        name: Its name.
        again: Gives the command that adds it again; only a few messages need it.
    """

    name: str
    again: Callable[[], str]


class GoldenMisses(ForkMisses):
    """Answers calls that the golden's own recording does not answer.

    Args:
        answers: Its other answers.
        misses: The rule for a call without an answer.
        named: The facts of the golden.

    Attributes:
        used: The number of answers by source: ``overlay``, ``scripted``, ``live``.
        stale_at: The name of the call without an answer; empty while there is none.
        stale_call: That call as data, without credentials: ``kind``, ``name``, ``effect``, ``source``, ``head``,
            ``body`` (base64), and ``place``, the number of the recorded event that it replaces.
        cut: A remark that the agent has come to the place where its recording is cut off; empty before.
    """

    revives = False
    from_the_start = True
    judges_cut = True
    """Whether an agent that comes to the place where its recording is cut off is judged at that place."""

    def __init__(self, answers: Answers, misses: Misses, named: NamedGolden) -> None:
        self._answers = answers
        self._misses = misses
        self.named = named
        self.used: Counter[str] = Counter()
        self.stale_at: str = ""
        self.stale_call: dict[str, Json] = {}
        self.cut: str = ""
        self.stale: Callable[[Recording, Call, LadderResult], UnreplayableRun] = self._golden_is_stale
        """Makes the error for a call without an answer."""
        self._left_open: tuple[Call, LadderResult] | None = None

    def asked(self, calls: ForkCalls, question: ForkQuestion, model: bool) -> Crossing:
        """Decide a call that the golden's own recording does not or must not answer."""
        lane, call, _, found = question
        again = opens(calls.plan, call, model=model)
        given = None if again else self._answers.find(lane.path, call)
        if given is not None:
            self.used[given.source] += 1
            return calls.given(question, given.outcome, given.body, given.why)
        if again or self._may_go_live(calls, lane, call, model):
            return self.performed(calls, question)
        if self._is_cut_off(calls) and found.answer is not None and found.answer.is_open:
            self._left_open = call, found
            return calls.answered(question, found.answer)  # the call waits, as it did in the recording
        if self._is_cut_off(calls) and found.place is None and not calls.session.unused():
            raise self._comes_to_the_cut(calls, call, found)
        raise self._is_stale_at(calls, lane, call, found)

    def performed(self, calls: ForkCalls, question: ForkQuestion) -> Crossing:
        """Perform a call live, and count it."""
        self.used["live"] += 1
        return calls.performed(question)

    def breaks_off(self, calls: ForkCalls, event: Event) -> bool:
        """A call that was cut off may have an answer that was recorded later, or scripted."""
        return super().breaks_off(calls, event) or (self._is_cut_off(calls) and event.is_open)

    def ends(self, calls: ForkCalls) -> bool:
        """Whether the agent ends where everything waits: it does so at the place where its recording is cut off."""
        if self._is_cut_off(calls) and (self._left_open is not None or not calls.session.unused()):
            self._comes_to_the_cut(calls, *(self._left_open or (None, None)))
            return True
        return False

    def _is_cut_off(self, calls: ForkCalls) -> bool:
        return self.judges_cut and calls.session.run.interrupted_at is not None

    def _comes_to_the_cut(self, calls: ForkCalls, call: Call | None, found: LadderResult | None) -> Halt:
        """Stop at the place where the recording is cut off: what today's code would do after it is not known. Like a
        process that was ended from outside, it notes and prints nothing more."""
        told, kept, next_command = " here", "", f"reenact show @golden/{self.named.name}"
        if call is not None and found is not None:
            told = f" {'before' if found.answer is None else 'in'} {call.name} at {call.source or 'an unknown place'}"
            kept, next_command = self._leads_on(calls.session.recording, call, found)
        error = UnreplayableRun(
            f"the recorded run was cut off{told}: it is judged up to there",
            cause=f"its process was ended from outside{kept}",
            next_command=next_command,
        )
        self.cut = str(error)
        calls.session.silent = True
        return calls.session.faults.stop(Halt(error.message))

    def _may_go_live(self, calls: ForkCalls, lane: Lane, call: Call, model: bool) -> bool:
        if calls.is_inside(lane, call):
            return True
        return call.effect is Effect.READ and (self._misses == "reads" or (self._misses == "models" and model))

    def _is_stale_at(self, calls: ForkCalls, lane: Lane, call: Call, found: LadderResult) -> Halt:
        """The golden is stale at this call."""
        self.stale_at = call.name
        cleaned = calls.session.redactor.call(call)
        self.stale_call = {
            "kind": call.kind.value,
            "name": call.name,
            "effect": call.effect.value,
            "source": call.source or "",
            "head": dict(cleaned.head),
            "body": b64encode(cleaned.body).decode(),
            "place": None if found.place is None else found.place.number,
        }
        error = self.stale(calls.session.recording, call, found)
        return calls.stops.stopped(lane, call, error, f"{call.name} {found.why}")

    def _golden_is_stale(self, recording: Recording, call: Call, found: LadderResult) -> UnreplayableRun:
        """The error for a call without an answer: it shows the request, and how to record the missing answer."""
        kept, next_command = self._leads_on(recording, call, found)
        return UnreplayableRun(
            f"golden {self.named.name} is stale: {call.name} at {call.source or 'an unknown place'} {found.why}"
            + recorded_calls(recording, call, found.place),
            cause=f"the agent asks something else than when it was recorded{kept}",
            next_command=next_command,
            missing=(call.name,),
        )

    def _leads_on(self, recording: Recording, call: Call, found: LadderResult) -> tuple[str, str]:
        """Why ``--mode missing`` does not record the answer that a call lacks (empty where it does), and the command
        that helps."""
        if is_model(call) and call.effect is not Effect.WRITE:
            next_command = f"reenact golden run {self.named.name} --mode missing"
            return "", next_command
        kept = (
            "a call that may change the world is made again only by a fork with --allow-write"
            if call.effect is Effect.WRITE
            else "only models are asked"
        )
        again, place = self.named.again(), found.place
        if place is not None and not place.is_open and "--fixed" not in again:  # the incident is the answering run
            shown = f"reenact cat @golden/{self.named.name}:{place.number}"
            kept += f"; `{shown}` prints an answer of the form that yours needs"
        new = (call.name,) if call.effect is Effect.WRITE else ()
        kept += f"; {all_recorded(self.named.name, again, recording, *new)} records all answers at once"
        kept += "; replace JSON in the next command by the answer"
        next_command = f"{again} --answer {shlex.quote(call.name)}=JSON"
        return f", and {kept}", next_command


def boundaries(course: ForkCourse) -> int:
    """The number of calls that the agent's own code has made, answered or performed."""
    return course.frozen + course.live + len(course.given)
