"""Answers that a golden has besides its own recording: those recorded later, and those that a person has written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

from reenact.abc.redaction import Redactor
from reenact.abc.store import Recording
from reenact.errors import UsageError
from reenact.facts.answers.say_answers import NotSaid, WireAnswer, is_said, said
from reenact.facts.call import Call, End, EndKind, Json, Kind, Outcome, Stream, Value
from reenact.facts.dialects import is_model_request
from reenact.facts.event import Event
from reenact.facts.keys import rules_of
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.values import decode, encode
from reenact.replaying.tape import Tape
from reenact.testing.goldens.golden_trace import ScriptedAnswer
from reenact.timetravel.forks.ladder import Ladder
from reenact.timetravel.forks.permits import is_model


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer from somewhere else than the golden's own recording.

    Attributes:
        source: ``overlay`` (recorded later) or ``scripted``.
        why: The reason for this answer in words, for the report.
        outcome: The answer.
        body: Its bytes.
    """

    source: Literal["overlay", "scripted"]
    why: str
    outcome: Outcome
    body: bytes


class Overlay:
    """A recording that was made later, of calls that the golden's own recording does not have. Each answer is used
    once.

    Args:
        recording: The recording.
        redactor: Cleans calls as those of the recording were.
    """

    def __init__(self, recording: Recording, redactor: Redactor) -> None:
        self._recording = recording
        self._redactor = redactor
        self._ladder = Ladder(Tape(recording), rules_of(recording.run.capture))

    def find(self, path: str, call: Call) -> GivenAnswer | None:
        """The answer to a call of lane ``path``; None without one, or if several fit."""
        event = self._ladder.find(path, self._redactor.call(call)).answer
        if event is None or event.outcome is None:
            return None
        self._ladder.used(path, event)
        return GivenAnswer("overlay", "recorded later, beside the incident", *self._outcome(event))

    def _outcome(self, event: Event) -> tuple[Outcome, bytes]:
        outcome = event.outcome
        assert outcome is not None
        if isinstance(outcome, Value):
            return outcome, self._recording.body(event.answer)
        if isinstance(outcome, Stream):
            return outcome, b"".join(data for _, _, data in self._recording.parts(event.number))
        return outcome, b""


class Answers:
    """All answers beside the recording: later recordings, newest first; then those that a person has written.

    Several scripted answers to one call are used one after the other, each once; a single one is used every time.

    Args:
        overlays: Oldest first.
        scripted: The golden's scripted answers.
    """

    def __init__(self, overlays: Sequence[Overlay], scripted: Sequence[ScriptedAnswer]) -> None:
        self._overlays = overlays[::-1]
        self._scripted = list(scripted)
        self._several = {name for name, count in Counter(each.call for each in scripted).items() if count > 1}

    def find(self, path: str, call: Call) -> GivenAnswer | None:
        """The answer to a call of lane ``path``; None without one."""
        for overlay in self._overlays:
            found = overlay.find(path, call)
            if found is not None:
                return found
        for at, each in enumerate(self._scripted):
            if each.call in _names(call) and _fits(each.arguments, call):
                if each.call in self._several:
                    del self._scripted[at]
                return GivenAnswer("scripted", "scripted by the golden", *_written(call, each.value))
        return None


def _names(call: Call) -> tuple[str, ...]:
    """The names that a scripted answer may use for a call: its name, an HTTP call also without its host, and ``model``
    for every model call."""
    model = ("model",) if is_model(call) else ()
    if call.kind is not Kind.HTTP:
        return call.name, *model
    path = urlsplit(str(call.head.get("url"))).path or "/"
    return call.name, f"{call.head.get('method')} {path}", *model


def _fits(arguments: Mapping[str, Json] | None, call: Call) -> bool:
    """Whether a call has the arguments that a scripted answer names. The call may have others, too."""
    if arguments is None:
        return True
    if call.kind is Kind.HTTP:
        try:
            asked = json.loads(call.body)
        except ValueError:
            return False
    else:
        asked = decode(call.body)
    return isinstance(asked, Mapping) and all(name in asked and asked[name] == v for name, v in arguments.items())


def _written(call: Call, value: Any) -> tuple[Outcome, bytes]:
    """A scripted answer in the form of the call's outcome: a value, a model's answer, or a whole response."""
    if call.kind is not Kind.HTTP:
        return Value(b"", head={}), encode(value).body
    if speaks(call, value):
        reply = spoken(call, value)
        headers = [["content-type", reply.media], *(list(pair) for pair in reply.headers)]
        return Stream({"status": 200, "headers": headers}, segments=1, end=End(EndKind.EOF)), reply.body
    body = value.encode() if isinstance(value, str) else json.dumps(value, ensure_ascii=False).encode()
    kind = "text/plain; charset=utf-8" if isinstance(value, str) else "application/json"
    headers = [["content-type", kind], ["content-length", str(len(body))]]
    return Stream({"status": 200, "headers": headers}, segments=1, end=End(EndKind.EOF)), body


def speaks(call: Call, value: Json) -> bool:
    """Whether a scripted value is a model's answer, not the body of a response."""
    return is_said(value) and is_model_request(str(call.head.get("method")), str(call.head.get("url")), call.body)


def spoken(call: Call, value: Json) -> WireAnswer:
    """The response to a model request with this answer: streamed if the request wants that.

    Args:
        call: The request.
        value: ``say`` is the text, ``uses`` the tool calls: ``name`` and ``args`` each.

    Raises:
        UsageError: The value is no answer, or the request's protocol has no place for it.
    """
    try:
        return said(call.head, call.body, value)
    except NotSaid as error:
        raise UsageError(
            f"a scripted answer cannot be said in the protocol of {call.name}: {error}",
            cause='what a model says is {"say": TEXT, "uses": [{"name": TOOL, "args": {…}}]}',
            next_command="reenact golden add --help",
        ) from None
