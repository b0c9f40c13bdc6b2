"""Running one golden: today's code on its recording, judged by its expectations, or as *same* as a replay can be."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from reenact.abc.sources import CLOCK
from reenact.abc.store import Recording
from reenact.errors import ReenactError, StoreError
from reenact.facts.run import Run
from reenact.replaying.launch import replay_run
from reenact.replaying.options import Options
from reenact.store import open_store
from reenact.testing.expectations.verdict import Verdict
from reenact.testing.goldens.launch import Asked, Told, launch
from reenact.testing.goldens.opened import OpenGolden, open_golden
from reenact.testing.goldens.outcome import Judged, Outcome, Status
from reenact.testing.goldens.session import Misses
from reenact.testing.goldens.shelf import Shelf
from reenact.timetravel.forks.plan import Opening

QUIET = Options(divert_output=True)
"""What the agent prints is not shown."""


def run_golden(
    shelf: Shelf, name: str, *, misses: Misses | None = None, live: Opening = "none", show_output: bool = False
) -> Outcome:
    """Run one golden in a process of its own. Never raises for what is wrong with the golden: that is its outcome.

    Args:
        shelf: Where it lies.
        name: Its name.
        misses: What becomes of a call that nobody has an answer for; by default what the golden says.
        live: What is asked anew although there is an answer: ``model``, or nothing.
        show_output: Whether what the agent prints is shown.

    Cost: an interpreter and the agent's own imports and CPU.
    """
    started_us = CLOCK.mono_us()
    path = shelf.path(name)
    options = Options(divert_output=not show_output)
    try:
        opened = open_golden(path)
        outcome = (
            _judged(shelf, opened, options, misses, live) if opened.golden.judged else _same(shelf, opened, options)
        )
    except ReenactError as error:
        outcome = Outcome(name, shelf.shown(path), _status_of(error), message=str(error))
    return replace(outcome, name=name, duration_us=CLOCK.mono_us() - started_us)


def _judged(shelf: Shelf, opened: OpenGolden, options: Options, misses: Misses | None, live: Opening) -> Outcome:
    """Its expectations over what today's code does: on the log of the fork that fixed it, where there is one.

    Code that asks what only the incident has answers for has not been fixed: it is then judged on that."""
    found = on_run(shelf, opened, opened.answering, options, misses=misses, live=live)
    if opened.fixed is None or found.status != "stale":
        return found
    before = on_run(shelf, opened, opened.recorded, options)
    if before.status != "failed":
        return found
    return replace(before, message=f"today's code re-enacts the incident\n{before.message}")


def on_run(
    shelf: Shelf,
    opened: OpenGolden,
    run: Run,
    options: Options = QUIET,
    *,
    misses: Misses | None = None,
    live: Opening = "none",
    hash_seed: str = "",
) -> Outcome:
    """Run today's code on one run of a golden, and judge it.

    Raises:
        ReplayError: It cannot be started here, or has ended without a report.
    """
    golden = opened.golden
    if not golden.judged:
        return _same(shelf, opened, options)
    with tempfile.TemporaryDirectory(prefix="reenact-") as scratch:
        into = f"sqlite:///{Path(scratch).absolute() / 'today.db'}"
        misses = misses or ("reads" if golden.on_miss == "live-read" else "stale")
        asked = Asked(str(opened.path), run, golden, opened.overlays, misses, live, hash_seed)
        told = launch(asked, options, into=into, project=str(shelf.root))
        with open_store(into) as store:
            return outcome_of(shelf, opened, told, store.open(told.run))


def outcome_of(shelf: Shelf, opened: OpenGolden, told: Told, today: Recording) -> Outcome:
    """What a golden came to, from what its process told and from today's run."""
    verdicts = opened.judge(today)
    status, message = concluded(told, verdicts)
    return Outcome(
        opened.golden.name,
        shelf.shown(opened.path),
        status,
        judged=tuple(map(judged_of, verdicts)),
        message=message,
        boundaries=told.boundaries,
        used=told.used,
        enforcement=told.enforcement,
        stale_at=told.stale_at,
        answers=told.report.answers,
        recorded=opened.recorded.id,
    )


def concluded(told: Told, verdicts: tuple[Verdict, ...]) -> tuple[Status, str]:
    """The status of a judged golden, and why.

    What stopped the agent outranks what it had done by then: a call without an answer says nothing of the code."""
    report = told.report
    if told.stale_at:
        return "stale", report.message
    if report.exit_code == 5:
        return "refused", report.message
    if not told.boundaries:
        return "failed", "the agent's own code has crossed no boundary: nothing of it was tested"
    failed = [str(verdict) for verdict in verdicts if not verdict.holds]
    if failed:
        return "failed", "\n".join(failed)
    if report.exit_code:
        return ("stale" if report.exit_code == 3 else "failed"), report.message
    return "passed", ""


def judged_of(verdict: Verdict) -> Judged:
    """A verdict as it is reported."""
    return Judged(verdict.text, bool(verdict.holds), "" if verdict.holds else verdict.seen, verdict.event)


def _same(shelf: Shelf, opened: OpenGolden, options: Options) -> Outcome:
    """Whether it re-enacts without a difference."""
    report = replay_run(str(opened.path), opened.recorded.id, options)
    status: Status = "passed"
    if report.exit_code:
        status = {3: "stale", 4: "broken", 5: "refused"}.get(report.exit_code, "failed")  # type: ignore[assignment]
    crossed = report.matched + report.reordered + report.moved
    message = "" if status == "passed" else report.last_line
    if status == "passed" and not crossed:
        status, message = "failed", "the agent's own code has crossed no boundary: nothing of it was tested"
    return Outcome(
        opened.golden.name,
        shelf.shown(opened.path),
        status,
        message=message,
        boundaries=crossed,
        differences=tuple(each.text for each in report.differences),
        enforcement=report.enforcement,
        recorded=opened.recorded.id,
    )


def _status_of(error: ReenactError) -> Status:
    if isinstance(error, StoreError):
        return "broken"
    return {3: "stale", 5: "refused"}.get(error.exit_code, "failed")  # type: ignore[return-value]
