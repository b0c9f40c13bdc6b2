"""Reviewing a golden: its differences are shown and accepted; then the golden answers from today's run, and the
incident stays beside it.

No difference is accepted if an expectation fails on today's run. The golden answers from that run only after today's
code has passed on it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from reenact.abc.sources import CLOCK
from reenact.abc.store import Recording
from reenact.errors import GoldenMismatch
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.recording.git import Git
from reenact.replaying.replay_opening import known_values
from reenact.seams.boot.folders import Folder
from reenact.store.bundles import PackedRun
from reenact.testing.expectations.strength import strength
from reenact.testing.goldens.acceptance import Reasons, concluded, decided, left_open
from reenact.testing.goldens.golden_differences import Blame, GoldenDifference, differing, each_of, ended_by
from reenact.testing.goldens.golden_dir import GoldenDir
from reenact.testing.goldens.golden_execution import RunOptions, judged_on, on_run, re_enacted, today_on
from reenact.testing.goldens.golden_of_import import require_recorded
from reenact.testing.goldens.golden_outcome import Outcome
from reenact.testing.goldens.golden_trace import Golden
from reenact.testing.goldens.golden_writer import cleaned_today, require_unchanged, stamp, with_golden, with_runs
from reenact.testing.goldens.judges import judgement
from reenact.testing.goldens.opened_golden import OpenGolden, open_golden
from reenact.testing.goldens.seeds import any_seed
from reenact.testing.goldens.todays_run import comparable
from reenact.timetravel.bundling.packing import PackResult

_WHOLE = RunOptions(evidence=True)
"""Today's run may be kept, so it gathers evidence of its surroundings."""


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """The findings of a review of one golden.

    Attributes:
        opened: The golden.
        outcome: The outcome with today's code; if it is not ``passed``, it says why nothing can be accepted.
        differences: The differences of today's run, in the order of the golden.
        today: Today's run; None where it did not reach its end, or where an import answered it.
        findings: The removed credentials, and possible personal data, in today's run; None without one.
        revision: The revision of today's code; empty where git knows none.
    """

    opened: OpenGolden
    outcome: Outcome
    differences: tuple[GoldenDifference, ...] = ()
    today: PackedRun | None = None
    findings: PackResult | None = None
    revision: str = ""

    @property
    def left(self) -> tuple[GoldenDifference, ...]:
        """The differences that are not accepted yet."""
        return left_open(self.opened.golden, self.differences)


@dataclass(frozen=True, slots=True)
class SettledGolden:
    """The result of decisions on a golden.

    Attributes:
        outcome: The outcome of the review: ``passed`` where nothing is open.
        left: The open differences.
        accepted: The number of differences that were accepted now.
        replaced: Whether the golden answers from today's run from now on.
    """

    outcome: Outcome
    left: tuple[GoldenDifference, ...] = ()
    accepted: int = 0
    replaced: bool = False

    @property
    def line(self) -> str:
        """The golden's result in one line."""
        if self.replaced:
            return f"{self.outcome.name}  reviewed  it answers from today's run from now on"
        if self.outcome.status == "passed":
            return f"{self.outcome.name}  nothing to review"
        return f"{self.outcome.name}  {self.outcome.status}"


def look(golden_dir: GoldenDir, name: str) -> ReviewResult:
    """Run today's code on a golden, and find the differences. Nothing is written.

    Args:
        golden_dir: The folder of the goldens.
        name: The name of the golden.

    Raises:
        ReenactError: The golden cannot be read, or started.
    """
    started_us = CLOCK.mono_us()
    opened = open_golden(golden_dir.path(name))
    require_recorded(opened.golden, "--mode review")
    with ExitStack() as stack:
        found = _looked(stack, golden_dir, opened)
    return replace(found, outcome=replace(found.outcome, name=name, duration_us=CLOCK.mono_us() - started_us))


def _looked(stack: ExitStack, golden_dir: GoldenDir, opened: OpenGolden) -> ReviewResult:
    same = None
    if not opened.golden.judged:
        same = re_enacted(golden_dir, opened, RunOptions()).outcome
        if same.status in ("passed", "broken", "refused"):
            return ReviewResult(opened, same)
        ran = today_on(stack, golden_dir, opened, opened.answering, _WHOLE)
    else:
        ran = judged_on(stack, golden_dir, opened, _WHOLE)
    answered = ran.run is not None and ran.run.id == opened.answering.id
    if ran.outcome.status not in ("passed", "failed") or ran.today is None or not answered:
        return ReviewResult(opened, ran.outcome)
    there = opened.store.open(opened.answering)
    run = ran.today.run
    cleaned = cleaned_today(run.home, run)
    packed = PackedRun("fixed", run, cleaned.records)
    today = comparable(packed, there.run, str(golden_dir.root))
    found = differing(there, today, _blame(golden_dir, opened, there, ran.outcome), known_values(there.run, os.environ))
    if same is not None and not found:
        found = [ended_by(same.differences or (same.message,))]
    removed = tuple((run.id, place) for place in cleaned.removed)
    personal = tuple((run.id, sort, places) for sort, places in cleaned.personal.items())
    findings = PackResult(opened.path, "", (run.id,), removed, personal)
    return ReviewResult(
        opened, ran.outcome, tuple(found), packed, findings, revision_of(golden_dir.root) if found else ""
    )


def _blame(golden_dir: GoldenDir, opened: OpenGolden, there: Recording, now: Outcome) -> Blame:
    """The first bad events of the expectations that failed on the run whose answers are served, and hold today."""
    verdicts = judgement(opened.expectations, there, opened.court(), golden_dir.project).verdicts
    mended = [was for was, judged in zip(verdicts, now.judged, strict=True) if not was.holds and judged.holds]
    events = frozenset(each.event for each in mended if each.event is not None)
    return Blame(events, any(each.event is None for each in mended))


def revision_of(folder: Path) -> str:
    """The revision of the code in a folder, with ``+changes`` where tracked files differ from it; empty where git
    knows none."""
    facts = Git(str(folder)).facts()
    return f"{facts.get('commit') or ''}{'+changes' if facts.get('dirty') else ''}"


# --- accepting -------------------------------------------------------------------------------------------------------


def settle(golden_dir: GoldenDir, looked: ReviewResult, reasons: Reasons) -> SettledGolden:
    """Accept the differences that options accept; see ``accept``.

    Raises:
        UsageError: There is no difference at a named place.
    """
    places = [each.place for each in looked.left]
    return accept(golden_dir, looked, reasons.of(looked.opened.golden.name, looked.differences, places))


def accept(golden_dir: GoldenDir, looked: ReviewResult, reasons: Mapping[str, str]) -> SettledGolden:
    """Accept differences of a golden.

    While a difference is left open, the golden stays unchanged except for the decisions, which it keeps. When the last
    one is accepted, the golden begins to answer from today's run. The incident stays.

    Args:
        golden_dir: The folder of the goldens.
        looked: The findings.
        reasons: The reasons, by the place of each difference that is accepted now.

    Raises:
        GoldenMismatch: An expectation does not hold on today's run, or does not fail on the incident. Nothing was
            written.
        UsageError: The golden has changed meanwhile.
        ReenactError: The golden cannot be written.
    """
    opened, outcome, found = looked.opened, looked.outcome, looked.differences
    if outcome.status != "passed":
        if reasons:
            raise _refused(opened.golden.name, outcome.message)
        return SettledGolden(outcome, looked.left)
    if not found:
        return SettledGolden(outcome)
    require_unchanged(opened.path, opened.store.bundle.digest)
    at = stamp(CLOCK)
    golden = decided(opened.golden, found, reasons, at, looked.revision)
    left = left_open(golden, found)
    if left:
        if reasons:
            with_golden(opened.path, golden)
        message = f"{len(left)} of {len(found)} differences are not accepted"
        return SettledGolden(replace(outcome, status="failed", message=message), left, len(reasons))
    assert looked.today is not None
    golden = concluded(golden, at, looked.revision, opened.answering.id, looked.today.run.id)
    _replace(golden_dir, opened, golden, looked.today)
    return SettledGolden(outcome, (), len(reasons), replaced=True)


def _replace(golden_dir: GoldenDir, opened: OpenGolden, golden: Golden, today: PackedRun) -> None:
    """Let a golden answer from today's run, once today's code has passed with the answers of today's run."""
    runs = _with(opened.store.bundle.runs, today)
    with Folder() as scratch:
        aside = GoldenDir(golden_dir.root, Path(scratch).absolute())
        draft = aside.path(golden.name)
        draft.parent.mkdir(parents=True, exist_ok=True)
        with_runs(draft, runs, golden)
        drafted = open_golden(draft)
        _require_strength(drafted)
        now = on_run(aside, drafted, drafted.answering)
        if now.status != "passed":
            raise _refused(golden.name, f"today's code does not pass on today's run: {now.message}")
        golden = replace(golden, any_seed=any_seed(aside, drafted, drafted.answering, now), proven=None, unproven="")
    require_unchanged(opened.path, opened.store.bundle.digest)
    with_runs(opened.path, runs, golden)


def _with(runs: Iterable[PackedRun], today: PackedRun) -> list[PackedRun]:
    """The runs of a golden, with today's in place of the run that it answered from; if that is the incident, it
    stays."""
    kept = list(runs)
    gone = {each.run.id for each in kept if each.role == "fixed"}
    kept = [each for each in kept if each.role != "fixed" and not (each.role == "inner" and each.run.parent in gone)]
    return [kept[0], today, *kept[1:]]


def _require_strength(drafted: OpenGolden) -> None:
    """Require that every expectation still tells the incident apart from the run that is accepted."""
    if drafted.expectations:
        bad, good = drafted.store.open(drafted.recorded), drafted.store.open(drafted.answering)
        reasons = strength(drafted.must_fail, bad, good, holds=drafted.must_hold, court=drafted.court()).reasons
        if reasons:
            raise _refused(drafted.golden.name, "; ".join(reasons))


def _refused(name: str, why: str) -> GoldenMismatch:
    return GoldenMismatch(
        f"today's run is not accepted for golden {name}: {why}",
        cause="on the incident --expect must fail and --holds must hold; on the accepted run both must hold",
        next_command=f"reenact golden run {name}",
    )


def summary(found: Sequence[GoldenDifference]) -> str:
    """The number of differences in each category."""
    return ", ".join(f"{count} {name}" for name, count in each_of(found)) or "none"
