"""Matching against a trace, which has the content of calls but not their bytes: models match by conversation, tools by
name and arguments.

Nothing is found by its place in the trace. A model's answer is that of the same model to the same conversation. A tool
gets the answer of a call with the same arguments. If the call's id shows which model answer requested the call, the
tool's answer can be given only after that model answer. A request that several different answers would fit gets none of
them.

A call and its retries are one call. A trace has neither status nor body of a model's failed attempt, so the attempt is
left out if the same question was answered later. For a failed attempt of a tool the trace has the exception, so the
exception is raised.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from reenact.errors import UnreplayableRun
from reenact.facts.answers.say_answers import NotSaid, WireAnswer, said
from reenact.facts.answers.wire_formats import InheritedParts
from reenact.facts.call import (
    DEFAULTS,
    TOLD,
    Call,
    End,
    EndKind,
    ErrorFact,
    Failure,
    Json,
    Kind,
    Stream,
    Value,
    is_transport,
)
from reenact.facts.conversations import data_of, digest_of, is_same_model, lines_of
from reenact.facts.dialects import read
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.reading import Reading
from reenact.facts.trace_runs import Grade, graded, is_traced_model, is_untold, reading_in
from reenact.facts.values import encode
from reenact.replaying.keyed_matching import OWN, Own
from reenact.replaying.matching import Match, Miss, alike
from reenact.replaying.tape import Tape

_CUT: Final = frozenset({"length", "max_tokens", "max_output_tokens", "incomplete"})
"""Reasons to stop, in the words of providers, that mean a limit of tokens."""


@dataclass(frozen=True, slots=True)
class _Model:
    """A model call of the trace."""

    event: Event
    reading: Reading
    lines: bytes


@dataclass(frozen=True, slots=True)
class _Tool:
    """A tool call in the trace.

    Attributes:
        event: The event.
        arguments: Its arguments; None where the trace lacks them.
        asked_by: The number of the model call whose answer asked for the tool; None where this is not known.
    """

    event: Event
    arguments: Json
    asked_by: int | None


class TracedMatcher:
    """Finds the answer to a call in a trace (the counterpart of ``matching.Matcher``).

    Args:
        tape: The events of the trace.
        answer: Gives the body of an event's answer.

    Attributes:
        streams: The answer that each model call got, in the protocol of its request, by the event's number.
        misses_untold: Whether a model call whose answer is not in the trace counts as missing: it may go live.
        left_out: The number of failed attempts of model calls that were skipped, because a later answer was given.
    """

    def __init__(self, tape: Tape, answer: Callable[[Event], bytes]) -> None:
        self._tape = tape
        self._answer = answer
        self._models: dict[int, _Model] = {}
        self._tools: dict[int, _Tool] = {}
        self._wanted: list[tuple[int, str, Json]] = []
        """The calls of tools that the models asked for: the number of the model call, and the tool's name and
        arguments."""
        self._used: set[int] = set()
        self._parents: dict[int, int | None] = {}
        self._read = False
        self.streams: dict[int, bytes] = {}
        self.misses_untold = False
        self.left_out = 0
        self._own = 0

    # --- what the trace holds ------------------------------------------------------------------------------------

    def _index(self) -> None:
        """Everything that the trace tells, read when it is first needed."""
        if self._read:
            return
        self._read = True
        asked: dict[str, tuple[int, Json]] = {}
        events = sorted(self._tape.unused(), key=lambda each: each.number)
        for event in events:
            self._parents[event.number] = event.parent
            if not is_traced_model(event.call):
                continue
            reading = reading_in(self._tape.body(event), self._answer(event))
            self._models[event.number] = _Model(event, reading, digest_of(lines_of(reading)))
            for call in reading.tool_calls:
                if not isinstance(call, Mapping):
                    continue
                arguments = data_of(call.get("arguments"))
                self._wanted.append((event.number, str(call.get("name") or ""), arguments))
                if call.get("id"):
                    asked[str(call["id"])] = event.number, arguments
        for event in events:
            if event.call.kind is Kind.TOOL:
                model, arguments = asked.get(event.call.ordinal or "", (None, None))
                told = self._tape.body(event)
                self._tools[event.number] = _Tool(event, argument_data(told) if told else arguments, model)

    def fixtures(self) -> int:
        """The number of calls that the trace can answer, without left-out attempts and the agent's own code."""
        self._index()
        return len(self._models) + len(self._tools) - self.left_out - self._own

    def unused(self) -> tuple[list[Event], int]:
        """The unused events, and the number of further unused events inside tools that were answered as a whole."""
        self._index()
        events = [*(each.event for each in self._models.values()), *(each.event for each in self._tools.values())]
        left = sorted((event for event in events if event.number not in self._used), key=lambda each: each.number)
        inside = [event for event in left if any(at in self._used for at in self._above(event.number))]
        return [event for event in left if event not in inside], len(inside)

    def _above(self, number: int) -> Iterator[int]:
        above = self._parents.get(number)
        while above is not None:
            yield above
            above = self._parents.get(above)

    def _runs(self, told: Iterable[Event]) -> None:
        """Mark as used the first event of some: the agent's own code runs in its place."""
        for event in told:
            self._used.add(event.number)
            self._own += 1
            break

    # --- matching ------------------------------------------------------------------------------------------------

    def identical(self, path: str, call: Call) -> Match | Own | None:
        """Whether the call is the agent's own code, for which a trace has no answer."""
        if is_transport(call) or call.kind is Kind.TOOL:
            return None
        if not (call.observed or call.kind in _OWN):
            return None
        if call.kind is Kind.MODEL:
            self._index()
            told = (each.event for each in self._models.values() if each.event.name == call.name)
            self._runs(event for event in told if event.number not in self._used)
        return OWN

    def find(self, path: str, call: Call) -> Match | Miss | Own:
        """The answer of the trace to ``call``, cleaned as the trace was.

        Raises:
            UnreplayableRun: The trace lacks the call's result, or the result has no form in the call's protocol.
        """
        self._index()
        if call.kind is Kind.TOOL:
            return self._tool(call)
        asked = read(call.head, call.body, {}, b"") if call.kind is Kind.HTTP else None
        return self._model(call, asked) if asked is not None else Miss(None, "added")

    def _model(self, call: Call, asked: Reading) -> Match | Miss:
        lines = digest_of(lines_of(asked))
        left = [each for each in self._models.values() if each.event.number not in self._used]
        fit = [each for each in left if each.lines == lines and is_same_model(asked.model_asked, each.reading)]
        if not fit:
            heard = [each for each in left if graded(each.event).get("messages") is not Grade.ABSENT]
            if left and not heard and not self.misses_untold:
                raise _untold(left[0].event, "was asked", "what")
            return Miss((heard or left)[0].event, "changed") if left else Miss(None, "added")
        answered = [each for each in fit if not isinstance(each.event.outcome, Failure)] or fit
        if not _alike(each.event for each in answered):
            return Miss(fit[0].event, "ambiguous")
        found = answered[0]
        before = {each.event.number for each in fit if each.event.number < found.event.number}
        self.left_out += len(before)
        self._used |= {found.event.number, *before}
        try:
            return Match(self._spoken(found, call), "exact")
        except UnreplayableRun:
            if not self.misses_untold:
                raise
            return Miss(found.event, "untold")

    def _tool(self, call: Call) -> Match | Miss | Own:
        given, defaults = argument_data(call.body), call.head.get(DEFAULTS) or ()
        left = [t for t in self._tools.values() if t.event.name == call.name and t.event.number not in self._used]
        fit = [each for each in left if agree(each.arguments, given, defaults)]
        named = [each for each in fit if call.ordinal and each.event.call.ordinal == call.ordinal]
        due = named or [each for each in fit if each.asked_by is None or each.asked_by in self._used]
        due = [each for each in due if each.asked_by is not None] or due
        if not due:
            nearest = next((each.event for each in fit or left), None)
            return OWN if call.observed else Miss(nearest, "changed" if nearest else "added")
        if not _alike(each.event for each in due) and not self._is_one_call(due, given, defaults):
            return Miss(due[0].event, "ambiguous")
        event = due[0].event
        if call.observed:
            self._runs([event])
            return OWN
        self._used.add(event.number)
        return Match(_returned(event), "exact")

    def _is_one_call(self, calls: list[_Tool], given: Json, defaults: Iterable[str]) -> bool:
        """Whether calls of a tool are attempts at one call: each failed before the next began, except the last. In
        addition, all have one id, or no model requested a second call."""
        events = [each.event for each in calls]
        if not all(isinstance(one.outcome, Failure) and _is_over(one, then) for one, then in pairwise(events)):
            return False
        ids = {event.call.ordinal for event in events}
        before = [(name, told) for at, name, told in self._wanted if at < events[-1].number]
        wanted = [name for name, told in before if name == events[0].name and agree(told, given, defaults)]
        return len(ids) == 1 and (None not in ids or len(wanted) == 1)

    # --- answers -------------------------------------------------------------------------------------------------

    def _spoken(self, model: _Model, call: Call) -> Event:
        """A model call with its answer in the protocol of today's request."""
        event, reading = model.event, model.reading
        if isinstance(event.outcome, Failure):
            raise _failed(event, event.outcome.error)
        if is_untold(event) or reading.partial:
            raise _untold(event, "was answered", "with what")
        made, self.streams[event.number] = spoken(event, reading, call)
        return made


def spoken(event: Event, reading: Reading, call: Call) -> tuple[Event, bytes]:
    """A model call with its answer in the protocol of the present request, and the bytes of that answer.

    Raises:
        UnreplayableRun: The answer has no form in that protocol.
    """
    reply = _reply(event, reading, call)
    headers = [["content-type", reply.media], *(list(pair) for pair in reply.headers)]
    stream = Stream({"status": 200, "headers": headers}, segments=1, size=len(reply.body), end=End(EndKind.EOF))
    return replace(event, outcome=stream), reply.body


_OWN: Final = frozenset({Kind.STEP, Kind.MODEL, Kind.RETRIEVAL})


def _is_over(event: Event, then: Event) -> bool:
    """Whether an event had ended when another began."""
    return event.ended_us is not None and event.ended_us <= then.issued_us


def _alike(events: Iterable[Event]) -> bool:
    """Whether it does not matter which of some events is served."""
    first, *others = events
    return all(alike(first, other) for other in others)


def argument_data(body: bytes) -> Json:
    """Encoded arguments as data; the bytes themselves where they encode no data."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body.hex()


def agree(told: Json, given: Json, defaults: Iterable[str]) -> bool:
    """Whether the arguments in a trace are those of a call; missing arguments have their default values.

    A trace may have the only argument of a tool without its name, and arguments in the order of the parameters
    (``args``).
    """
    if told is None or not isinstance(given, Mapping):
        return False
    if isinstance(told, Mapping) and set(told) == {"args", "kwargs"} and isinstance(told["args"], list):
        told = {**dict(zip(given, told["args"], strict=False)), **(told["kwargs"] or {})}
    if not isinstance(told, Mapping):
        own = [value for name, value in given.items() if name not in set(defaults)] or list(given.values())
        return len(own) == 1 and told in (own[0], str(own[0]))
    left = {name: value for name, value in given.items() if name in told or name not in set(defaults)}
    return _plain(left) == _plain(told)


def _plain(value: Json) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _returned(event: Event) -> Event:
    """A call of a tool with its result or exception in the trace."""
    outcome = event.outcome
    if isinstance(outcome, Failure):
        error = outcome.error
        known = getattr(builtins, error.type, None)
        name = f"builtins.{error.type}" if isinstance(known, type) else error.type
        return replace(event, outcome=Failure(ErrorFact(name, error.text, encode((error.text,)).body)))
    if not isinstance(outcome, Value) or is_untold(event):
        raise _untold(event, "returned", "what")
    return replace(event, outcome=Value(b"", outcome.media, head={TOLD: True}))


def _reply(event: Event, reading: Reading, call: Call) -> WireAnswer:
    """The model's answer, in the protocol of a request."""
    uses: list[dict[str, Any]] = []
    ids: list[str] = []
    for each in reading.tool_calls:
        if isinstance(each, Mapping):
            arguments = data_of(each.get("arguments"))
            uses.append({"name": each.get("name"), "args": arguments if arguments != "" else {}})
            ids.append(str(each.get("id") or ""))
    kept = InheritedParts(reading.response_id, reading.model_answered, tuple(ids))
    try:
        value = {"say": reading.text or None, "uses": uses}
        return said(call.head, call.body, value, kept, cut=reading.finish in _CUT)
    except NotSaid as error:
        raise UnreplayableRun(
            f"what the trace has at event {event.number} cannot be said in the protocol of {call.name}: {error}",
            cause="an answer is made for the protocol that the agent speaks, of text and calls of tools",
            next_command=f"reenact show {tail(event.run)}:{event.number}",
            missing=(f"answer of event {event.number}",),
        ) from None


def _failed(event: Event, error: ErrorFact) -> UnreplayableRun:
    return UnreplayableRun(
        f"the trace tells that {event.name} failed at event {event.number} ({error.type}: {error.text})",
        cause="it has neither status nor body of the response, from which the agent's SDK would make its error",
        next_command=f"reenact show {tail(event.run)}:{event.number}",
        missing=(f"answer of event {event.number}",),
    )


def _untold(event: Event, did: str, what: str) -> UnreplayableRun:
    return UnreplayableRun(
        f"the trace tells that {event.name} {did} at event {event.number}, and not {what}",
        cause="its content was not captured: the kit names the setting that captures it",
        next_command=f"reenact kit {tail(event.run)}",
        missing=(f"answer of event {event.number}",),
    )
