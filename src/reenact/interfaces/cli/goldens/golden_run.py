"""``reenact golden run``: runs today's code on the goldens."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from reenact.abc.sources import CLOCK
from reenact.errors import UsageError
from reenact.facts.marks import Mark, find_mark
from reenact.facts.phrases import counted
from reenact.interfaces.cli.goldens.golden_review import review_all
from reenact.interfaces.cli.progress import Progress
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.testing.goldens.acceptance import Reasons
from reenact.testing.goldens.golden_batch import How, run_goldens
from reenact.testing.goldens.golden_dir import GoldenDir, open_golden_dir
from reenact.testing.goldens.golden_outcome import Outcome, exit_code
from reenact.testing.goldens.modes import FROZEN, MODES, REVIEW, RecordedAnswers, record_missing
from reenact.testing.goldens.reports import write_reports
from reenact.testing.goldens.verified_passes import keep_verified, revision_of
from reenact.timetravel.preview import safe


@click.command(
    cls=Command,
    name="run",
    short_help="run today's code on them",
    example="""
    reenact golden run
    reenact golden run 'checkout/*' --report out
    reenact golden run --rev deployed
    reenact golden run --mark "v2 deployed"
    reenact golden run refund-loop --mode missing
    reenact golden run refund-loop --mode review --accept-all "one search is enough"
    reenact golden run refund-loop --live model --repeat 10 --at-least 9
    """,
)
@click.argument("names", nargs=-1)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default=FROZEN,
    help="What may be recorded. Default: frozen, nothing. review shows each difference, and asks.",
)
@click.option(
    "--accept",
    metavar="EVENT=REASON",
    multiple=True,
    help="With --mode review: accept this difference. Of several goldens NAME:EVENT=REASON.",
)
@click.option("--accept-all", metavar="REASON", help="With --mode review: accept every other difference too.")
@click.option("--live", type=click.Choice(("model",)), help="Ask the models again; tools stay frozen.")
@click.option("--rev", metavar="GITREV", default="", help="Run the code of another revision, in a git worktree.")
@click.option(
    "--mark", metavar="MARK", default="", help="Run the revision of this mark; keep which goldens pass on it."
)
@click.option("--repeat", type=click.IntRange(1, 10_000), default=1, metavar="N", help="Run each N times.")
@click.option(
    "--at-least",
    type=click.IntRange(1, 10_000),
    metavar="M",
    help="Pass if at least M of the N runs pass. Default: all.",
)
@click.option("-j", "--workers", type=click.IntRange(1, 256), metavar="N", help="Run N in parallel.")
@click.option("--report", metavar="DIR", help="Write a Markdown summary, JUnit XML, and a page for each failure.")
@click.pass_context
def command(ctx: click.Context, /, names: tuple[str, ...], mode: str, report: str | None, **how: Any) -> None:
    """Run today's code on the goldens NAMES (which may be patterns), by default on all of them.

    Each golden is answered from its own recording, without a network, and judged by its expectations. Exit codes: 0 all
    pass, 1 one fails, 2 there is none, 3 one is stale (it needs an answer, or a judge's opinion, that is not recorded),
    4 one cannot be read, 5 one touched the world; the highest counts. --mode missing records each missing answer once;
    tools stay frozen. --live model also asks the judges about each sample.

    Each golden runs in a process of its own.

    --mark runs the code of a mark's revision (reenact mark TEXT --rev GITREV). The history of each golden that passes
    notes that deploy, and golden ls shows it until the golden changes.

    --mode review shows each difference, old and new side by side: create (a new call), trim (a call that is no longer
    made), update (a call with another request), fix (a call that had gone wrong). At a terminal it asks about each;
    EVENT is the number it shows. When all are accepted, the golden takes its answers from today's run, and its history
    keeps the reasons. Until then it stays as it is, and no accepted difference is asked again.
    """
    shell = current(ctx)
    golden_dir = open_golden_dir()
    found = golden_dir.matching(names)
    if not found:
        raise UsageError(
            f"there is no golden in {golden_dir.shown(golden_dir.folder)}",
            cause="none has been added, or this is another project's folder",
            next_command="reenact golden add @failed --as first --expect \"status == 'ok'\"",
        )
    _require_frozen(mode, report, how)
    reasons = _reasons(mode, how.pop("accept"), how.pop("accept_all"), found)
    if mode == REVIEW:
        ctx.exit(review_all(shell, golden_dir, found, reasons))
    if mode != FROZEN:
        ctx.exit(_record(shell, golden_dir, found, mode))
    mark = _mark(shell, how.pop("mark"), how)
    asked = _how(**how)
    progress = Progress(len(found), "not passed")
    outcomes = run_goldens(golden_dir, found, asked, done=lambda outcome: progress.one(bad=outcome.exit_code != 0))
    progress.end()
    if report is not None:
        for path in write_reports(Path(report), outcomes):
            shell.talk(f"reenact: wrote {path}")
    code = exit_code(outcomes)
    _tell(shell, outcomes)
    if mark is not None:
        written = keep_verified(golden_dir, outcomes, mark, CLOCK)
        shell.talk(f"reenact: verified against {safe(mark.name)}: {counted(len(written), 'golden')} written")
    ctx.exit(code)


def _require_frozen(mode: str, report: str | None, how: Mapping[str, Any]) -> None:
    """Refuse options that only the mode ``frozen`` has, instead of ignoring them in other modes.

    Raises:
        UsageError: Such an option was given.
    """
    given = {
        "--report": report,
        "--live": how["live"],
        "--rev": how["rev"],
        "--mark": how["mark"],
        "--repeat": how["repeat"] > 1,
    }
    asked = next((name for name, value in given.items() if value), "")
    if asked and mode != FROZEN:
        raise UsageError(
            f"{asked} does not go with --mode {mode}",
            cause=f"mode {mode} changes goldens by running the code in this folder, one after the other",
            next_command="reenact golden run --help",
        )


def _mark(shell: Shell, named: str, how: dict[str, Any]) -> Mark | None:
    """The mark whose revision is run; None if no mark was named.

    Raises:
        UsageError: There is no such mark, it has no revision, or another revision was given too.
    """
    if not named:
        return None
    if how["rev"] or how["live"]:
        raise UsageError(
            f"--mark does not go with --{'rev' if how['rev'] else 'live'}",
            cause="what is verified against a deploy is the code of its revision, on recorded answers",
            next_command="reenact golden run --help",
        )
    with opened(shell) as store:
        mark = find_mark(store.marks(), named)
    how["rev"] = revision_of(mark)
    return mark


def _reasons(mode: str, accept: tuple[str, ...], everything: str | None, names: list[str]) -> Reasons:
    """The differences that the options accept, with their reasons.

    Raises:
        UsageError: This mode accepts nothing, or the golden of a difference is not named.
    """
    reasons = Reasons.parse(accept, everything, "--accept")
    if reasons and mode != REVIEW:
        raise UsageError(
            f"nothing is accepted in mode {mode}",
            cause="--accept and --accept-all choose among the differences that a review shows",
            next_command="reenact golden run --mode review",
        )
    if reasons.unnamed and len(names) != 1:
        raise UsageError(
            f"--accept {reasons.unnamed[0]} does not say of which golden",
            cause=f"{len(names)} goldens are reviewed: name one, or write NAME:{reasons.unnamed[0]}=REASON",
            next_command="reenact golden ls",
        )
    if reasons.strange(names):
        raise UsageError(
            f"--accept {reasons.strange(names)[0]} names a golden that is not reviewed",
            cause=f"{', '.join(names[:12])} are" if names else "there are none yet",
            next_command="reenact golden ls",
        )
    return reasons


def _how(live: str | None, rev: str, repeat: int, at_least: int | None, workers: int | None) -> How:
    if at_least is not None and at_least > repeat:
        raise UsageError(
            f"--at-least {at_least} of --repeat {repeat} cannot be",
            cause="more successes are wanted than there are runs",
            next_command="reenact golden run --help",
        )
    return How(
        live="model" if live else "none",
        repeat=repeat,
        at_least=repeat if at_least is None else at_least,
        rev=rev,
        workers=workers or 0,
    )


def _record(shell: Shell, golden_dir: GoldenDir, names: list[str], mode: str) -> int:
    """Run a mode that records answers into goldens."""
    code, first = 0, ""
    for name in names:
        recorded: RecordedAnswers = record_missing(golden_dir, name, again=mode == "rerecord")
        code = max(code, recorded.outcome.exit_code)
        if shell.json:
            shell.line(recorded.outcome.to_json() | {"recorded_now": recorded.kept, "opinions_now": recorded.opinions})
            continue
        kept = _kept(recorded)
        shell.data(f"{safe(recorded.outcome.line)}  {kept}")
        for line in recorded.outcome.message.splitlines():
            shell.talk(safe(line))
        if recorded.unproven and recorded.outcome.status == "passed":
            shell.talk(f"reenact: not proven on the recorded code: {safe(recorded.unproven)}")
        if recorded.outcome.status != "passed":  # the message may have named its own next command
            first = first or ("" if recorded.outcome.next_command else _next_command(recorded.outcome))
    shell.next(first if code else "reenact golden run")
    return code


def _kept(recorded: RecordedAnswers) -> str:
    parts = [counted(recorded.kept, "answer")] if recorded.kept else []
    parts += [counted(recorded.opinions, "opinion")] if recorded.opinions else []
    if parts:
        return f"{' and '.join(parts)} recorded, kept beside the incident"
    if recorded.unanswered:
        return "nothing was kept"
    return "nothing was missing" if recorded.outcome.status in ("passed", "failed") else "nothing was recorded"


def _tell(shell: Shell, outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        if shell.json:
            shell.line(outcome.to_json())
            continue
        shell.data(safe(outcome.line))
        if outcome.proves_nothing:
            shell.data(f"    not proven on the recorded code: {outcome.proves_nothing}")
        for line in (
            *(outcome.message or outcome.blind_spot).splitlines(),
            *(text for each in outcome.differences for text in each.splitlines()),
        ):
            shell.data(f"    {safe(line)}")
    if shell.json:
        return
    passed = sum(outcome.status == "passed" for outcome in outcomes)
    shell.talk(f"reenact: {passed} of {len(outcomes)} goldens passed")
    bad = next((outcome for outcome in outcomes if outcome.status != "passed"), None)
    if bad is None:
        return
    shell.next(_next_command(bad))


def _next_command(bad: Outcome) -> str:
    """The next command for a golden that did not pass: the command that its message names, else one that shows its
    incident."""
    if bad.next_command and (bad.status in ("stale", "broken") or bad.blind_spot):
        return bad.next_command
    return f"reenact show {shlex.quote(bad.file)}"
