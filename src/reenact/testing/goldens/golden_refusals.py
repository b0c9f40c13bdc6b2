"""Refusing a new golden: why it is no test, or not one that could be run, with the command that leads on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from reenact.abc.store import Recording
from reenact.errors import UnreplayableRun, UsageError
from reenact.facts.ids import tail
from reenact.facts.run import Run, Status
from reenact.testing.expectations.expression_text import called
from reenact.testing.expectations.strength import proposals
from reenact.testing.goldens.blind_spots import mended_in
from reenact.testing.goldens.golden_outcome import JudgedExpectation, Outcome
from reenact.testing.goldens.golden_trace import Golden
from reenact.testing.goldens.opened_golden import OpenGolden
from reenact.timetravel.changed_tools import through
from reenact.timetravel.conduct import acts
from reenact.timetravel.forks.plan import Plan

Adding = Callable[..., str]
"""Gives the command that was typed to add the golden, with all its options. The arguments are further words for its
end, and by name other values for its parameters (None leaves a parameter out)."""
_WELL: Final = "status == 'ok'"
_ADVICE: Final = ("  likely cause: ", "  next: ")
"""The beginnings of the lines that an error adds to its message."""


def expecting(run: Recording, fixed: Recording | None = None) -> tuple[str, str]:
    """A possible expectation for a run, as an option: one that fails on a run that went wrong (and holds on the fork
    that fixed it), or one that is true of another run. A run that was cut off has no end to expect."""
    well, cut = run.run.status is Status.OK, run.run.interrupted_at is not None
    if fixed is not None or not (well or cut):
        return "--expect", next(iter(proposals(None, run, fixed)), _WELL)
    names = [event.name for event in acts(run) if event.outcome is not None]
    if not names:
        return ("--holds" if well else "--expect"), _WELL
    return "--holds", f"{called('calls', names[-1])} == {names.count(names[-1])}"


def no_test(golden: Golden, opened: OpenGolden, adding: Adding) -> UsageError:
    """The error for a golden that the recorded code passes: it tests nothing of the code."""
    run = tail(opened.recorded.id)
    plan = Plan.from_json(kept) if opened.fixed and (kept := opened.fixed.environment.get("fork")) else None
    told = f"golden {golden.name} is not added: the code of the incident passes on it"
    if opened.fixed is not None and not (plan and plan.answered):
        tool, why = mended_in(opened.store.open(opened.fixed), opened.store.open(opened.recorded))
        if tool:
            return UsageError(told, cause=why, next_command=through(tool, run))
    if plan is None or plan.rev or not plan.changes:
        return UsageError(
            told,
            cause="with the answers that it serves, that code already does what is expected",
            next_command=f"reenact show {run}",
        )
    bad, mended = opened.store.open(opened.recorded), opened.store.open(opened.fixed or opened.recorded)
    more: tuple[str, ...] = () if golden.judged else expecting(bad, mended)
    instead: dict[str, str | None] = {"fixed": None}
    whose = f"fork {tail(opened.fixed.id)}" if opened.fixed else "the fork"
    cause = (
        f"{whose} differs by {', '.join(plan.changes)}; any code would be given that, so it cannot catch a regression"
    )
    if plan.answered or plan.rewrites:
        cause += (
            ". Without --fixed it answers as the incident did, and asks what the mended code asks in addition with "
            f"--on-miss live-read; golden run {golden.name} --live model asks models each time"
        )
        instead["on_miss"] = "live-read"
    return UsageError(told, cause=cause, next_command=adding(*more, **instead))


def not_held(golden: Golden, run: Run, lost: Sequence[JudgedExpectation]) -> UsageError:
    """The error for an expectation that holds on the recorded run but not on its replay: no code can keep it true."""
    return UsageError(
        f"golden {golden.name} is not added: --holds is true of the recorded run, not of its replay: {lost[0].seen}",
        cause="it depends on something that no replay repeats, such as how long the run took",
        next_command=f"reenact show {tail(run.id)}",
    )


def not_re_enacted(golden: Golden, run: Run, now: Outcome) -> UnreplayableRun:
    """The error for a golden that today's code does not re-enact: no code has tried the golden."""
    told = now.message.replace(f"@golden/{golden.name} ", f"{tail(run.id)} ")  # the golden does not exist yet
    cause, again = (
        "the code, or its requests, have changed since the run was recorded",
        f"reenact replay {tail(run.id)}",
    )
    if now.status == "stale" and not now.stale_at:  # no call lacks an answer, but an answer cannot be given again
        given = [line.removeprefix(_ADVICE[0]) for line in told.splitlines() if line.startswith(_ADVICE[0])]
        cause, again = given[-1] if given else "the run lacks what a replay needs", f"reenact kit {tail(run.id)}"
    return UnreplayableRun(
        f"golden {golden.name} is not added: today's code does not re-enact the incident\n{_without_advice(told)}",
        cause=cause,
        next_command=again,
    )


def not_the_same(golden: Golden, run: Recording, now: Outcome, adding: Adding) -> UnreplayableRun:
    """The error for a golden that must stay the same and does not today: it could pass only by chance."""
    again = f"reenact replay {tail(run.run.id)}"
    shown = _without_advice((now.differences or (now.message,))[0])
    cause = "the code has changed since the run was recorded, or depends on something that no replay repeats"
    if run.run.interrupted_at is not None:
        cause = "its process was ended from outside: it has no recorded end, so it can only be judged by expectations"
        again = adding(*expecting(run))
    return UnreplayableRun(
        f"golden {golden.name} is not added: nothing is expected of it, so it must stay the same; it does not\n{shown}",
        cause=cause,
        next_command=again,
    )


def _without_advice(text: str) -> str:
    """The message of an error, without its cause and command."""
    return "\n".join(line for line in text.splitlines() if not line.startswith(_ADVICE))
