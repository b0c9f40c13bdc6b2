"""The session over imported exchanges. If all exchanges are model calls, the results of tools are taken from the
conversation that follows.

An archive that also holds other exchanges holds the data that the tools fetched, so the tools run again. In an archive
of model calls alone, a tool that runs would find no recorded call. But a model's answer has the wanted tool and its
arguments, and a later request has the tool's result under the call's id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

from reenact.abc.session import Crossing, Frozen, Live, NeverLive, Rerun
from reenact.abc.store import Recording
from reenact.errors import Divergence
from reenact.facts.call import DEFAULTS, TOLD, Call, Json, Kind, Stream, Value
from reenact.facts.conversations import data_of
from reenact.facts.dialects import read
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.phrases import counted
from reenact.facts.values import encode
from reenact.replaying import divergence as words
from reenact.replaying.frozen_calls import FrozenCall
from reenact.replaying.keyed_matching import KeyedMatcher, Own
from reenact.replaying.matching import Match, Miss
from reenact.replaying.replay_session import ReplaySession
from reenact.replaying.told_models import ToldModels
from reenact.replaying.trace_matching import agree, argument_data
from reenact.replaying.user_turns import turns_of
from reenact.seams.lanes import Lane
from reenact.seams.turns import SuddenTurn

_LARGEST: Final = 64 << 20
"""The bytes of exchanges above which no exchange is read for tools."""


@dataclass(frozen=True, slots=True)
class _ToldToolCall:
    """A call of a tool: its arguments, the answer that requested it, and its result as the model got it."""

    name: str
    arguments: Json
    asked_by: int
    result: str


def told_tools(recording: Recording) -> dict[str, _ToldToolCall]:
    """The results of tools, by the ids of their calls; empty where an exchange is not with a model."""
    asked: dict[str, tuple[str, Json, int]] = {}
    found: dict[str, _ToldToolCall] = {}
    size = 0
    for event in recording.events():
        size += event.request.size if event.request is not None else 0
        outcome = event.outcome
        if event.call.kind is not Kind.HTTP or not isinstance(outcome, Stream) or size > _LARGEST:
            return {}
        parts = [data for _, _, data in recording.parts(event.number)]
        reading = read(event.call.head, recording.body(event.request), outcome.head, parts)
        if reading is None:
            return {}
        for message in reading.messages:
            for result in message.get("tool_results") or () if isinstance(message, Mapping) else ():
                own = str(result.get("id") or "")
                if own in asked and own not in found:
                    found[own] = _ToldToolCall(*asked[own], str(result.get("text") or ""))
        for call in reading.tool_calls:
            if isinstance(call, Mapping) and call.get("id"):
                told = str(call.get("name") or ""), data_of(call.get("arguments")), event.number
                asked.setdefault(str(call["id"]), told)
    return found


class ToldCall(NeverLive):
    """A call of a tool that the conversation answers (``abc.session.Frozen``)."""

    __slots__ = ("_value", "event")
    form: Literal["value"] = "value"

    def __init__(self, value: Value) -> None:
        self._value = value
        self.event = -1

    def outcome(self) -> SuddenTurn:
        """The result of the tool. The time of the result is not known."""
        return SuddenTurn(lambda: self._value)


class ConversedSession(ReplaySession):
    """Answers an agent from imported exchanges, and its tools from the conversations in them."""

    names_defaults = True
    _models: ToldModels | None = None
    _told: dict[str, _ToldToolCall] | None = None
    _given = 0

    def decide(self, lane: Lane, call: Call) -> Crossing | None:
        """Answer as any replay does; a tool whose result is in the conversation does not run."""
        if call.kind is Kind.TOOL and not call.observed and self.gate.halted is None:
            found = None if call.name in self.options.through else self._answer(self.redactor.call(call))
            if found is not None:
                lane.skip_scope(call.name)
                return found
        return super().decide(lane, call)

    def _answer(self, call: Call) -> ToldCall | None:
        """The answer to a call in the conversation; None without one, so that its own code runs."""
        given, defaults = argument_data(call.body), call.head.get(DEFAULTS) or ()
        with self.lock:
            if self._told is None:
                self._told = told_tools(self.recording)
            fit = [
                (own, each)
                for own, each in self._told.items()
                if each.name == call.name and self._has_been_asked(each) and agree(each.arguments, given, defaults)
            ]
            fit = [(own, each) for own, each in fit if own == call.ordinal] or fit
            if not fit:
                return None
            if any(each.result != fit[0][1].result for _, each in fit):
                raise self.diverged(self._unclear(call, fit[0][1].asked_by))
            del self._told[fit[0][0]]
            self._given += 1
        result = fit[0][1].result
        return ToldCall(Value(encode(data_of(result)).body, head={TOLD: result}))

    def _has_been_asked(self, told: _ToldToolCall) -> bool:
        return isinstance(self._matcher, KeyedMatcher) and self._matcher.has_given(told.asked_by)

    def _unclear(self, call: Call, asked_by: int) -> Divergence:
        return words.ambiguous(self.recording.event(asked_by), call, self.saying.next(asked_by))

    def _unmatched(self, found: Miss | Own, lane: Lane, call: Call, cleaned: Call) -> Frozen | Rerun | Live:
        """Answer as any replay does. Where a model may be asked, an answer that the import has is not requested
        again."""
        matcher = self._matcher
        if self.ask is None or not isinstance(found, Miss) or not isinstance(matcher, KeyedMatcher):
            return super()._unmatched(found, lane, call, cleaned)
        with self.lock:
            if self._models is None:
                self._models = ToldModels(matcher.left, self.tape.body, self._pieces)
            event = self._models.find(cleaned)
            if event is not None:
                matcher.take(event)
                self._count(Match(event, "exact"), lane.path)
        return super()._unmatched(found, lane, call, cleaned) if event is None else FrozenCall(self, lane, event)

    def _pieces(self, event: Event) -> Iterable[bytes]:
        return (data for _, _, data in self.recording.parts(event.number))

    def parts_of(self, event: Event) -> Iterator[tuple[int | None, int, bytes]]:
        """The segments of the recorded stream, or of the answer that was made for the protocol of the request."""
        made = self._models.made.get(event.number) if self._models is not None else None
        if made is None:
            return super().parts_of(event)
        return iter([(None, event.ended_us or event.issued_us, made)])

    def matching_remarks(self) -> tuple[str, ...]:
        """How calls were matched, and how many tools did not run."""
        said = [f"calls of tools that were answered from the conversation ({self._given})"] if self._given else []
        if self._models is not None and self._models.given:
            answers = counted(self._models.given, "model answer")
            said.append(f"{answers} found by model and messages: address, protocol and parameters were not compared")
        return (*words.given(turns_of(self.recording)), *super().matching_remarks(), *said)
