"""``reenact resume``: continues an interrupted or failed run from where it stopped."""

from __future__ import annotations

import shlex
import sys

import click

from reenact.facts.call import Json
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.interfaces.cli.arguments import no_sources, reference
from reenact.interfaces.cli.commands.fork import naming_sources, numbering, results_of, value
from reenact.interfaces.cli.run_opening import opened, said_around, stored
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.replaying.options import Options
from reenact.timetravel import preview
from reenact.timetravel.forks import resumed_runs
from reenact.timetravel.forks.fork_launch import fork_run
from reenact.timetravel.forks.fork_report import ForkReport
from reenact.timetravel.forks.plan import Settling
from reenact.timetravel.forks.resumed_runs import Resumption

_WORDS = ("done", "retry")


@click.command(
    cls=Command,
    name="resume",
    short_help="continue an interrupted or failed run",
    example="""
    reenact resume @failed
    reenact resume @failed --settle retry
    reenact resume @:rerank#1
    """,
)
@click.argument("ref", default="@")
@click.option("--settle", type=click.Choice(_WORDS), default=None, help="Count a write in doubt as done, or retry it.")
@click.option("--result", metavar="EVENT=JSON|@FILE", multiple=True, help="The result of a write in doubt.")
@click.option("--cmd", metavar="CMD", help="Command line to run in place of the captured one.")
@click.option("--entry", metavar="MODULE:FUNCTION", default="", help="Function to call in place of the captured one.")
@no_sources
@click.pass_context
def command(
    ctx: click.Context, /, ref: str, settle: Settling | None, result: tuple[str, ...], cmd: str | None, entry: str
) -> None:
    """Continue REF from its end, under its own id: its code runs again, finished calls are answered from the recording,
    and the rest goes live in real time. With a STEP (REF:rerank#1, REF:12) it continues from there, as a child run.

    A finished write is never made again. A write that was under way when the run stopped, or that raised an error, is
    in doubt: without --settle you are asked, and without a terminal nothing is run.
    """
    shell = current(ctx)
    step = reference(ref).one_event("resume")
    named = reference(stored(shell, ref))
    with opened(shell) as store:
        run = store.run(named.run)
        said_around(shell, store, run, entry)
        results, given = results_of(store, result, numbering(store, run.id))
        told = resumed_runs.resumption(store, run, step, settle or "", results, given)
        asks = sys.stdin.isatty() and not shell.json
        if asks:
            told = resumed_runs.settled(store, told, lambda event: _asked(shell, event))
        resumed_runs.require_settled(told)
        url = store.url
    words = tuple(shlex.split(cmd)) if cmd is not None else ()
    options = Options(command=words, entry=entry, divert_output=shell.json)
    with naming_sources(ref):
        report = _resumed(shell, url, told, options, asks=asks)
    _tell(shell, report)
    ctx.exit(report.exit_code)


def _resumed(shell: Shell, url: str, told: Resumption, options: Options, *, asks: bool) -> ForkReport:
    """Resume a run, and ask the user about each write in doubt on the way."""
    while True:
        report = fork_run(url, told.base.id, told.plan, options, announce=lambda line: shell.talk(f"reenact: {line}"))
        with opened(shell) as store:
            report = resumed_runs.conclude(store, told, report)
            if not asks:
                return report
            word, result = _asked_on_the_way(shell, report)
            if not word:
                return report
            told = resumed_runs.settled_on_the_way(store, told, report, word, result)
            told = resumed_runs.settled(store, told, lambda event: _asked(shell, event))
        resumed_runs.require_settled(told)


def _asked_on_the_way(shell: Shell, report: ForkReport) -> tuple[Settling, Json]:
    """The user's answer on the write in doubt at which a resumption stopped, and the result of that write; empty if
    there is no such write."""
    doubt = report.doubted
    if doubt is None:
        return "", None
    shell.talk(f"reenact: {doubt['name']} is in doubt: {doubt['why']}.")
    words = ("done", "retry", "stop") if doubt["can_be_done"] else ("retry", "stop")
    question = "Has it happened (done), shall it be made again (retry), or does it stay in doubt (stop)?"
    word = click.prompt(question, type=click.Choice(words), err=True)
    return ("done", _result()) if word == "done" else ("retry" if word == "retry" else "", None)


def _asked(shell: Shell, event: Event) -> tuple[Settling, Json]:
    """The user's answer on a write in doubt, and its result."""
    shell.talk(preview.safe(f"reenact: {event.name} (event {event.number}) {resumed_runs.how_left(event)[0]}."))
    word = click.prompt(
        "Has it happened (done), or shall it be made again (retry)?", type=click.Choice(_WORDS), err=True
    )
    return ("done", _result()) if word == "done" else ("retry", None)


def _result() -> Json:
    """The result of a write that has happened, as the user types it."""
    return value(click.prompt("What was its result? (JSON, or null if it has none)", err=True))


def _tell(shell: Shell, report: ForkReport) -> None:
    if shell.json:
        shell.line(report.to_json())
        return
    for text in (*report.remarks, *report.message.splitlines()):
        shell.talk(f"reenact: {preview.safe(text)}")
    if not report.message:
        shell.talk(f"reenact: next: reenact show {tail(report.run)}")
    shell.talk(f"reenact: {report.last_line}")
