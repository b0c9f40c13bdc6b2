"""Modes in which goldens are run, and the recording of missing answers: each is asked for once, and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from reenact.abc.sources import CLOCK
from reenact.abc.store import Recording
from reenact.errors import EventNotFound, UsageError
from reenact.facts.call import Failure
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.phrases import counted
from reenact.replaying.options import Options
from reenact.seams.boot.folders import Folder
from reenact.store import open_store
from reenact.testing.expectations.judgement import asks_a_judge
from reenact.testing.goldens.golden_dir import GoldenDir
from reenact.testing.goldens.golden_execution import outcome_of
from reenact.testing.goldens.golden_history import HistoryEntry
from reenact.testing.goldens.golden_launch import GoldenRequest, launch
from reenact.testing.goldens.golden_misses import Misses
from reenact.testing.goldens.golden_of_import import require_recorded
from reenact.testing.goldens.golden_outcome import Outcome
from reenact.testing.goldens.golden_writer import packed_today, stamp, with_golden
from reenact.testing.goldens.opened_golden import OpenGolden, open_golden
from reenact.timetravel.forks.fork_report import ForkReport

FROZEN: Final = "frozen"
"""Only recorded answers."""
MISSING: Final = "missing"
"""Record the answers that are missing; tools stay frozen."""
RERECORD: Final = "rerecord"
"""Record the later recordings again; tools stay frozen."""
REVIEW: Final = "review"
"""Show each difference between a golden and today's run, and accept it with a reason."""
_REFUSAL: Final = 400
"""The least HTTP status of an answer that is not kept."""
MODES: Final = (FROZEN, MISSING, RERECORD, REVIEW)


@dataclass(frozen=True, slots=True)
class RecordedAnswers:
    """The result of recording the missing answers.

    Attributes:
        outcome: The outcome of the golden with them.
        kept: The number of answers that were recorded, and are now kept.
        opinions: The number of judges' opinions that were asked for, and are now kept.
        unproven: Why the golden proves nothing on the recorded code; empty where it does, or where that was not tried.
        unanswered: Whether a model gave no answer that can be kept: then none is kept.
    """

    outcome: Outcome
    kept: int
    opinions: int = 0
    unproven: str = ""
    unanswered: bool = False


def record_missing(golden_dir: GoldenDir, name: str, *, again: bool = False) -> RecordedAnswers:
    """Run a golden, and send the model calls that have no answer yet. Missing answers of tools stay missing. A judge is
    asked about an answer on which it has no opinion yet.

    The answers are kept beside the incident's own recording, which stays as it is; nothing is written where the run
    was stopped before its end.

    Args:
        golden_dir: The folder of the goldens.
        name: The name of the golden.
        again: Drop earlier recordings of missing answers, and record them again.

    Raises:
        UsageError: The golden must stay the same, and has no missing answer.
        ReenactError: The golden cannot be read, started or written.
    """
    started_us = CLOCK.mono_us()
    opened = open_golden(golden_dir.path(name))
    golden = opened.golden
    require_recorded(golden, "--mode rerecord" if again else "--mode missing")
    earlier = () if again else opened.overlays
    # Perhaps only an opinion is missing: then a judge is asked about the frozen run's answer, if that run ends.
    frozen: Misses = "reads" if golden.on_miss == "live-read" else "stale"
    judges = any(asks_a_judge(each.compiled()) for each in opened.expectations)
    ways: tuple[Misses, ...] = (frozen, "models") if judges else ("models",)
    for way in ways:
        recorded, stopped = _recorded(golden_dir, opened, earlier, way, again=again)
        if not stopped:
            break
    outcome = recorded.outcome
    if not golden.judged and outcome.status in ("passed", "failed"):
        outcome = replace(outcome, status="failed", message=_otherwise(name))
    return replace(recorded, outcome=replace(outcome, duration_us=CLOCK.mono_us() - started_us))


def _recorded(
    golden_dir: GoldenDir, opened: OpenGolden, earlier: tuple[str, ...], misses: Misses, *, again: bool
) -> tuple[RecordedAnswers, bool]:
    """Run a golden in one way, and keep the missing answers. The second item says whether it was stopped early."""
    golden = opened.golden
    gone = set(opened.overlays) - set(earlier)
    beside = tuple(each for each in opened.beside(opened.answering) if each not in gone)
    with Folder() as scratch:
        into = f"sqlite:///{Path(scratch).absolute() / 'today.db'}"
        asked = GoldenRequest(str(opened.path), opened.answering, golden, beside, misses=misses)
        told = launch(asked, Options(divert_output=True), into=into, project=str(golden_dir.root))
        with open_store(into) as store:
            court = opened.court("again" if again else "missing")
            outcome = outcome_of(golden_dir, opened, told, store.open(told.run), court)
            if outcome.status not in ("passed", "failed"):
                if told.report.refused:
                    outcome = replace(outcome, message=_not_kept(golden.name, outcome.message))
                return RecordedAnswers(outcome, 0), told.stopped
            unanswered = _unanswered(told.report, store.open(told.run))
            if unanswered:
                outcome = replace(outcome, status="failed", message=_not_kept(golden.name, unanswered))
                return RecordedAnswers(outcome, 0, unanswered=True), False
            opinions, overlays = court.asked(), [each for each in opened.store.bundle.runs if each.run.id in earlier]
            kept = int(told.used.get("live", 0)) if misses == "models" else 0
            if not (kept or golden.judged):
                raise _nothing_missing(golden.name)
            if kept:
                overlays.append(packed_today(store, store.run(told.run), "overlay"))
    if kept or opinions or again:
        what = {"answer": kept, "opinion": len(opinions)}
        reason = " and ".join(counted(count, each) for each, count in what.items() if count) or "nothing is missing"
        how = "rerecorded" if again else "recorded"
        changed = golden.noted(HistoryEntry(stamp(CLOCK), how, reason=reason))
        with_golden(opened.path, changed, overlays=overlays, opinions=opinions)
    return RecordedAnswers(outcome, kept, len(opinions), golden.unproven), False


def _unanswered(report: ForkReport, today: Recording) -> str:
    """The live call that has no answer to keep: it was not sent, got no answer, or got a refusal, and no later call of
    that name did better. Empty where all have one."""
    if report.refused:
        return report.message or report.refused[0]
    lacking: dict[str, str] = {}
    for answer in report.answers:
        if answer["how"] == "live":
            name = str(answer["name"])
            lacking[name] = _lack(today, int(str(answer["event"])))
    return next((f"{name} {what}" for name, what in lacking.items() if what), "")


def _lack(today: Recording, event: int) -> str:
    """The fault in the answer of a live call; empty where it is good."""
    try:
        outcome = today.event(event).outcome
    except EventNotFound:
        return "was not sent"
    if isinstance(outcome, Failure):
        return f"was not answered: {outcome.error.type}: {outcome.error.text}"
    status = outcome.head.get("status") if outcome is not None else None
    return f"was answered with status {status}" if isinstance(status, int) and status >= _REFUSAL else ""


def _not_kept(name: str, what: str) -> str:
    """The message where nothing was kept; a refusal has its own reason and remedy."""
    first, line, rest = what.partition("\n")
    if "\n  next: " in what:
        return f"{first}; nothing was kept{line}{rest}"
    return (
        f"{what}; nothing was kept\n"
        "  likely cause: the provider is not there, or takes neither this key nor this request\n"
        f"  next: reenact golden run {name} --mode missing"
    )


def _nothing_missing(name: str) -> UsageError:
    return UsageError(
        f"golden {name} must stay the same: nothing is missing in it",
        cause="today's code makes no new call; a review shows its other differences",
        next_command=f"reenact golden run {name} --mode review",
    )


def _otherwise(name: str) -> str:
    return (
        "it must stay the same, and today's code asks something else\n"
        "  likely cause: the code has changed on purpose: its answers are there now, and wait to be accepted\n"
        f"  next: reenact golden run {name} --mode review"
    )
