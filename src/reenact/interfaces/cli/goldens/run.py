"""``reenact golden run``: today's code on the goldens."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import click

from reenact.errors import UsageError
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.testing.goldens.batch import How, run_goldens
from reenact.testing.goldens.modes import FROZEN, MODES, REVIEW, Recorded, record_missing
from reenact.testing.goldens.outcome import Outcome, exit_code
from reenact.testing.goldens.reports import write_reports
from reenact.testing.goldens.shelf import Shelf, open_shelf
from reenact.timetravel.preview import safe


@click.command(
    cls=Command,
    name="run",
    short_help="run today's code on them",
    example="""
    reenact golden run
    reenact golden run 'checkout/*' --report out
    reenact golden run --rev deployed
    reenact golden run refund-loop --mode missing
    reenact golden run refund-loop --live model --repeat 10 --at-least 9
    """,
)
@click.argument("names", nargs=-1)
@click.option(
    "--mode",
    type=click.Choice((*MODES, REVIEW)),
    default=FROZEN,
    help="What may be recorded. Default: frozen, nothing. review is not available yet.",
)
@click.option("--live", type=click.Choice(("model",)), help="Ask the models anew; tools stay frozen.")
@click.option("--rev", metavar="GITREV", default="", help="Run the code of another revision, in a git worktree.")
@click.option("--repeat", type=click.IntRange(1, 10_000), default=1, metavar="N", help="Run each so often.")
@click.option(
    "--at-least", type=click.IntRange(1, 10_000), metavar="M", help="So many of them must pass. Default: all."
)
@click.option("-j", "--workers", type=click.IntRange(1, 256), metavar="N", help="So many at a time.")
@click.option("--report", metavar="DIR", help="Write a Markdown summary, JUnit XML, and a page for each failure.")
@click.pass_context
def command(ctx: click.Context, /, names: tuple[str, ...], mode: str, report: str | None, **how: Any) -> None:
    """Run today's code on the goldens NAMES (which may be patterns), by default on all of them.

    Each is answered from its own recording, kept from the network, and judged by what is expected of it. Exit codes:
    0 all pass, 1 one fails, 3 one is stale (a call has no recorded answer, or an answer no opinion of the model that
    judges it), 4 one cannot be read, 5 one touched the world; the highest counts. --mode missing records what is
    missing, each once: tools stay frozen. --live model asks about each sample whoever judges it.
    """
    shell = current(ctx)
    if mode == REVIEW:
        raise UsageError(
            "--mode review is not available yet",
            cause="what has changed on purpose is accepted by adding the golden anew from a run of today's code",
            next_command="reenact golden add --help",
        )
    shelf = open_shelf()
    found = shelf.matching(names)
    if mode != FROZEN:
        ctx.exit(_record(shell, shelf, found, mode))
    asked = _how(**how)
    progress = _Progress(shell, len(found))
    outcomes = run_goldens(shelf, found, asked, done=progress.one)
    progress.end()
    if report is not None:
        for path in write_reports(Path(report), outcomes):
            shell.talk(f"reenact: wrote {path}")
    code = exit_code(outcomes)
    _tell(shell, outcomes)
    ctx.exit(code)


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


def _record(shell: Shell, shelf: Shelf, names: list[str], mode: str) -> int:
    """The modes that change a golden."""
    code = 0
    for name in names:
        recorded: Recorded = record_missing(shelf, name, anew=mode == "rerecord")
        code = max(code, recorded.outcome.exit_code)
        if shell.json:
            shell.line(recorded.outcome.to_json() | {"recorded_now": recorded.kept, "opinions_now": recorded.opinions})
            continue
        kept = _kept(recorded)
        shell.data(f"{safe(recorded.outcome.line)}  {kept}")
        if recorded.outcome.message:
            shell.talk(safe(recorded.outcome.message))
    shell.next("reenact golden run")
    return code


def _kept(recorded: Recorded) -> str:
    parts = [f"{recorded.kept} answers"] if recorded.kept else []
    parts += [f"{recorded.opinions} opinions"] if recorded.opinions else []
    return f"{' and '.join(parts)} recorded, kept beside the incident" if parts else "nothing was missing"


class _Progress:
    """What has been done so far, on one line of a terminal."""

    def __init__(self, shell: Shell, total: int) -> None:
        self._shell = shell
        self._total = total
        self._done = 0
        self._bad = 0
        self._shown = sys.stderr is not None and sys.stderr.isatty() and total > 1
        self._since = time.monotonic()

    def one(self, outcome: Outcome) -> None:
        """One more is known."""
        self._done += 1
        self._bad += outcome.exit_code != 0
        if self._shown:
            filled = 30 * self._done // self._total
            bar = "#" * filled + "." * (30 - filled)
            spent = time.monotonic() - self._since
            sys.stderr.write(f"\r[{bar}] {self._done}/{self._total}  {self._bad} not passed  {spent:.0f} s ")
            sys.stderr.flush()

    def end(self) -> None:
        """Leave the line."""
        if self._shown:
            sys.stderr.write("\n")


def _tell(shell: Shell, outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        if shell.json:
            shell.line(outcome.to_json())
            continue
        shell.data(safe(outcome.line))
        for line in (
            *outcome.message.splitlines(),
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
    shell.next(f"reenact golden run {bad.name} --mode missing" if bad.status == "stale" else f"reenact show {bad.file}")
