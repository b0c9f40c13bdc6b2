"""The plan of a fork: where it branches, what changes there, and what may go live after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from reenact.abc.redaction import Redactor
from reenact.errors import FormatTooNew, UsageError
from reenact.facts.call import Call, Effect, Json, Kind
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.shell_text import typed
from reenact.privacy import make_redactor
from reenact.timetravel import preview
from reenact.timetravel.forks.permits import commits, meant, only_kept

Opening = Literal["reads", "all", "model", "none"]
Settling = Literal["", "done", "retry"]
_NUMBERED = ("results", "errors", "says")
"""Fields of a plan that name events by their numbers."""
_LISTED = ("allow_writes", "retries", "only", "command")
_RENAMED = {"anew": "retries"}  # fields of stored plans that have another name now
STORED = "is not sent: it does not say store=false, so its provider would store it"
"""Why a model request is a write that changes nothing else."""
NOT_AGAIN = (
    "is answered as recorded, because its provider stores it: models_may_store = true in [tool.reenact] asks again"
)
OPENINGS: tuple[Opening, ...] = ("reads", "all", "model", "none")


@dataclass(frozen=True, slots=True)
class Plan:
    """A fork as data, for the process that runs it.

    Attributes:
        at: Number of the branching event; everything before it is answered strictly from the recording.
        live: The calls that may go live after it: ``reads`` (calls without a recorded answer that change nothing),
            ``all`` (also reads and model calls with a recorded answer), ``model`` (model calls are sent again, others
            are answered by key) or ``none``.
        allow_writes: Names of tools that may write, and patterns of them.
        may_store: Whether model requests that their provider stores may go live, as reads.
        results: New results of recorded calls: number of the event to the value, JSON-able.
        errors: Errors in place of recorded results: number of the event to ``TYPE:TEXT``.
        says: Texts in place of models' recorded answers: number of the event to the text.
        state: New values in the state of the step at ``at``: path with dots to the value.
        prompt: New system prompt of the model requests that go live.
        model: Another model of the same protocol for them.
        params: Parameters to set in them.
        only: For a replay with live calls: the kinds or names that go live, if they change nothing, with the calls
            inside them. Empty for a fork.
        input: Another input of the run; None keeps the recorded input.
        flags: Values that feature flags evaluate to from ``at`` on.
        at_time: The time to which the agent's wall clock is set at ``at``, as ISO 8601 text; empty: it goes on. In a
            resumption: the time to which the resumed fork had set it.
        rev: The revision whose code runs, from the start on; empty for the present files.
        command: The command line that runs in place of the parent's; empty for the parent's.
        resume: Go on with the run instead of branching from it: in real time from ``at`` on, writes allowed, none
            made twice.
        until: Number of the delivery from which on the parent's order no longer counts: the Ctrl-C that ended the
            resumed run; None: all of it counts.
        apart: The resumption becomes a run of its own, and does not replace the broken run.
        retries: The numbers of recorded calls that are made again because the run failed with them.
        settle: The word on writes in doubt: ``done`` (they happened) or ``retry`` (make them again); empty: stop.
        given: The results of writes in doubt that happened, by their identity: JSON-able values.
        settled: The user's answers for single writes, by identity or ``by_number``; they go before ``settle``.
    """

    at: int
    live: Opening = "reads"
    allow_writes: tuple[str, ...] = ()
    may_store: bool = False
    results: Mapping[int, Json] = field(default_factory=dict)
    errors: Mapping[int, str] = field(default_factory=dict)
    says: Mapping[int, str] = field(default_factory=dict)
    state: Mapping[str, Json] = field(default_factory=dict)
    prompt: str | None = None
    model: str | None = None
    params: Mapping[str, Json] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    input: Json = None
    flags: Mapping[str, Json] = field(default_factory=dict)
    at_time: str = ""
    rev: str = ""
    command: tuple[str, ...] = ()
    resume: bool = False
    until: int | None = None
    apart: bool = False
    retries: tuple[int, ...] = ()
    settle: Settling = ""
    settled: Mapping[str, Settling] = field(default_factory=dict)
    given: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.at_time:
            moment_us(self.at_time)
        if len(self.answered) < sum(map(len, (self.results, self.errors, self.says))):
            raise UsageError(
                "one event is given two answers",
                cause="--result, --say and --error each give an event the one that it has",
                next_command="reenact fork --help",
            )
        if self.rewrites and self.live == "none":
            raise UsageError(
                "another prompt, model or parameter changes what models are asked, and nothing may go live",
                cause="a recorded answer does not answer another request; --live reads, the default, asks the models",
                next_command="reenact fork --help",
            )

    @property
    def answered(self) -> frozenset[int]:
        """The numbers of the recorded calls whose answers are changed."""
        return frozenset({*self.results, *self.errors, *self.says})

    @property
    def rewrites(self) -> bool:
        """Whether live model requests are changed on their way."""
        return self.prompt is not None or self.model is not None or bool(self.params)

    @property
    def changes(self) -> list[str]:
        """The changes, a phrase each, without credentials; empty for a fork that only samples again."""
        clean = make_redactor()  # before the value is cut: half a credential does not look like one
        told = [f"{path} set to {_short(_named(clean, path, value))}" for path, value in self.state.items()]
        told += [
            f"the result of event {number} set to {_short(clean.data(value))}" for number, value in self.results.items()
        ]
        told += [f"event {number} says {_short(clean.text(text))}" for number, text in self.says.items()]
        told += [f"event {number} fails with {clean.text(text)}" for number, text in self.errors.items()]
        if self.prompt is not None:
            told.append("another system prompt")
        if self.model is not None:
            told.append(f"model {self.model}")
        told += [f"{name} {_short(_named(clean, name, value))}" for name, value in self.params.items()]
        if self.input is not None:
            told.append(f"input {_short(clean.data(self.input))}")
        told += [f"flag {name} is {_short(_named(clean, name, value))}" for name, value in self.flags.items()]
        if self.at_time:
            told.append(f"the clock moved to {self.at_time}")
        if self.rev:
            told.append(f"code of {self.rev}")
        if self.command:
            told.append(f"command {clean.text(typed(self.command))}")
        return told

    @property
    def noun(self) -> str:
        """The word for this fork in messages: ``fork``, ``resumption``, or ``replay`` (with live calls)."""
        return "resumption" if self.resume else "replay" if self.only else "fork"

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON-able data."""
        data = {name: getattr(self, name) for name in self.__slots__}
        for name in _NUMBERED:
            data[name] = {str(number): value for number, value in data[name].items()}
        return {**data, **{name: list(data[name]) for name in _LISTED}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """The inverse of ``to_json``, and a reader of the plans that earlier versions stored.

        Raises:
            FormatTooNew: A newer version stored it.
        """
        values = {_RENAMED.get(name, name): value for name, value in data.items()}
        if unknown := values.keys() - set(cls.__slots__):
            told = f"this version does not know a field of the fork's plan: {', '.join(sorted(unknown))}"
            raise FormatTooNew(told, cause="a newer version made it", next_command="pip install --upgrade reenact")
        for name in _NUMBERED:
            values[name] = {int(number): value for number, value in (data.get(name) or {}).items()}
        return cls(**values | {name: tuple(values.get(name) or ()) for name in _LISTED})


def names(listed: Iterable[str], call: Call, *, model: bool) -> list[str]:
    """The kinds and names of the list that mean a call."""
    kind = Kind.MODEL if model else call.kind
    return [each for each in listed if each in (kind, call.name)]


def opens(plan: Plan, call: Call, *, model: bool) -> bool:
    """Whether a call goes live even if a recorded answer fits (a rewritten call always goes live)."""
    if plan.only:
        return call.effect is Effect.READ and bool(names(plan.only, call, model=model))
    if plan.live == "none" or call.effect is not Effect.READ:
        return False
    return plan.live == "all" or (model and plan.live == "model")


def refusal(plan: Plan, call: Call, *, model: bool) -> str:
    """Why a call without a recorded answer may not be made; empty where it may."""
    if plan.resume:
        return ""
    if call.effect is Effect.WRITE:
        why = STORED if model and only_kept(call) else "may change the world, and is not allowed to"
        return "" if may_write(plan, call) else f"{call.name} {why}"
    if plan.only:
        opened = bool(names(plan.only, call, model=model))
        return "" if opened else f"{call.name} has no recorded answer, and only {', '.join(plan.only)} may go live"
    if plan.live == "none":
        return f"{call.name} has no recorded answer, and nothing may go live"
    if plan.live == "model" and not model:
        return f"{call.name} has no recorded answer, and only models may go live"
    return ""


def may_write(plan: Plan, call: Call) -> bool:
    """Whether a write is allowed: by its name, or because it commits allowed writes to a database."""
    return bool(meant(plan.allow_writes, call.name)) or commits(plan.allow_writes, call)


def by_number(event: int) -> str:
    """The name of a write in doubt in ``Plan.settled``, if only its number in the recording is known."""
    return f"event {event}"


def is_number(name: str) -> bool:
    """Whether a name in ``Plan.settled`` is one of ``by_number``; identities have no space."""
    return name.startswith(by_number(0)[:-1])


def said_of(plan: Plan, write: str, recorded: Event | None) -> Settling:
    """The word on a write in doubt.

    Args:
        plan: The plan with the words.
        write: Identity of the write.
        recorded: The recorded event; None without one.
    """
    named = by_number(recorded.number) if recorded is not None else ""
    return plan.settled.get(write) or plan.settled.get(named) or plan.settle


def _named(clean: Redactor, path: str, value: Json) -> Json:
    """A value without credentials, by the last name of its path."""
    found = clean.data({path.rpartition(".")[2]: value})
    return next(iter(found.values())) if isinstance(found, dict) else found


def _short(value: Json) -> str:
    return preview.brief(value, 60)


def moment_us(text: str) -> int:
    """Microseconds since the epoch of a time in ISO 8601. A time without an offset is in the time zone of this process,
    which a fork runs in the zone of its parent.

    Raises:
        UsageError: The text is no time, or a time that no clock can show.
    """
    try:
        moment = datetime.fromisoformat(text)
        seconds = moment.timestamp()
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"{text!r} is no moment",
            cause="it is written as ISO 8601: 2026-03-29T01:30:00+01:00, or without an offset in the agent's time zone",
            next_command="reenact fork --help",
        ) from None
    if not 0 <= seconds <= (1 << 63) // 1_000_000_000 - 1:  # nanoseconds are kept in 64 bits
        raise UsageError(
            f"no clock can be moved to {text}",
            cause="it lies before 1970 or after 2262",
            next_command="reenact fork --help",
        )
    return int(seconds) * 1_000_000 + moment.microsecond
