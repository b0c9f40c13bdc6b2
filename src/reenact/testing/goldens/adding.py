"""Adding a golden: a run becomes a test that fails today for the reason of the incident, or it is not added."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from reenact.abc.sources import CLOCK
from reenact.abc.store import Store
from reenact.errors import ReenactError, UnreplayableRun, UsageError
from reenact.facts.ids import tail
from reenact.facts.run import Run
from reenact.facts.stopped import was_stopped
from reenact.store.nesting import holder_of
from reenact.testing.expectations.expectation import Expectation
from reenact.testing.expectations.strength import strength
from reenact.testing.goldens.court import GoldenCourt
from reenact.testing.goldens.golden import Golden
from reenact.testing.goldens.history import Change
from reenact.testing.goldens.incident import incident_code
from reenact.testing.goldens.opened import OpenGolden, open_golden
from reenact.testing.goldens.outcome import Outcome
from reenact.testing.goldens.running import QUIET, RAISED, Manner, served
from reenact.testing.goldens.seeds import OTHER_SEEDS, any_seed
from reenact.testing.goldens.shelf import Shelf
from reenact.testing.goldens.writing import stamp, with_golden
from reenact.timetravel.bundling.packing import Packed, pack
from reenact.timetravel.forks.plan import Plan

Say = Callable[[str], object]
ADVICE: Final = ("  likely cause: ", "  next: ")
"""How lines begin that an error adds to what happened."""


@dataclass(frozen=True, slots=True)
class Added:
    """What was added.

    Attributes:
        path: The bundle.
        golden: What it says of itself.
        packed: What was removed on the way, and what looks like personal data.
        now: What came of running it on today's code.
        size: Of the file, in bytes.
        opinions: How many opinions of models that judge it keeps: each was asked for now.
    """

    path: Path
    golden: Golden
    packed: Packed
    now: Outcome
    size: int
    opinions: int = 0


def add_golden(
    store: Store,
    run: Run,
    golden: Golden,
    expectations: Sequence[Expectation],
    shelf: Shelf,
    *,
    fixed: Run | None = None,
    replace_it: bool = False,
    say: Say = lambda line: None,
) -> Added:
    """Add a golden.

    Args:
        store: Where its runs are.
        run: The run that went wrong; without expectations, one that must stay the same.
        golden: Its name, what is said of it, and its scripted answers.
        expectations: What is expected: each fails on ``run`` and holds on ``fixed``.
        shelf: Where it goes.
        fixed: The fork that fixed it.
        replace_it: Whether a golden of that name may be replaced.
        say: Told what is being done, a line each.

    Raises:
        UsageError: An expectation is too weak to be a test, or the code of the incident passes; there is a golden of
            that name.
        UnreplayableRun: Today's code cannot be run on it, or does not come as far as the incident; nothing is expected
            of it, and it does not stay the same; a model that judges could not be asked.
    """
    path = shelf.path(golden.name)
    if path.exists() and not replace_it:
        raise UsageError(
            f"there is a golden {golden.name} already",
            cause=f"{shelf.shown(path)} would be replaced, and its history lost",
            next_command=f"reenact golden rm {golden.name}",
        )
    run = holder_of(store, run)
    _require_whole(run)
    fixed = holder_of(store, fixed) if fixed is not None else None
    court = GoldenCourt(golden.name, asks="missing")
    _require_strength(store, run, fixed, expectations, court)
    golden = replace(golden, expect=tuple(each.to_json() for each in expectations))
    golden = golden.noted(Change(stamp(CLOCK), "added", reason=golden.about))
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = f"{golden.name}.draft-{tail(run.id)}"
    drawn = shelf.path(draft)
    try:
        runs = [("recorded", run)] + ([("fixed", fixed)] if fixed is not None else [])
        packed = pack(store, runs, drawn, golden.to_json())
        say("replaying it in a clean process, on today's code")
        now = _now(shelf, draft, golden, court)
        golden = _proven(shelf, open_golden(drawn), golden, now, court, say)
        court.asks = "never"
        say(f"trying it under {len(OTHER_SEEDS)} other hash seeds")
        drafted = open_golden(drawn)
        golden = replace(golden, any_seed=any_seed(shelf, drafted, now, court))
        opinions = court.asked()
        with_golden(drawn, golden, opinions=opinions)
        drawn.replace(path)
    finally:
        drawn.unlink(missing_ok=True)
    size = path.stat().st_size
    now = replace(now, name=golden.name, file=shelf.shown(path))
    return Added(path, golden, replace(packed, path=path), now, size, len(opinions))


def _require_whole(run: Run) -> None:
    """A fork that was stopped has no end that today's code could come to."""
    if was_stopped(run):
        raise UsageError(
            f"run {tail(run.id)} is a fork that was stopped: it has no end",
            cause="it asked what it might not ask; what the code would have done with the answer nobody knows",
            next_command=f"reenact fork {tail(run.parent or run.id)}:{run.fork_event or 0} --live all --dry-run",
        )


def _require_strength(
    store: Store, run: Run, fixed: Run | None, expectations: Sequence[Expectation], court: GoldenCourt
) -> None:
    """Every expectation tells the bad run from a good one. A model that judges is asked about both answers."""
    if not expectations:
        return
    try:
        found = strength(expectations, store.open(run), store.open(fixed) if fixed is not None else None, court=court)
    except UnreplayableRun as error:
        raise error.__cause__ if isinstance(error.__cause__, UsageError) else error from None
    if found.reasons:
        raise UsageError(
            "too weak to be a test: " + "; ".join(found.reasons),
            cause=f"an expectation must fail on run {tail(run.id)}"
            + (f" and hold on {tail(fixed.id)}" if fixed is not None else ""),
            next_command=f"reenact show {tail(run.id)}",
        )


def _now(shelf: Shelf, name: str, golden: Golden, court: GoldenCourt) -> Outcome:
    """What today's code does on what the golden serves; with one that it cannot even start, there is no test."""
    opened = open_golden(shelf.path(name))
    with ExitStack() as stack:
        now = served(stack, shelf, opened, Manner(), court).outcome
    if now.status == "passed" or (now.status == "failed" and _must_fail(opened)):
        return now
    if now.status == "failed":
        raise _not_the_same(golden, opened.store.run(opened.recorded.id), now)
    told = now.message.replace(f"@golden/{golden.name} ", f"{tail(opened.recorded.id)} ")  # there is no such golden yet
    raise UnreplayableRun(
        f"golden {golden.name} is not added: today's code does not re-enact the incident\n{told}",
        cause="the code, or what it asks, has changed since the run was recorded, or the run lacks something",
        next_command=f"reenact replay {tail(opened.recorded.id)}",
    )


def _must_fail(opened: OpenGolden) -> bool:
    """Whether a golden is a test of a mistake: the code that made it must fail."""
    return opened.golden.judged or opened.fixed is not None


def _proven(shelf: Shelf, opened: OpenGolden, golden: Golden, now: Outcome, court: GoldenCourt, say: Say) -> Golden:
    """The golden with what is known of whether it fails on the code of its incident.

    Raises:
        UsageError: It does not: that code passes.
    """
    if not _must_fail(opened):
        return golden
    code = incident_code(opened.store.open(opened.recorded), str(shelf.root))
    if code.missing:
        return replace(golden, proven=False, unproven=code.missing)
    then = now
    if code.rev:
        say(f"trying it on the code of the incident, {code.rev[:12]}")
        try:
            with ExitStack() as stack:
                then = served(stack, shelf, opened, Manner(replace(QUIET, rev=code.rev), rev=code.rev), court).outcome
        except ReenactError as error:
            return replace(golden, proven=False, unproven=f"the code of the incident cannot be run: {error.message}")
    if then.status == "passed":
        raise _no_test(golden, opened)
    strayed = bool(code.rev) and RAISED in then.message  # for want of a file that git does not keep, perhaps
    if then.status != "failed" or strayed or (golden.judged and not then.boundaries):
        why = (then.message or then.status).splitlines()[0]
        return replace(golden, proven=False, unproven=f"the code of the incident is {then.status} on it: {why}")
    return replace(golden, proven=True, unproven="")


def _no_test(golden: Golden, opened: OpenGolden) -> UsageError:
    """A golden that the code of the incident passes tests nothing of the code."""
    run = tail(opened.recorded.id)
    again = ["reenact", "golden", "add", run, "--as", golden.name]
    expected = [str(each.get("text")) for each in golden.expect] or ["EXPR"]  # with none it must stay as it was
    again += [word for each in expected for word in ("--expect", each)]
    plan = Plan.from_json(kept) if opened.fixed and (kept := opened.fixed.environment.get("fork")) else None
    told = f"golden {golden.name} is not added: the code of the incident passes on it"
    if plan is None or plan.rev or not plan.changes:
        return UsageError(
            told,
            cause="with the answers that it serves, that code already does what is expected",
            next_command=f"reenact show {run}",
        )
    live = ""
    whose = f"fork {tail(opened.fixed.id)}" if opened.fixed else "the fork"
    cause = f"{whose} differs by {', '.join(plan.changes)}; the golden gives that to any code, and tests none"
    if plan.answered or plan.rewrites:
        cause += (
            ". Without --fixed it answers as the incident did, and asks what the mended code asks in addition with "
            f"--on-miss live-read; golden run {golden.name} --live model asks models each time"
        )
        live = " --on-miss live-read"
    return UsageError(told, cause=cause, next_command=f"{shlex.join(again)}{live}")


def _not_the_same(golden: Golden, run: Run, now: Outcome) -> UnreplayableRun:
    """A golden that must stay the same and does not today could pass only by chance."""
    told = (now.differences or (now.message,))[0].splitlines()
    shown = "\n".join(line for line in told if not line.startswith(ADVICE))
    cause = "the code has changed since the run was recorded, or depends on what no replay gives it again"
    if run.interrupted_at is not None:
        cause = (
            "its process was killed, and what it had done just then was never written: no code comes to the same end; "
            "with --expect it is judged by what it did"
        )
    return UnreplayableRun(
        f"golden {golden.name} is not added: nothing is expected of it, so it must stay the same; it does not\n{shown}",
        cause=cause,
        next_command=f"reenact replay {tail(run.id)}",
    )


def rm_golden(shelf: Shelf, name: str) -> Path:
    """Remove a golden.

    Raises:
        UsageError: There is none of that name.
    """
    shelf.matching([name])
    path = shelf.path(name)
    path.unlink()
    return path
