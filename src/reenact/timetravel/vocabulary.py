"""The vocabulary of expressions: every name they may use, what it means, and how a run or an event answers it.

Each name is defined here once, with its text in the reference. Values are computed when an expression reads them, so a
filter over many runs reads no more of each than it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

from reenact.abc.store import Recording
from reenact.facts.call import Json, Kind, calls_a_tool
from reenact.facts.event import Event
from reenact.facts.expressions import Word, WordForm
from reenact.facts.kit import Kit, ReplayUse
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import replace
from reenact.facts.model_names import events_called
from reenact.facts.run import Run, Status, run_failed
from reenact.timetravel.conduct import Finding, acts, came_before, in_order, outermost, repeated, state_left, unanswered
from reenact.timetravel.cost import event_cost, prices, run_cost
from reenact.timetravel.event_contents import Unread, answered, arguments_of, asked, error_of, status_of
from reenact.timetravel.model_readings import decision_of, is_model, model_name, reading_of
from reenact.timetravel.step_view import event_state
from reenact.timetravel.story import elapsed

if TYPE_CHECKING:
    from reenact.timetravel.suspicion_marks import suspected
else:
    suspected = late("reenact.timetravel.suspicion_marks", "suspected")

_COUNTS = ("calls", "events", "models", "number", "repeats", "tools", "unanswered")
_MEASURES = ("cost", "duration", "exit_status", "tokens", "tokens_in", "tokens_out")
_TEXTS = (
    "agent",
    "effect",
    "flag",
    "id",
    "kind",
    "lane",
    "model",
    "name",
    "session",
    "stderr",
    "stdout",
    "tag",
    "tenant",
)
_TYPES: Mapping[str, str] = {
    **dict.fromkeys((*_COUNTS, *_MEASURES), "number"),
    **dict.fromkeys((*_TEXTS, "status", "user", "version"), "text"),
}
"""The type of each word that always has the same type."""
_OF_EVENTS: Mapping[str, str] = {**_TYPES, "status": "number"}


def _typed(types: Mapping[str, str], *words: Word) -> tuple[Word, ...]:
    """Words with their types."""
    return tuple(replace(word, type=types.get(word.name, "")) for word in words)


RUN_WORDS: tuple[Word, ...] = _typed(
    _TYPES,
    Word(
        "acts", WordForm.VALUE, "what it did: a list, tool, kind, args, result, error and event of each outermost call"
    ),
    Word("agent", WordForm.VALUE, "name of the agent"),
    Word(
        "answer",
        WordForm.VALUE,
        "what the run said in the end: its output, else a model's last words (none in a tool), else stdout",
    ),
    Word("args", WordForm.EITHER, "the input of the run; args(NAME): a list, the arguments of each call of NAME"),
    Word("before", WordForm.NAMES, "before(A, B): whether B was never called without a call of A before it"),
    Word("calls", WordForm.CALL, "calls(NAME): how many calls of NAME there are, a function or a model"),
    Word(
        "cost", WordForm.VALUE, "US dollars: as noted, else tokens at the prices of the extra `cost`; otherwise unknown"
    ),
    Word("duration", WordForm.VALUE, "seconds from start to end; unknown while it runs"),
    Word("error", WordForm.VALUE, "what it failed with, as text; unknown when it did not"),
    Word("events", WordForm.VALUE, "number of events"),
    Word("exit_status", WordForm.VALUE, "exit status of the process; unknown for a run inside a process"),
    Word("failed", WordForm.VALUE, "whether its status is failed, timeout or interrupted"),
    Word("flag", WordForm.VALUE, "the text of a person's flag; unknown without one"),
    Word("flagged", WordForm.VALUE, "whether a person flagged it"),
    Word("id", WordForm.VALUE, "the whole id"),
    Word("models", WordForm.VALUE, "number of model calls"),
    Word(
        "order",
        WordForm.NAMES,
        "order(A, B, …): whether A, B, … were called one after the other; others may lie between",
    ),
    Word("repeats", WordForm.EITHER, "most calls of one thing that asked the same; repeats(NAME): of NAME"),
    Word("result", WordForm.EITHER, "the output of the run; result(NAME): a list, the result of each call of NAME"),
    Word("session", WordForm.VALUE, "session id"),
    Word("state", WordForm.EITHER, "the last state a step left; state(NAME): the last that step NAME left"),
    Word("stderr", WordForm.VALUE, "what it wrote to standard error, as text"),
    Word("stdout", WordForm.VALUE, "what it wrote to standard output, as text"),
    Word("status", WordForm.VALUE, "recording, ok, failed, timeout or interrupted; over an event, the HTTP status"),
    Word(
        "suspicious",
        WordForm.EITHER,
        'names of the rules that mark an event of it, a list; suspicious("loop"): how many events one rule marks',
    ),
    Word("tag", WordForm.CALL, "tag(NAME): the value of one label"),
    Word("tags", WordForm.VALUE, "all labels, an object"),
    Word("tenant", WordForm.VALUE, "tenant id"),
    Word("tokens", WordForm.VALUE, "tokens in and out, as providers reported them; unknown where none did"),
    Word("tokens_in", WordForm.VALUE, "tokens in"),
    Word("tokens_out", WordForm.VALUE, "tokens out"),
    Word("tools", WordForm.VALUE, "number of tool calls"),
    Word("unanswered", WordForm.VALUE, "tool calls that a model asked for and that were not made, or never returned"),
    Word("user", WordForm.VALUE, "user id"),
    Word("version", WordForm.VALUE, "version of the agent"),
)
"""Names over a run."""

KIT_WORDS: tuple[Word, ...] = (
    Word("cold", WordForm.VALUE, "whether it cannot be replayed; unknown while it runs"),
    Word(
        "missing",
        WordForm.VALUE,
        "items of its kit that are missing or partial: a list of their names, as kit has them",
    ),
)
"""Names over a run in a store, by which runs are chosen."""

STORED_WORDS: tuple[Word, ...] = (*RUN_WORDS, *KIT_WORDS)
"""All names by which runs are chosen."""

EVENT_ONLY_WORDS: tuple[Word, ...] = _typed(
    _OF_EVENTS,
    Word("effect", WordForm.VALUE, "none, read or write"),
    Word("kind", WordForm.VALUE, "kind of the event: tool, http, model, step …"),
    Word("lane", WordForm.VALUE, "path of the lane that issued it"),
    Word("model", WordForm.VALUE, "the model that answered; unknown for other calls"),
    Word("name", WordForm.VALUE, "what was called"),
    Word("number", WordForm.VALUE, "number of the event in its run"),
)
"""Names that only an event has."""

_OF_BOTH = frozenset(
    ("answer", "args", "cost", "duration", "error", "result", "state", "status", "tokens", "user", "tenant")
)

EVENT_WORDS: tuple[Word, ...] = (
    *EVENT_ONLY_WORDS,
    *_typed(_OF_EVENTS, *(replace(word, form=WordForm.VALUE) for word in RUN_WORDS if word.name in _OF_BOTH)),
)
"""Names over an event."""

_LIMIT = 4 << 20
_MICROSECONDS = 1_000_000


class RunScope:
    """A run, as the scope of an expression.

    Args:
        run: The run.
        open_recording: Opens its log; called at most once, and only when an expression needs it.
        make_kit: Makes its kit, likewise; None if no word needs it.
    """

    def __init__(
        self, run: Run, open_recording: Callable[[], Recording], make_kit: Callable[[], Kit] | None = None
    ) -> None:
        self._run = run
        self._open = open_recording
        self._make_kit = make_kit
        self._kit: Kit | None = None
        self._opened: Recording | None = None
        self._known: dict[tuple[Json, ...], Json] = {}
        self._found: dict[tuple[Json, ...], Finding] = {}

    def value(self, name: str) -> Json:
        """The value of a word used bare."""
        if (name,) not in self._known:
            self._known[(name,)] = _RUN_VALUES[name](self)
        return self._known[(name,)]

    def call(self, name: str, argument: str, /, *more: Json) -> Json:
        """The value of a word used with something in brackets."""
        asked_for = (name, argument, *more)
        if asked_for not in self._known:
            self._known[asked_for] = self._called(asked_for, name, (argument, *map(str, more)))
        return self._known[asked_for]

    def remark(self, name: str, *arguments: Json) -> str:
        """A remark on the value of a word, for explanations, where there is more to say."""
        found = self.finding(name, *arguments)
        return "" if found is None else found.why

    def finding(self, name: str, *arguments: Json) -> Finding | None:
        """The finding of a word, with its reason and its event; None where the word has only a value."""
        return self._found.get((name, *arguments))

    def shown_by(self) -> list[int]:
        """The events that best show the values of the words, in the order in which the words were read."""
        return [found.event for found in self._found.values() if found.event is not None]

    def find(self, asked_for: tuple[Json, ...], finding: Finding) -> Json:
        """Keep the finding of a word, and return its value."""
        self._found[asked_for] = finding
        return finding.value

    def _called(self, asked_for: tuple[Json, ...], name: str, arguments: tuple[str, ...]) -> Json:
        if name == "tag":
            return self._run.tags.get(arguments[0])
        finding = _FINDINGS.get(name)
        if finding is not None:
            return self.find(asked_for, finding(self.recording, arguments))
        events = events_called(self.recording.events, arguments[0])
        if name == "calls":
            return sum(1 for _ in events)
        read = asked if name == "args" else answered
        return [_content(_given(event, read(self.recording, event, _LIMIT))) for event in events]

    @property
    def run(self) -> Run:
        """The run."""
        return self._run

    @property
    def kit(self) -> Kit | None:
        """Its kit; None while it runs, because missing items may still come."""
        if self._kit is None and self._make_kit is not None and self._run.status is not Status.RECORDING:
            self._kit = self._make_kit()
        return self._kit

    @property
    def recording(self) -> Recording:
        """The log of the run."""
        if self._opened is None:
            self._opened = self._open()
        return self._opened


class EventScope:
    """An event, as the scope of an expression."""

    def __init__(self, recording: Recording, event: Event) -> None:
        self.recording = recording
        self.event = event

    def value(self, name: str) -> Json:
        """The value of a word used bare."""
        return _EVENT_VALUES[name](self)

    def call(self, name: str, argument: str, /, *more: Json) -> Json:
        """None: no word over an event takes a name in brackets."""
        return None


_FINDINGS: Mapping[str, Callable[[Recording, tuple[str, ...]], Finding]] = {
    "before": came_before,
    "order": in_order,
    "repeats": lambda recording, names: repeated(recording, names[0]),
    "suspicious": lambda recording, names: suspected(recording, names[0]),
    "state": lambda recording, names: state_left(recording, names[0]),
}


def _given(event: Event, content: Json | Unread) -> Json | Unread:
    """The arguments of a call: an MCP server's tool gets them wrapped up with its name."""
    if event.kind == Kind.MCP and calls_a_tool(event.call) and isinstance(content, Mapping):
        return content.get("arguments", content)
    return content


def _content(value: Json | Unread) -> Json:
    """Content as a value of an expression; content that is too long, and bytes that are no text, are unknown."""
    return None if isinstance(value, (Unread, bytes)) else arguments_of(value)


def _tokens(run: Run, count: int) -> int | None:
    """A count of tokens. Zero means unknown if a model was asked and its provider reported no tokens."""
    nothing_reported = run.totals.models and not (run.totals.tokens_in or run.totals.tokens_out)
    return None if nothing_reported else count


def _boundary(scope: RunScope, kind: str) -> Json:
    """The run's input, or its result."""
    for event in scope.recording.events(kinds=[kind], limit=1):
        if event.kind == kind:
            return _content(asked(scope.recording, event, _LIMIT) or answered(scope.recording, event, _LIMIT))
    return None


def _answer(scope: RunScope) -> Finding:
    output = scope.value("result")
    if output is not None:
        return Finding(output, event=next((e.number for e in scope.recording.events(kinds=[Kind.OUTPUT])), None))
    said = Finding(None)
    for event in outermost(scope.recording):
        decision = decision_of(event)
        if decision is not None and decision.text:
            said = Finding(decision.text, event=event.number)
    if said.value is not None:
        return said
    printed = b"".join(scope.recording.printed(1))
    return Finding(printed.decode(errors="replace").strip() or None)


def _printed(recording: Recording, stream: int) -> str:
    """The text that the run wrote to a standard stream, as far as expressions read it."""
    said = bytearray()
    for part in recording.printed(stream):
        said += part[: _LIMIT - len(said)]
        if len(said) >= _LIMIT:
            break
    return said.decode(errors="replace")


def _last_state(scope: RunScope) -> Json:
    last = None
    for event in scope.recording.events(kinds=["step"]):
        state = event_state(scope.recording, event.number)
        last = last if state is None else state
    return last


def _duration(scope: RunScope) -> float | None:
    lasted_us = scope.run.lasted_us
    return None if lasted_us is None else lasted_us / _MICROSECONDS


def money(amount: Decimal | None) -> float | None:
    """An amount as expressions and JSON have it: sums are made before, in decimals."""
    return None if amount is None else float(amount)


def _act(recording: Recording, event: Event) -> dict[str, Json]:
    """One thing that the run did, as expressions see it: a tool, a retrieval, plain HTTP."""
    error = error_of(event)
    return {
        "tool": event.name,
        "kind": event.kind,
        "args": _content(_given(event, asked(recording, event, _LIMIT))),
        "result": None if error is not None else _content(answered(recording, event, _LIMIT)),
        "error": None if error is None else f"{error.type}: {error.text}",
        "event": event.number,
    }


_RUN_VALUES: Mapping[str, Callable[[RunScope], Json]] = {
    "acts": lambda scope: [_act(scope.recording, event) for event in acts(scope.recording)],
    "agent": lambda scope: scope.run.agent,
    "answer": lambda scope: scope.find(("answer",), _answer(scope)),
    "args": lambda scope: _boundary(scope, "input"),
    "cold": lambda scope: None if scope.kit is None else scope.kit.verdict is ReplayUse.COLD,
    "cost": lambda scope: money(run_cost(scope.recording, prices())),
    "duration": _duration,
    "error": lambda scope: scope.run.error or None,
    "events": lambda scope: scope.run.totals.events,
    "exit_status": lambda scope: scope.run.exit_status,
    "failed": lambda scope: run_failed(scope.run),
    "flag": lambda scope: scope.run.flag,
    "flagged": lambda scope: scope.run.flagged,
    "id": lambda scope: scope.run.id,
    "missing": lambda scope: None if scope.kit is None else [item.name for item in scope.kit.lacking],
    "models": lambda scope: scope.run.totals.models,
    "repeats": lambda scope: scope.find(("repeats",), repeated(scope.recording)),
    "result": lambda scope: _boundary(scope, "output"),
    "session": lambda scope: scope.run.session,
    "state": _last_state,
    "status": lambda scope: scope.run.status.value,
    "stderr": lambda scope: _printed(scope.recording, 2),
    "stdout": lambda scope: _printed(scope.recording, 1),
    "suspicious": lambda scope: scope.find(("suspicious",), suspected(scope.recording)),
    "tags": lambda scope: dict(scope.run.tags),
    "tenant": lambda scope: scope.run.tenant,
    "tokens": lambda scope: _tokens(scope.run, scope.run.totals.tokens_in + scope.run.totals.tokens_out),
    "tokens_in": lambda scope: _tokens(scope.run, scope.run.totals.tokens_in),
    "tokens_out": lambda scope: _tokens(scope.run, scope.run.totals.tokens_out),
    "tools": lambda scope: scope.run.totals.tools,
    "unanswered": lambda scope: scope.find(("unanswered",), unanswered(scope.recording)),
    "user": lambda scope: scope.run.user,
    "version": lambda scope: scope.run.version,
}


def _event_answer(scope: EventScope) -> Json:
    decision = decision_of(scope.event)
    return None if decision is None else decision.text or None


def _event_duration(scope: EventScope) -> float | None:
    spent = elapsed(scope.event)
    return None if spent is None else spent / _MICROSECONDS


def _event_error(scope: EventScope) -> str | None:
    error = error_of(scope.event)
    return None if error is None else f"{error.type}: {error.text}"


def _event_tokens(scope: EventScope) -> Json:
    usage = (reading_of(scope.event) or {}).get("usage")
    parts = [usage.get(key) for key in ("input", "output")] if isinstance(usage, Mapping) else [None]
    return sum(part for part in parts if part) if any(isinstance(part, int) for part in parts) else None


_EVENT_VALUES: Mapping[str, Callable[[EventScope], Json]] = {
    "answer": _event_answer,
    "args": lambda scope: _content(asked(scope.recording, scope.event, _LIMIT)),
    "cost": lambda scope: money(event_cost(scope.recording, scope.event, prices())),
    "duration": _event_duration,
    "effect": lambda scope: scope.event.call.effect.value,
    "error": _event_error,
    "kind": lambda scope: "model" if is_model(scope.event) else scope.event.kind,
    "lane": lambda scope: scope.event.lane,
    "model": lambda scope: model_name(scope.event) if is_model(scope.event) else None,
    "name": lambda scope: scope.event.name,
    "number": lambda scope: scope.event.number,
    "result": lambda scope: _content(answered(scope.recording, scope.event, _LIMIT)),
    "state": lambda scope: event_state(scope.recording, scope.event.number) if scope.event.kind == Kind.STEP else None,
    "status": lambda scope: status_of(scope.event),
    "tenant": lambda scope: scope.recording.run.tenant,
    "tokens": _event_tokens,
    "user": lambda scope: scope.recording.run.user,
}
