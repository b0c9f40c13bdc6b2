"""Running one golden: today's code on its recording, judged by its expectations, or by whether the replay is *same*."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from reenact.abc.sources import CLOCK
from reenact.abc.store import Recording
from reenact.errors import ReenactError, StoreError, UnreplayableRun
from reenact.facts.call import Effect
from reenact.facts.lazy_dataclass import dataclass, field, replace
from reenact.facts.run import Run
from reenact.facts.shell_text import typed
from reenact.replaying.agent_process import NoReport, ProcessStarter, Starter
from reenact.replaying.options import Options
from reenact.replaying.program_start import ProgramGone
from reenact.replaying.relocation import relocated
from reenact.replaying.replay_launch import changed_code, replay_run, sources_folder
from reenact.replaying.replay_report import Report
from reenact.seams.boot.folders import Folder, fleeting
from reenact.seams.boot.parent import run_program
from reenact.testing.expectations.expectation_verdict import Verdict
from reenact.testing.goldens.blind_spots import blind_spot
from reenact.testing.goldens.golden_dir import GoldenDir
from reenact.testing.goldens.golden_in_process import run_here
from reenact.testing.goldens.golden_launch import PLACE, REFUSED, STALE, GoldenRequest, ProcessResult, launch
from reenact.testing.goldens.golden_misses import Misses
from reenact.testing.goldens.golden_of_import import answered_by, require_recorded
from reenact.testing.goldens.golden_outcome import Outcome, Status, judged_of
from reenact.testing.goldens.golden_trace import ONLY_CUT
from reenact.testing.goldens.judges import Asks, GoldenCourt, judgement
from reenact.testing.goldens.opened_golden import OpenGolden, open_golden
from reenact.testing.goldens.result_file import SCHEME, recording_of
from reenact.timetravel.changed_tools import in_words, through, unseen_changes
from reenact.timetravel.forks.fork_report import ForkReport
from reenact.timetravel.forks.plan import Opening, Plan

QUIET = Options(divert_output=True, as_is=True)
"""The agent's output is not shown; a golden tests today's code, whichever code its run had."""

WARM_SEED = "1"
"""The hash seed of warm interpreters: each golden that uses one was tried under this seed when it was added."""

UNTESTED: Final = "the agent's own code made no call: nothing of it was tested"

_BY_CODE: Final[Mapping[int, Status]] = {3: "stale", 4: "broken", 5: "refused"}


@dataclass(frozen=True, slots=True)
class GoldenRun:
    """A golden that was run, while its files are kept.

    Attributes:
        outcome: The outcome.
        run: The run that answered today's code; None where it was not run.
        today: Today's run; the recorded one, if it stayed the same; None without one.
        report: The report of its process.
        stale_call: The call without an answer, as data; empty without one.
        replays: The number of replays.
    """

    outcome: Outcome
    run: Run | None = None
    today: Recording | None = None
    report: ForkReport | Report | None = None
    stale_call: Mapping[str, Any] = field(default_factory=dict)
    replays: int = 1


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options for one golden.

    Attributes:
        options: The start of the agent, and the target of its output.
        misses: The rule for a call without an answer; None: the golden's own rule.
        live: The calls that go live although there is an answer: ``model``, or none.
        hash_seed: A hash seed; empty takes the recorded one.
        rev: Revision whose code runs; empty takes the files as they are.
        here: Whether it may run in the calling process, if that gives the same verdict.
        evidence: Whether today's run also records its packages, sources and revision.
        opens: Opens the golden of a file.
        start_it: Starts the process, unless the golden depends on the hash seed (then ``run_program`` does).
    """

    options: Options = QUIET
    misses: Misses | None = None
    live: Opening = "none"
    hash_seed: str = ""
    rev: str = ""
    here: bool = False
    evidence: bool = False
    opens: Callable[[Path], OpenGolden] = open_golden
    start_it: Starter = run_program

    @property
    def asks(self) -> Asks:
        """When a judging model is asked: again, if the agent's models are asked again."""
        return "never" if self.live == "none" else "again"

    def of(self, opened: OpenGolden) -> RunOptions:
        """The options for this golden: with the starter of its process, and the hash seed that this starter has."""
        if self.start_it is run_program or self.hash_seed or self.rev or not opened.golden.any_seed:
            return replace(self, start_it=run_program)
        return replace(self, hash_seed=WARM_SEED)


def run_golden(
    golden_dir: GoldenDir,
    name: str,
    *,
    misses: Misses | None = None,
    live: Opening = "none",
    rev: str = "",
    start_it: Starter = run_program,
) -> Outcome:
    """Run one golden in a process of its own. Never raises for a fault in the golden: that is its outcome.

    Args:
        golden_dir: The folder of the goldens.
        name: The name of the golden.
        misses: The rule for a call without an answer; by default the golden's own.
        live: The calls that go live although there is an answer: ``model``, or none.
        rev: Revision whose code runs; empty takes the files as they are.
        start_it: See ``RunOptions``.

    Cost: an interpreter and the agent's own imports and CPU.
    """
    run_options = RunOptions(replace(QUIET, rev=rev), misses, live, rev=rev, start_it=start_it)
    with running(golden_dir, name, run_options) as ran:
        return ran.outcome


_AS_IT_IS: Final = RunOptions()


@contextmanager
def running(golden_dir: GoldenDir, name: str, run_options: RunOptions = _AS_IT_IS) -> Iterator[GoldenRun]:
    """Run one golden, and keep today's run for the length of the block. For errors see ``run_golden``."""
    started_us = CLOCK.mono_us()
    path = golden_dir.path(name)
    with ExitStack() as stack:
        try:
            opened = run_options.opens(path)
            run_options = run_options.of(opened)
            ran = served(stack, golden_dir, opened, run_options)
        except ReenactError as error:
            told = _gone(error, golden_dir.shown(path)) if isinstance(error, ProgramGone) else error
            ran = GoldenRun(Outcome(name, golden_dir.shown(path), status_of(error), message=str(told)))
        yield replace(ran, outcome=replace(ran.outcome, name=name, duration_us=CLOCK.mono_us() - started_us))


def _gone(error: ProgramGone, file: str) -> UnreplayableRun:
    """The error for a program that is gone. It proposes no other program: the golden is a file, and its run may be in
    no store."""
    return UnreplayableRun(
        error.message,
        cause="the program was moved or removed since: put it back, or make the golden of a newer run",
        next_command=typed(["reenact", "show", file]),
    )


def served(
    stack: ExitStack,
    golden_dir: GoldenDir,
    opened: OpenGolden,
    run_options: RunOptions,
    court: GoldenCourt | None = None,
) -> GoldenRun:
    """Run a golden on exactly its own answers: by its expectations, or as *same*. ``court``: gives opinions.

    Raises:
        ReplayError: The golden cannot be started here, or has ended without a report.
    """
    if opened.golden.starts:
        return on_import(stack, golden_dir, opened, run_options, court)
    if opened.golden.judged:
        ran = judged_on(stack, golden_dir, opened, run_options, court)
    else:
        ran = re_enacted(golden_dir, opened, run_options)
    if run_options.rev:
        return ran
    today = ran.today or opened.store.open(opened.answering)
    return replace(ran, outcome=with_changes(golden_dir, opened, ran.outcome, today))


def with_changes(golden_dir: GoldenDir, opened: OpenGolden, outcome: Outcome, today: Recording) -> Outcome:
    """Add to an outcome the tools whose code has changed and does not run; an unjudged outcome stays as it is."""
    if outcome.blind_spot or outcome.status not in ("passed", "failed"):
        return outcome
    then = opened.answering
    folder = sources_folder(opened.store, *relocated(then, str(golden_dir.root)))
    changed = unseen_changes(today, opened.store, then, folder)
    if not changed:
        return outcome
    words, tool = f"{in_words(changed)}, and no golden runs it", next(iter(changed))
    called = next(opened.store.open(opened.recorded).events(name=tool, limit=1), None) is not None
    command = through(tool, f"@golden/{opened.golden.name}") if called else ""
    if outcome.status == "failed":
        more = _lines(words, f"  next: {command}" if command else "")
        return replace(outcome, blind_spot=words, message=_lines(outcome.message, more))
    return replace(outcome, blind_spot=f"{words}; `{command}` does" if command else words)


def judged_on(
    stack: ExitStack,
    golden_dir: GoldenDir,
    opened: OpenGolden,
    run_options: RunOptions,
    court: GoldenCourt | None = None,
) -> GoldenRun:
    """Judge a golden's expectations over today's run. The fork that fixed the golden answers this run, if there is one.

    Code that makes calls which only the incident answers is not fixed: then the incident answers it.

    Raises:
        ReplayError: The golden cannot be started here, or has ended without a report.
    """
    found = today_on(stack, golden_dir, opened, opened.answering, run_options, court)
    if opened.fixed is None or found.outcome.status != "stale" or found.outcome.opinions.get("missing"):
        return found
    before = today_on(stack, golden_dir, opened, opened.recorded, replace(run_options, misses=None, live="none"), court)
    if before.outcome.status != "failed":
        return replace(found, replays=2)
    code = f"the code of {run_options.rev}" if run_options.rev else "today's code"
    message = f"{code} re-enacts the incident\n{before.outcome.message}"
    return replace(before, outcome=replace(before.outcome, message=message), replays=2)


def on_import(
    stack: ExitStack,
    golden_dir: GoldenDir,
    opened: OpenGolden,
    run_options: RunOptions,
    court: GoldenCourt | None = None,
) -> GoldenRun:
    """Run today's code with the answers of an imported run, and judge it by the golden's expectations.

    Raises:
        ReplayError: The golden cannot be started here, or has ended without a report.
        UsageError: A model call is to go live.
    """
    golden = opened.golden
    if run_options.live != "none":
        require_recorded(golden, "--live model")
    court = court or opened.court(run_options.asks)
    found = answered_by(stack, opened.path, golden, golden_dir.root, replace(run_options.options, rev=run_options.rev))
    judged = judgement(opened.expectations, found.today, court, golden_dir.project) if golden.judged else None
    status, message = found.concluded(judged)
    outcome = Outcome(
        golden.name,
        golden_dir.shown(opened.path),
        status,
        judged=tuple(map(judged_of, judged.verdicts)) if judged is not None else (),
        message=_lines(message, found.given) if message else "",
        boundaries=found.report.matched + found.report.reordered + found.report.moved,
        differences=tuple(each.text for each in found.report.differences),
        enforcement=found.report.enforcement,
        recorded=opened.recorded.id,
        opinions=judged.opinions if judged is not None else {},
    )
    return GoldenRun(outcome, opened.recorded, found.today, found.report)


def on_run(
    golden_dir: GoldenDir,
    opened: OpenGolden,
    run: Run,
    options: Options = QUIET,
    *,
    hash_seed: str = "",
    court: GoldenCourt | None = None,
) -> Outcome:
    """Run today's code on one run of a golden, and judge it; ``court`` gives the opinions of models.

    Raises:
        ReplayError: The golden cannot be started here, or has ended without a report.
    """
    run_options = RunOptions(options, hash_seed=hash_seed)
    if not opened.golden.judged:
        return re_enacted(golden_dir, opened, run_options).outcome
    with ExitStack() as stack:
        return today_on(stack, golden_dir, opened, run, run_options, court).outcome


def today_on(
    stack: ExitStack,
    golden_dir: GoldenDir,
    opened: OpenGolden,
    run: Run,
    run_options: RunOptions,
    court: GoldenCourt | None = None,
) -> GoldenRun:
    """Run today's code on one run of a golden, and judge the result by the golden's expectations, if there are any. The
    files of the result are kept until the stack is closed. ``court`` gives the opinions of models.

    Raises:
        ReplayError: The golden cannot be started here, or has ended without a report.
    """
    golden = opened.golden
    court = court or opened.court(run_options.asks)
    misses = run_options.misses or ("reads" if golden.on_miss == "live-read" else "stale")
    if (
        run_options.here
        and not run_options.evidence
        and misses == "stale"
        and run_options.live == "none"
        and not run_options.rev
    ):
        found = run_here(opened, run, str(golden_dir.root))
        if found is not None:
            ran = GoldenRun(outcome_of(golden_dir, opened, *found, court), run, found[1], found[0].report)
            if ran.outcome.status == "passed":  # any other outcome must come from a process of its own
                return ran
    plan = Plan(at=0, live=run_options.live, rev=run_options.rev)
    overlays = opened.beside(run)
    more = {"evidence": run_options.evidence, "again": opened.again()}
    asked = GoldenRequest(
        str(opened.path), run, golden, overlays, misses, hash_seed=run_options.hash_seed, plan=plan, more=more
    )

    scratch = stack.enter_context(Folder(within=fleeting()))
    into = f"{SCHEME}{Path(scratch).absolute() / 'today.json'}"
    told = launch(asked, run_options.options, into=into, project=str(golden_dir.root), start_it=run_options.start_it)
    today = recording_of(into, told.run, told.exit_status)
    return GoldenRun(outcome_of(golden_dir, opened, told, today, court), run, today, told.report, told.stale_call)


def outcome_of(
    golden_dir: GoldenDir, opened: OpenGolden, told: ProcessResult, today: Recording, court: GoldenCourt | None = None
) -> Outcome:
    """The outcome of a golden, from the report of its process and from today's run.

    No judge is asked about a run that was stopped before its end. ``court`` gives the opinions of models; by default
    only those that the golden keeps."""
    court = court or opened.court()
    if told.stopped:
        court.asks = "never"
    found = judgement(opened.expectations, today, court, golden_dir.project)
    status, message = concluded(told, found.verdicts, found.stale)
    if status == "failed" and today.run.error and not told.report.raised:
        since = changed_code(str(opened.path), *relocated(opened.recorded, str(golden_dir.root))).partition(";")[0]
        though = f", though {since}" if since else ""
        message = _lines(message, f"it ended as the recorded run did{though}: {today.run.error}")
    blamed = {each.event for each in found.verdicts if not each.holds}
    recorded, named = opened.store.open(opened.recorded), f"@golden/{opened.golden.name}"
    words, command = blind_spot(today, recorded, blamed, named) if status == "failed" else ("", "")
    if words:
        message = _lines(message, words, f"  next: {command}")
    return Outcome(
        opened.golden.name,
        golden_dir.shown(opened.path),
        status,
        judged=tuple(map(judged_of, found.verdicts)),
        message=message,
        boundaries=told.boundaries,
        renamed=told.report.renamed,
        used=told.used,
        enforcement=told.enforcement,
        stale_at=told.stale_at,
        blind_spot=words,
        stale_writes=told.stale_call.get("effect") == Effect.WRITE.value,
        answers=told.report.answers,
        cut=bool(told.cut),
        proves_nothing=ONLY_CUT if opened.golden.unproven == ONLY_CUT else "",
        recorded=opened.recorded.id,
        opinions={} if told.stopped else found.opinions,
    )


def concluded(told: ProcessResult, verdicts: tuple[Verdict, ...], unjudged: str = "") -> tuple[Status, str]:
    """The status of a judged golden, and the reason.

    If the agent was stopped, the stop decides, not the earlier calls, which say nothing about the code.

    Args:
        told: The report of its process.
        verdicts: The verdict of every expectation.
        unjudged: Why a judge's opinion is missing; empty where none is.
    """
    report = told.report
    if told.stale_at or report.exit_code == STALE:  # such as a call that goes live, for which no key is set
        return "stale", report.message
    if report.exit_code == REFUSED:
        return "refused", report.message
    ended = raised_by(report)
    if not told.boundaries:
        return "failed", _lines(ended, UNTESTED, report.message if report.exit_code > 1 else "")
    failed = [str(each) for each in verdicts if not each.holds and not (unjudged and each.holds is None)]
    if unjudged or failed:
        stopped = report.message if report.divergence is not None else ""
        return ("stale" if unjudged else "failed"), _lines(ended, stopped, unjudged, *failed, told.cut)
    if report.exit_code:
        return "failed", _lines(ended, report.message)
    return "passed", ""


def raised_by(report: ForkReport | Report) -> str:
    """The exception that has ended today's code, in words; empty where the code ended in another way, or like the
    run."""
    return f"today's code raised {report.raised}" if report.raised else ""


def _lines(*texts: str) -> str:
    return "\n".join(filter(None, texts))


def re_enacted(golden_dir: GoldenDir, opened: OpenGolden, run_options: RunOptions, run: Run | None = None) -> GoldenRun:
    """Replay a run of a golden, by default the one that gives the answers, and judge whether there is any difference.

    Raises:
        ReplayError: The golden cannot be started here, or has ended without a report.
    """
    run = run or opened.answering
    silent = run_options.options.divert_output
    with Folder(within=fleeting()) as scratch:
        starting = ProcessStarter(run_options.start_it, run_options.hash_seed, silent, Path(scratch) / PLACE)
        report = replay_run(
            str(opened.path), run.id, run_options.options, project=str(golden_dir.root), starting=starting
        )
    status = _BY_CODE.get(report.exit_code, "failed") if report.exit_code else "passed"
    crossed = report.matched + report.reordered + report.moved
    message = "" if status == "passed" else _lines(raised_by(report), report.last_line)
    if status == "passed" and not crossed:
        status, message = "failed", UNTESTED
    outcome = Outcome(
        opened.golden.name,
        golden_dir.shown(opened.path),
        status,
        message=message,
        boundaries=crossed,
        renamed=report.renamed,
        differences=tuple(each.text for each in report.differences),
        enforcement=report.enforcement,
        recorded=opened.recorded.id,
    )
    return GoldenRun(outcome, run, opened.store.open(run) if status == "passed" else None, report)


def status_of(error: ReenactError) -> Status:
    """The status of a golden that could not be run because of an error."""
    if isinstance(error, (StoreError, NoReport)):
        return "broken"
    return _BY_CODE.get(error.exit_code, "failed")
