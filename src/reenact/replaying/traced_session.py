"""The replay session over a trace: answers come from the trace, and calls without one there are missing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from reenact.abc.session import Crossing
from reenact.errors import Divergence, Halt, UnreplayableRun
from reenact.facts.call import Call, Kind
from reenact.facts.conversations import is_same_model, lines_of
from reenact.facts.dialects import read
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import replace
from reenact.facts.phrases import counted
from reenact.facts.reading import Reading
from reenact.facts.trace_runs import Grade, reading_in
from reenact.replaying import divergence as words
from reenact.replaying.frozen_calls import UnrecordedCall
from reenact.replaying.matching import Miss
from reenact.replaying.replay_session import ReplaySession
from reenact.replaying.run_divergences import RunDivergences
from reenact.replaying.trace_matching import TracedMatcher
from reenact.replaying.unmade_calls import ReplayCoverage
from reenact.replaying.user_turns import turns_of
from reenact.seams import stdin
from reenact.seams.lanes import Lane

_GIVEN: Final = frozenset({Kind.INPUT, Kind.HUMAN})


class TracedSession(ReplaySession):
    """Answers the crossings of an agent from a trace.

    Args:
        recording: The run that the trace became.
        redactor, rules, options: As for any replay.
    """

    names_defaults = True
    """Whether calls name the arguments that have their default value: a model leaves these out, and so does a trace."""
    missing_code = UnreplayableRun.exit_code

    def _make_matcher(self) -> TracedMatcher:
        self.saying = TracedSaying(self.run, self.tape, self.rules)
        self._told = TracedMatcher(self.tape, lambda event: self.recording.body(event.answer))
        self._told.misses_untold = bool(self.options.live)
        return self._told

    def decide(self, lane: Lane, call: Call) -> Crossing | None:
        """Answer as any replay does. A call that the trace has but cannot answer ends the replay; standard input has
        the user's turns."""
        if call.kind in _GIVEN and self.gate.halted is None and stdin.is_ours():
            return UnrecordedCall(lane.scope(call.name, -1))
        try:
            return super().decide(lane, call)
        except UnreplayableRun as error:
            self.fault(error)
            raise self.gate.halted or Halt(error.message) from None

    def parts_of(self, event: Event) -> Iterator[tuple[int | None, int, bytes]]:
        """The segments of the answer that was made for the protocol of the request."""
        yield None, event.ended_us or event.issued_us, self._told.streams[event.number]

    def unused(self) -> list[Event]:
        """The calls of the trace that the agent did not make."""
        return self._told.unused()[0]

    def covered(self) -> ReplayCoverage:
        """The coverage of the trace. Its fidelity is only semantic: a trace has the content of calls, and not their
        bytes."""
        return ReplayCoverage(self._told.fixtures(), self._told.unused()[1], Grade.SEMANTIC.value)

    def matching_remarks(self) -> tuple[str, ...]:
        """Remarks on how answers were made."""
        found = words.given(turns_of(self.recording))
        if self._told.streams:
            made = counted(len(self._told.streams), "model answer")
            found.append(
                f"{made} made from the trace, in the agent's protocol: found by model and messages; parameters"
                " and tools offered were not compared, counts of tokens are estimates"
            )
        if self._told.left_out:
            attempts = counted(self._told.left_out, "failed attempt")
            found.append(f"{attempts} at a model call left out: the trace has the answer that followed")
        return tuple(found)


class TracedSaying(RunDivergences):
    """The divergences of a replay of a trace: each shows a conversation beside the nearest one in the trace."""

    __slots__ = ()

    def miss(self, miss: Miss, call: Call, path: str) -> Divergence:
        """The divergence for a call that the trace does not answer."""
        nearest, next_command = miss.nearest, self.next(miss.nearest.number if miss.nearest is not None else None)
        asked = read(call.head, call.body, {}, b"") if call.kind is Kind.HTTP else None
        if asked is not None:
            call = replace(call, kind=Kind.MODEL, name=asked.model_asked or call.name, head={}, body=_shown(asked))
        if miss.reason == "ambiguous":
            return words.ambiguous(nearest, call, next_command)
        if nearest is None:
            divergence = words.added(call, path, next_command)
            divergence.cause = _lacks(call)
            return divergence
        told = self._tape.body(nearest)
        if asked is not None:
            reading = reading_in(told, b"")
            same = is_same_model(asked.model_asked, reading)
            told = _shown(replace(reading, model_asked=asked.model_asked) if same else reading)
            nearest = replace(nearest, call=replace(nearest.call, name=call.name, head={}))
        return words.changed(nearest, told, call, next_command)


def _shown(reading: Reading) -> bytes:
    """The request to a model, in the form in which two requests are compared."""
    told = {"model": reading.model_asked or reading.model_answered, "conversation": lines_of(reading)}
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _lacks(call: Call) -> str:
    """Why a trace has nothing for a call."""
    if call.kind is Kind.MODEL:
        return "the trace has no further model call"
    if call.kind is Kind.TOOL:
        return f"the trace has no further call of a tool {call.name}"
    hint = "; mark the function that makes it with @reenact.tool" if call.kind is Kind.HTTP else ""
    return f"a trace has models and tools, and no answer for a {call.kind.value}{hint}"
