"""Answers that a fork changes: a value in place of the recorded one, or an error."""

from __future__ import annotations

import builtins
import sys
from difflib import get_close_matches

from reenact.abc.store import Recording
from reenact.errors import ForkError
from reenact.facts.call import End, EndKind, ErrorFact, Failure, Json, Kind, Outcome, Stream, Value
from reenact.facts.event import Event
from reenact.facts.exceptions import class_as_written
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.plumbing import MARK as PLUMBING
from reenact.facts.plumbing import is_plumbing
from reenact.facts.served_requests import arrives
from reenact.facts.shapes import type_name
from reenact.facts.values import encode, jsonable
from reenact.replaying.state_changes import restated
from reenact.timetravel.forks.code_names import why_not
from reenact.timetravel.forks.fork_flags import check_flags
from reenact.timetravel.forks.fork_points import inside
from reenact.timetravel.forks.input import check_input
from reenact.timetravel.forks.model_answers import answered_with, said_text
from reenact.timetravel.forks.plan import Plan
from reenact.timetravel.forks.responses import asked_with, made_up
from reenact.timetravel.forks.result_coercion import coerced


@dataclass(frozen=True, slots=True)
class ChangedOutcome:
    """Another outcome, and the bytes it holds."""

    outcome: Outcome
    body: bytes = b""


def changed_outcome(recording: Recording, event: Event, plan: Plan) -> ChangedOutcome:
    """The outcome that replaces the recorded one of ``event``.

    Raises:
        ForkError: This kind of call cannot have such an answer.
    """
    if event.number in plan.errors:
        return _error(event, plan.errors[event.number])
    says = plan.says.get(event.number)
    value = plan.results.get(event.number) if says is None else said_text(recording, event, says)
    if arrives(event.call):
        return ChangedOutcome(*asked_with(event, plan.input if plan.input is not None else value))
    if event.call.kind is Kind.HTTP:
        spoken = answered_with(recording, event, value)
        return _response(event, value, 200) if spoken is None else _streamed(*spoken)
    return ChangedOutcome(Value(b"", head={}), coerced(recording, event, value))


def named_as_here(changed: ChangedOutcome) -> ChangedOutcome:
    """The outcome, in the process of the fork: a changed error bears the name that its class has there.

    Raises:
        ForkError: The program has no such exception.
    """
    if not isinstance(changed.outcome, Failure):
        return changed
    error = changed.outcome.error
    found = class_as_written(error.type)
    if found is None:
        module = error.type.rpartition(".")[0]
        if module == "__main__" or module in sys.modules:
            raise _no_exception(f"{error.type} cannot be raised: {module} has no such exception")
        raise ForkError(
            f"{error.type} cannot be raised: the program has not imported {module}",
            cause=f"code that has not imported {module} cannot catch it by its name: import it there, or name another",
            next_command="reenact fork --help",
        )
    return replace(changed, outcome=Failure(replace(error, type=type_name(found))))


def check(recording: Recording, plan: Plan, entry: str = "") -> None:
    """Check that every change can be made.

    Args:
        recording: The parent.
        plan: The plan with the changes.
        entry: A function that is called in place of the recorded program; empty without one.

    Raises:
        ForkError: A change cannot be made.
    """
    check_input(recording, plan, entry)
    check_flags(recording, plan)
    if plan.state:
        _check_state(recording, plan)
    for number in sorted(plan.answered):
        event = recording.event(number)
        if event.call.observed:
            raise ForkError(
                f"event {number} ({event.name}) is the agent's own code: it has no answer to be changed",
                cause="steps, inputs and tools of effect none always run",
                next_command=f"reenact show {tail(recording.run.id)}",
            )
        if is_plumbing(event.call):
            rule = event.call.head[PLUMBING]
            raise ForkError(
                f"event {number} ({event.name}) hands telemetry over ({rule}): no fork changes its answer",
                cause=f'nothing depends on it; where the code does, record again with [plumbing] {rule} = "off"',
                next_command=f"reenact show {tail(recording.run.id)}",
            )
        if arrives(event.call) and number in plan.errors:
            raise ForkError(
                f"event {number} is a client's request to the server: no error can replace it",
                cause="its body can be changed",
                next_command=f"reenact fork {tail(recording.run.id)}:{number} --input '{{}}'",
            )
        _check_reached(recording, event, plan)
        outcome = changed_outcome(recording, event, plan).outcome
        if isinstance(outcome, Failure) and not plan.rev and (why := why_not(recording.run, outcome.error.type)):
            raise _no_exception(f"{outcome.error.type} cannot be raised: {why}")


def _check_reached(recording: Recording, event: Event, plan: Plan) -> None:
    """Require that the fork makes the call of ``event``, after its branching event."""
    run = tail(recording.run.id)
    if event.number < plan.at:
        raise ForkError(
            f"event {event.number} ({event.name}) comes before event {plan.at}, where the fork branches",
            cause="everything before the branching event is answered as it was recorded",
            next_command=f"reenact fork {run}:{event.number} --dry-run",
        )
    around = inside(recording, event)
    if around is not None:
        raise ForkError(
            f"event {event.number} ({event.name}) lies inside {around.name} (event {around.number}), which is answered"
            " frozen",
            cause=f"the program never asks for its answer; that of event {around.number} can be changed",
            next_command=f"reenact cat {run}:{around.number}",
        )


def _check_state(recording: Recording, plan: Plan) -> None:
    """Check that the branching event is a step whose recorded state has every path."""
    run, event = tail(recording.run.id), recording.event(plan.at)
    slots = recording.checkpoint_slots(plan.at, "in")
    if event.call.kind is not Kind.STEP or slots is None:
        step = next((e for e in recording.events(kinds=("step",)) if e.number >= plan.at), None)
        raise ForkError(
            f"event {plan.at} ({event.name}) is no step with a state: there is nothing to set in it",
            cause="state can be set where a step begins: with step(name, state)",
            next_command=f"reenact fork {run}:{step.number} --dry-run" if step is not None else f"reenact show {run}",
        )
    state = {name: jsonable(body) for name, body in slots.items()}
    try:
        restated(state.get("", state), plan.state)
    except ForkError as error:  # the error's command shows the state, but not of this step
        shown = f"{run}:{plan.at}"
        raise ForkError(error.message, cause=error.cause, next_command=f"reenact show {shown} --state") from None


def _error(event: Event, text: str) -> ChangedOutcome:
    kind, _, message = text.partition(":")
    kind = kind.strip()
    if event.call.kind is Kind.HTTP and kind.isdecimal():
        if len(kind) != 3 or not "100" <= kind <= "599":
            raise ForkError(
                f"{kind[:20]} is no status of HTTP",
                cause="a status is a number from 100 to 599: 503:busy",
                next_command="reenact fork --help",
            )
        return _response(event, message, int(kind))
    if not kind.replace(".", "").replace("_", "").isalnum():
        raise ForkError(
            f"{text!r} names no exception",
            cause="an error is given as TYPE:TEXT, or as STATUS:BODY for an HTTP exchange",
            next_command="reenact fork --help",
        )
    name = kind if "." in kind else _built_in(kind)
    arguments = encode([message]).body
    return ChangedOutcome(Failure(ErrorFact(name, message, args=arguments)))


def _built_in(kind: str) -> str:
    """The whole name of a built-in exception.

    Raises:
        ForkError: Python has no exception of that name.
    """
    found = getattr(builtins, kind, None)
    if isinstance(found, type) and issubclass(found, BaseException):
        return f"builtins.{kind}"
    near = get_close_matches(kind, [name for name in dir(builtins) if name.endswith(("Error", "Exception"))], 1)
    meant = f"; did you mean {near[0]}?" if near else ""
    raise _no_exception(f"{kind} is no exception of Python's own{meant}")


def _no_exception(words: str) -> ForkError:
    cause = "another one is named with its module: httpx.ReadTimeout, or __main__.NoSuchOrder of the program itself"
    return ForkError(words, cause=cause, next_command="reenact fork --help")


def _response(event: Event, value: Json, status: int) -> ChangedOutcome:
    """A whole response in place of the recorded one."""
    return _streamed(*made_up(event, value, status))


def _streamed(head: dict[str, Json], data: bytes) -> ChangedOutcome:
    return ChangedOutcome(Stream(head=head, segments=1, end=End(EndKind.EOF)), data)
