"""The fixes that a golden cannot judge: one inside a tool that raised, whose body does not run, and a longer
time-out."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from reenact.abc.store import Recording
from reenact.facts.call import Effect, EndKind, Failure, Kind, Stream, Value
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.facts.run import Status
from reenact.facts.shell_text import typed
from reenact.timetravel.changed_tools import through
from reenact.timetravel.conduct import outermost

_CANCELLED = "CancelledError"
"""A cancelled call has raised no exception of its own."""
_TIMEOUT = "Timeout"
"""This word in the name of an exception says that it was raised because no answer came in time."""


def blind_spot(today: Recording, recorded: Recording, blamed: Collection[int | None], golden: str) -> tuple[str, str]:
    """A fix that a golden cannot judge, in words, and the command that shows it; empty where it can judge any.

    Args:
        today: The result of today's code.
        recorded: The run that the golden keeps.
        blamed: For each expectation that fails on today's run, the number of its first bad event.
        golden: The golden, as a reference.
    """
    if today.run.status is Status.TIMEOUT or _TIMEOUT in today.run.error.partition(":")[0]:
        late = [event.number for event in outermost(recorded) if _has_no_answer(event)]
        return (
            "no answer came in time, so none was recorded: a longer time-out proves nothing here; a fork waits for it",
            typed(["reenact", "fork", f"{golden}:{late[-1] if late else 0}", "--live", "all"]),
        )
    tool = _raised_at(today, blamed)
    if not tool:
        return "", ""
    return (
        f"{tool} raised when it was recorded, and its body does not run in a golden: a fix inside it is not seen here,"
        " one around it is",
        through(tool, golden),
    )


def _has_no_answer(event: Event) -> bool:
    outcome = event.outcome
    if isinstance(outcome, Stream):
        return outcome.end is None or outcome.end.kind in (EndKind.ERROR, EndKind.CANCELLED)
    return not isinstance(outcome, Value)


def _raised_at(run: Recording, blamed: Collection[int | None]) -> str:
    """The tool whose error decided a run; empty without one."""
    raised = list(_raised(run))
    if run.run.status is Status.OK:  # it recovered from the error: its later answer may be the unexpected thing
        tools = {event.number for event in run.events(kinds=(Kind.TOOL,))} if raised else set()
        raised = [each for each in raised if each[0].number in blamed or not tools.intersection(blamed)]
    else:
        raised = [each for each in raised if run.run.error and each[1].error.text in run.run.error]
    return raised[-1][0].name if raised else ""


def mended_in(fork: Recording, run: Recording) -> tuple[str, str]:
    """The tool that raised in a run, and gave a value in its fork for the same request; with a remark on a golden that
    has the fork's answers. Empty without such a tool."""
    gave = {(event.name, event.call.body) for event in fork.events() if isinstance(event.outcome, Value)}
    tool = next((event.name for event, _ in _raised(run) if (event.name, event.call.body) in gave), "")
    said = (
        f"{tool} raised in run {tail(run.run.id)} and not in fork {tail(fork.run.id)}: with that answer in place of its"
        " body, any code passes. Without --fixed the golden tests the code around it"
    )
    return tool, said * bool(tool)


def _raised(run: Recording) -> Iterator[tuple[Event, Failure]]:
    for event in run.events(kinds=(Kind.TOOL,)):
        outcome = event.outcome
        runs = event.call.effect is Effect.NONE
        if isinstance(outcome, Failure) and not (runs or outcome.error.type.endswith(_CANCELLED)):
            yield event, outcome
