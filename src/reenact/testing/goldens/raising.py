"""Tools that raised: a golden answers with the recorded error, so a fix in the body of a tool never runs in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from reenact.abc.store import Recording
from reenact.facts.call import Effect, Failure, Kind, Value
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.facts.run import Status
from reenact.facts.typed import typed

_CANCELLED = "CancelledError"
"""A call that was given up has raised nothing of its own."""


def raised_at(run: Recording, blamed: Collection[int | None]) -> str:
    """The tool whose error decided a run; empty where none did.

    Args:
        run: It.
        blamed: Numbers of the events with which expectations over it were lost.
    """
    raised = list(_raised(run))
    if run.run.status is Status.OK:  # it came over the error: what it then said may be what is not expected
        tools = {event.number for event in run.events(kinds=(Kind.TOOL,))} if raised else set()
        raised = [each for each in raised if each[0].number in blamed or not tools.intersection(blamed)]
    else:
        raised = [each for each in raised if run.run.error and each[1].error.text in run.run.error]
    return raised[-1][0].name if raised else ""
    return ""


def mended_in(fork: Recording, run: Recording) -> tuple[str, str]:
    """The tool that raised in a run, and gave a value in its fork when it was asked the same; and what that means for
    a golden that serves the fork's answers. Empty where none did."""
    gave = {(event.name, event.call.body) for event in fork.events() if isinstance(event.outcome, Value)}
    tool = next((event.name for event, _ in _raised(run) if (event.name, event.call.body) in gave), "")
    said = (
        f"{tool} raised in run {tail(run.run.id)} and not in fork {tail(fork.run.id)}: served instead of its body, that"
        " answer mends any code. Without --fixed the golden tests the code around it"
    )
    return tool, said * bool(tool)


def unseen(tool: str) -> str:
    """What a golden cannot judge, in words; ``through`` can."""
    return (
        f"{tool} raised when it was recorded, and its body does not run in a golden: a fix inside it is not seen here,"
        " one around it is"
    )


def through(tool: str, ref: str) -> str:
    """The command that runs the body of a tool on what it was asked then."""
    return typed(["reenact", "replay", ref, "--through", tool])


def _raised(run: Recording) -> Iterator[tuple[Event, Failure]]:
    for event in run.events(kinds=(Kind.TOOL,)):
        outcome = event.outcome
        runs = event.call.effect is Effect.NONE
        if isinstance(outcome, Failure) and not (runs or outcome.error.type.endswith(_CANCELLED)):
            yield event, outcome
