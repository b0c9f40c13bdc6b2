"""The session of a golden: a fork from the start, in which nothing goes live that the golden does not allow.

Today's code is answered by what it asks, from the golden's own recording first. It may stop earlier than it did then;
what it asks and nobody has recorded or written makes the golden stale, and never gets another call's answer.
"""

from __future__ import annotations

import shlex
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from typing import Literal, NamedTuple

from reenact.abc.redaction import Redactor
from reenact.abc.session import Crossing
from reenact.abc.store import Recording
from reenact.errors import Halt, UnreplayableRun
from reenact.facts.call import Call, Effect, Json, Kind
from reenact.facts.event import Event
from reenact.facts.keys import Rules
from reenact.facts.record import Record
from reenact.replaying.options import Options
from reenact.seams.lanes import Lane
from reenact.testing.goldens.answers import Answers
from reenact.timetravel.forks.fork_session import ForkSession
from reenact.timetravel.forks.ladder import Found
from reenact.timetravel.forks.model_calls import is_model
from reenact.timetravel.forks.plan import Plan, opens
from reenact.timetravel.forks.refusals import recorded_calls

Misses = Literal["stale", "models", "reads"]
"""What becomes of a call that nobody has an answer for: the golden is stale; models are asked; whatever reads is."""


class Named(NamedTuple):
    """A golden as it is spoken of.

    Attributes:
        name: Its name.
        again: Gives the command that adds it again, which few want to know.
    """

    name: str
    again: Callable[[], str]


class GoldenSession(ForkSession):
    """Answers today's code from a golden.

    Args:
        recording: The run that it keeps.
        redactor: Cleans calls as the run's were, so that both sides compare.
        rules: How two calls are compared.
        options: Those of a replay.
        answers: What else it has.
        misses: What becomes of a call without an answer.
        plan: What is asked again although there is an answer.
        named: What is said of it.

    Attributes:
        used: How many calls were answered from where: ``overlay``, ``scripted``, ``live``.
        stale_at: Name of the call that nobody has an answer for; empty while there is none.
        stale_call: That call as data, without credentials: ``kind``, ``name``, ``effect``, ``source``, ``head``,
            ``body`` (base64), and ``place``, the number of the recorded event in whose place it stands.
        cut: That the agent has come to the place where its recording was cut off, in words; empty while it has not.
    """

    mode = "golden"

    revives = False
    judges_cut = True
    """Whether an agent that comes to where its recording was cut off is judged on what it has done by then."""

    def __init__(
        self,
        recording: Recording,
        redactor: Redactor,
        rules: Rules,
        options: Options,
        answers: Answers,
        misses: Misses,
        plan: Plan,
        named: Named,
    ) -> None:
        super().__init__(recording, redactor, rules, options, plan)
        self._answers = answers
        self._misses = misses
        self._named = named
        self.used: Counter[str] = Counter()
        self.stale_at: str = ""
        self.stale_call: dict[str, Json] = {}
        self.cut: str = ""
        self._is_cut_off = self.judges_cut and self.run.interrupted_at is not None
        self._left_open: tuple[Call, Found] | None = None

    def decide(self, lane: Lane, call: Call) -> Crossing | None:
        """As a fork behind its cut, from the first call on, whichever that is: today's code need not begin as it did
        then."""
        if not (self.schedule.cut or self.closed):
            with self._lock:
                self._cut()
        return super().decide(lane, call)

    def _asked(self, lane: Lane, call: Call, found: Found, model: bool) -> Crossing:
        """What the golden's own recording does not answer, or is not to."""
        anew = opens(self.plan, call, model=model)
        given = None if anew else self._answers.find(lane.path, call)
        if given is not None:
            self.used[given.source] += 1
            self.say(self._top + 1, call, "frozen", given.why)
            return self._given(lane, call, found, given.outcome, given.body)
        if anew or self._may_go_live(lane, call, model):
            self.used["live"] += 1
            return self._performed(lane, call, found, None)
        if self._is_cut_off and found.answer is not None and found.answer.is_open:
            self._left_open = call, found
            return self._answered(lane, call, found.answer)  # and it waits, as it did then
        if self._is_cut_off and found.place is None and not self.unused():
            raise self._comes_to_the_cut(call, found)
        raise self._is_stale_at(lane, call, found)

    def _breaks_off(self, event: Event) -> bool:
        """What the cut has left open may have an answer that was recorded later, or scripted."""
        return super()._breaks_off(event) or (self._is_cut_off and event.is_open)

    def _at_the_end(self) -> None:
        """Everything waits: where the recording was cut off, as it did then."""
        if self._is_cut_off and (self._left_open is not None or not self.unused()):
            self._comes_to_the_cut(*(self._left_open or (None, None)))
        else:
            super()._at_the_end()

    def _comes_to_the_cut(self, call: Call | None, found: Found | None) -> Halt:
        """What today's code would do from here on is not known."""
        told, kept, next_command = " here", "", f"reenact show @golden/{self._named.name}"
        if call is not None and found is not None:
            told = f" {'before' if found.answer is None else 'in'} {call.name} at {call.source or 'an unknown place'}"
            kept, next_command = self._leads_on(call, found)
        error = UnreplayableRun(
            f"the recorded run was cut off{told}: it is judged up to there",
            cause=f"its process was ended from outside{kept}",
            next_command=next_command,
        )
        self.cut = str(error)
        return self._stop(Halt(error.message))

    def _may_go_live(self, lane: Lane, call: Call, model: bool) -> bool:
        if lane.parent in self._performing and call.kind is not Kind.TOOL:
            return True
        return call.effect is Effect.READ and (self._misses == "reads" or (self._misses == "models" and model))

    def put(self, record: Record) -> None:
        """A process that was ended from outside notes nothing more."""
        if not self.cut:
            super().put(record)

    def printed(self, stream: int, data: bytes) -> None:
        """And prints nothing more."""
        if not self.cut:
            super().printed(stream, data)

    def _is_stale_at(self, lane: Lane, call: Call, found: Found) -> Halt:
        """The golden is stale at this call."""
        self.stale_at = call.name
        cleaned = self._redactor.call(call)
        self.stale_call = {
            "kind": call.kind.value,
            "name": call.name,
            "effect": call.effect.value,
            "source": call.source or "",
            "head": dict(cleaned.head),
            "body": b64encode(cleaned.body).decode(),
            "place": None if found.place is None else found.place.number,
        }
        return self.stopped(lane, call, self._stale(call, found), f"{call.name} {found.why}")

    def _stale(self, call: Call, found: Found) -> UnreplayableRun:
        """Says what was asked, and how to record the answer that is missing."""
        kept, next_command = self._leads_on(call, found)
        return UnreplayableRun(
            f"golden {self._named.name} is stale: {call.name} at {call.source or 'an unknown place'} {found.why}"
            + recorded_calls(self.recording, call, found.place),
            cause=f"the agent asks something else than when it was recorded{kept}",
            next_command=next_command,
            missing=(call.name,),
        )

    def _leads_on(self, call: Call, found: Found) -> tuple[str, str]:
        """Why the answer that a call lacks is not simply recorded, empty where it is; and the command that helps."""
        if is_model(call) and call.effect is not Effect.WRITE:
            next_command = f"reenact golden run {self._named.name} --mode missing"
            return "", next_command
        kept = (
            "what may change the world is not made again, unless by a fork with --allow-write, which can be its --fixed"
            if call.effect is Effect.WRITE
            else "only models are asked"
        )
        again, place = self._named.again(), found.place
        if place is not None and not place.is_open and "--fixed" not in again:  # the golden's own run answers
            shown = f"reenact cat @golden/{self._named.name}:{place.number}"
            kept += f"; `{shown}` prints an answer of the form that yours needs"
        next_command = f"{again} --answer {shlex.quote(call.name)}=JSON"
        return f", and {kept}", next_command


def boundaries(session: GoldenSession) -> int:
    """How many times the agent's own code has crossed a boundary: what was answered, and what was performed."""
    return session.course.frozen + session.course.live + len(session.course.given)
