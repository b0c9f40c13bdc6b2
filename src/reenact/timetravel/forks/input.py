"""Another input of a run: the arguments of its entry point, the standard input of its program, or a request's body."""

from __future__ import annotations

from typing import Any, Final

from reenact.abc.store import Recording
from reenact.errors import ForkError
from reenact.facts.call import Call, Json, Kind
from reenact.facts.ids import tail
from reenact.facts.served_requests import REQUEST
from reenact.facts.values import encode
from reenact.timetravel.forks.plan import Plan

_READS: Final = ((Kind.INPUT, "stdin"), (Kind.HUMAN, "input"))
"""Reads of standard input, by kind and name (``seams.stdin``)."""


def is_read(call: Call) -> bool:
    """Whether a call reads standard input."""
    return (call.kind, call.name) in _READS


def asks_people(plan: Plan) -> bool:
    """Whether standard input is open to the world, so that the parent of the fork must pass its own on."""
    return not {"human", "input", "stdin"}.isdisjoint(plan.only)


def arguments(given: Json) -> bytes:
    """Arguments of an entry point, encoded as a recording keeps them.

    Args:
        given: A list holds them by position, an object by name; any other value is the only argument.
    """
    args: list[Any] = given if isinstance(given, list) else [] if isinstance(given, dict) else [given]
    return encode({"args": args, "kwargs": given if isinstance(given, dict) else {}}).body


def check_input(recording: Recording, plan: Plan, entry: str) -> None:
    """Check that the run can be given another input.

    Args:
        recording: The parent.
        plan: The plan with the ``input``.
        entry: A function that is called in place of the recorded program; empty without one.

    Raises:
        ForkError: The run cannot be given another input; the message names another way to change the question.
    """
    if plan.input is None:
        return
    run = recording.run
    name = tail(run.id)
    if plan.at:
        raise ForkError(
            f"event {plan.at} comes after the input of the run: another input is a fork at event 0",
            cause="the calls before it were made with the recorded input",
            next_command=f"reenact fork {name}:0 --input …",
        )
    if entry or run.entry.kind in ("callable", REQUEST):
        return
    if run.entry.kind != "command":
        raise ForkError(
            f"run {name} was recorded as a block of code, which has no input of its own",
            cause="an entry point has arguments and a program standard input; what a block starts with is its state",
            next_command=f"reenact fork {name}:0 --entry module:function --input …",
        )
    if not isinstance(plan.input, str):
        raise ForkError(
            f"the standard input of a program is text, and {plan.input!r} is none",
            cause="a JSON text, or anything that is not JSON, is taken as it is; @FILE reads it from a file",
            next_command=f"reenact fork {name}:0 --input @FILE",
        )
    if not plan.rev and not any((event.call.kind, event.name) in _READS for event in recording.events()):
        raise ForkError(
            f"the program of run {name} has read no standard input",
            cause="it is told what to do by its command line, or by something else that it reads",
            next_command=f"reenact fork {name}:0 --cmd 'python agent.py \"another question\"'",
        )
