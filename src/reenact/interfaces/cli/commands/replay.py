"""``reenact replay``: executes a run's code again, with all answers from the recording."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import click

from reenact.errors import UsageError
from reenact.facts.call import Kind
from reenact.facts.ids import tail
from reenact.facts.imported_runs import is_imported
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import replace
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.retention import GOLDEN
from reenact.facts.run import Run, Status
from reenact.interfaces.cli.arguments import whole_run
from reenact.interfaces.cli.run_opening import opened, said_around, stored
from reenact.interfaces.cli.shell import Command, Shell, current, with_a_script
from reenact.replaying.options import Options
from reenact.replaying.replay_launch import replay_run
from reenact.replaying.replay_lines import in_force
from reenact.replaying.replay_report import Report
from reenact.store.back_ends import BUNDLE
from reenact.timetravel import preview

if TYPE_CHECKING:
    from reenact.abc.store import Store
    from reenact.store.bundles import BundleStore
    from reenact.timetravel.changed_tools import in_words, through, unseen_by
else:
    in_words = late("reenact.timetravel.changed_tools", "in_words")
    through = late("reenact.timetravel.changed_tools", "through")
    unseen_by = late("reenact.timetravel.changed_tools", "unseen_by")

# The beginning of a line with a command to type. In this command, a run is named as the user named it.
_PROPOSED = lazy_regex(r"\s*next: ")
_PROGRAM = "python agent.py"
_UNNAMED = lazy_regex(r"[^A-Za-z0-9_-]+")
"""The characters that the name of a golden cannot have."""
_ORDER = lazy_regex(r"exact|shuffle(:\d{1,18})?")


@click.command(
    cls=Command,
    name="replay",
    short_help="re-execute a run's code, the world frozen",
    example="""
    reenact replay @failed
    reenact replay @failed --rev main
    reenact replay 7f3c --through parse_invoice --on-divergence observe
    """,
)
@click.argument("ref", default="@")
@click.option("--events", is_flag=True, help="Walk the recorded events and states, without the agent's code.")
@click.option("--through", metavar="TOOL", multiple=True, help="Run this tool's own code, freeze what it calls.")
@click.option("--live", metavar="KIND|NAME", multiple=True, help="Let only these calls go live: a fork without writes.")
@click.option("--order", default="exact", metavar="exact|shuffle[:SEED]", help="Order of the answers. Default: exact.")
@click.option(
    "--on-divergence",
    type=click.Choice(("stop", "observe")),
    default="stop",
    help="Stop at the first divergence (default), or collect every one in one pass.",
)
@click.option("--rev", metavar="GITREV", help="Run the code of another revision, in a git worktree.")
@click.option("--cmd", metavar="CMD", help="Command line to run in place of the captured one.")
@click.option("--entry", metavar="MODULE:FUNCTION", default="", help="Function to call in place of the captured one.")
@click.option("--sources", is_flag=True, help="Run the sources in a bundle, where the system can isolate them.")
@click.option("--save", is_flag=True, help="Keep the replay as a run of its own.")
@click.option("-v", "--verbose", is_flag=True, help="Name all that keeps the replay from the world.")
@click.pass_context
def command(
    ctx: click.Context, /, ref: str, events: bool, rev: str | None, cmd: str | None, verbose: bool, **how: Any
) -> None:
    """Re-execute the code of REF (default: @, the last run) with every answer taken from the recording.

    The first line says what is frozen, the last one whether the replay was the same. The agent's output is printed as
    usual; with --json it goes to standard error, and standard output has one line with the report. With --live it
    becomes a fork without writes: the named calls go live, the others get their recorded answers. For an imported run,
    --live model asks the model where the import has no answer; nothing else goes live.
    """
    if rev is not None and (events or not rev):
        raise UsageError(
            "--rev names the code to run, and --events runs none" if rev else "--rev names no revision",
            cause="one of them is meant" if rev else "an empty text was given",
            next_command="reenact replay --help",
        )
    shell = current(ctx)
    options = _options(shell, events, cmd, {**how, "rev": rev or ""})
    if options.live or options.save:
        ref = stored(shell, ref)
    with opened(shell, ref) as store:
        run = store.run(whole_run(ref))
        url, golden = store.url, _golden_of(shell, store, run)
        if not events:
            said_around(shell, store, run, options.entry)
        plan = _live().plan_of(store.open(run), options) if options.live and not is_imported(run) else None
    if plan is not None:
        ctx.exit(_live().run(shell, url, run.id, plan, options))
    report = replay_run(url, run.id, options, announce=lambda line: shell.talk(f"reenact: {line}"))
    program = ""
    if is_imported(run):
        program = f"--entry {shlex.quote(options.entry)}" if options.entry else f"--cmd {shlex.quote(cmd or _PROGRAM)}"
        report = replace(report, remarks=(*report.remarks, *_unmarked(shell, ref, report)))
    elif not (report.exit_code or events or options.rev or options.sources):
        report = replace(report, remarks=(*report.remarks, *_unseen(shell, ref, run, options)))
    _tell(shell, report, run, golden, program, verbose=verbose, sources=options.sources)
    ctx.exit(report.exit_code)


def _unseen(shell: Shell, ref: str, run: Run, options: Options) -> Iterator[str]:
    """The remark on tools whose code has changed and did not run: the replay says nothing about the changed code."""
    with opened(shell, ref) as store:
        changed = unseen_by(store, run, options.through)
    if changed:
        command = shell.called(through(next(iter(changed)), tail(run.id)))
        yield f"{in_words(changed)}, and this replay did not run it; `{command}` does"


def _live() -> Any:
    """The module for a replay with live calls, imported late because most replays have none."""
    return import_module("reenact.interfaces.cli.live_replay")


def _options(shell: Shell, events: bool, cmd: str | None, how: dict[str, Any]) -> Options:
    if not _ORDER.fullmatch(how["order"]):
        raise UsageError(
            f"{how['order']!r} is no order",
            cause="it is exact, shuffle or shuffle:SEED",
            next_command="reenact replay --help",
        )
    if cmd is not None and how["entry"]:
        raise UsageError(
            "--cmd and --entry exclude each other",
            cause="one of them starts the agent",
            next_command="reenact replay --help",
        )
    other = next((name for name in ("through", "save") if how[name]), "events" if events else "")
    if how["order"] != "exact" or how["on_divergence"] != "stop":
        other = "order" if how["order"] != "exact" else "on-divergence"
    if how["sources"]:
        _require_alone({"events": events, "cmd": cmd, **how})
    if how["live"] and other:
        raise UsageError(
            f"--live and --{other} exclude each other",
            cause="a replay with live calls is a fork: it is kept, goes on after a difference, and has its own order",
            next_command="reenact replay --help",
        )
    try:
        words = tuple(shlex.split(cmd)) if cmd is not None else ()
    except ValueError as error:
        raise UsageError(
            f"--cmd cannot be split into words: {error}", cause="a missing quote", next_command="reenact replay --help"
        ) from None
    return Options(mode="events" if events else "code", command=words, divert_output=shell.json, **how)


def _require_alone(how: dict[str, Any]) -> None:
    """Refuse options that contradict ``--sources``, which runs foreign code: this code runs frozen, as recorded, and
    its replay is not kept.

    Raises:
        UsageError: A contradicting option was given.
    """
    other = next((name for name in ("live", "events", "rev", "cmd", "entry", "save") if how[name]), "")
    if other:
        raise UsageError(
            f"--sources and --{other} exclude each other",
            cause="the code of a bundle runs frozen, as it was recorded and cut off from everything, or not at all",
            next_command="reenact replay --help",
        )


def _unmarked(shell: Shell, ref: str, report: Report) -> list[str]:
    """A remark for each tool of an imported run that the program never called: imported answers go to marked functions
    only."""
    missed = {number for each in report.differences if each.what == "unused" for number in each.data or ()}
    if not (missed and report.matched):  # the remark is no help for a program that made no call at all
        return []
    with opened(shell, ref) as store:
        calls = [each for each in store.events(store.run(whole_run(ref))) if each.call.kind is Kind.TOOL]
    seen = {each.name for each in calls if each.number not in missed}
    return [
        f"no call of {name} was seen: where the code makes it, mark the function with @reenact.tool, and it gets the"
        " imported answer"
        for name in dict.fromkeys(each.name for each in calls if each.name not in seen)
    ]


def _next_command(report: Report, name: str, run: Run, golden: str | None) -> str:
    """The next command: keep a replay that was the same as a test, or look at the event that differs. Empty if there is
    nothing more to see. ``golden`` is the name of a golden of the run; empty if the run itself belongs to a golden."""
    event = next((each.event for each in report.differences if each.event is not None), None)
    if event is not None:
        return f"reenact show {name}:{event}"
    if report.exit_code:
        diff = report.saved and not report.refused
        return f"reenact diff {name} {tail(report.saved)}" if diff else "reenact doctor" if report.refused else ""
    if report.mode != "code":
        return f"reenact replay {name}"
    if golden is not None:
        return f"reenact golden run {golden}" if golden else ""
    if run.interrupted_at is not None:  # a golden with an expectation needs a run that has ended
        return f"reenact fork {name}:{run.interrupted_at} --live reads --dry-run"
    option = "--holds" if run.status is Status.OK else "--expect"
    (file,) = shlex.split(name)
    kept_as = _UNNAMED.sub("-", file.rpartition("/")[2].partition(BUNDLE)[0])
    return f"reenact golden add {name} --as run-{kept_as} {option} \"status == 'ok'\""


def _golden_of(shell: Shell, store: Store, run: Run) -> str | None:
    """The name of a golden that was made of a run; empty if the run itself belongs to a golden, None if there is no
    golden."""
    if shell.named:
        return None if cast("BundleStore", store).bundle.golden is None else ""
    return run.tags.get(GOLDEN, "").partition(",")[0] or None


def _tell(
    shell: Shell, report: Report, run: Run, golden: str | None, program: str, *, verbose: bool, sources: bool
) -> None:
    """Print the verdict. The replay itself printed the first line, before the agent's output."""
    if shell.json:
        shell.line(report.to_json())
        return
    for text in (report.changed_code, report.order_doubt):
        if text:
            shell.talk(f"reenact: {shell.called(preview.safe(text))}")
    for difference in report.differences:
        for text in difference.text.splitlines():
            shell.talk(f"reenact: {shell.called(preview.safe(text)) if _PROPOSED.match(text) else preview.safe(text)}")
    for text in (*report.refused, *report.remarks):
        shell.talk(f"reenact: {preview.safe(text)}")
    if not any("\n  next: " in each.text for each in report.differences):  # a divergence may name its own next command
        name = shell.named.get(tail(run.id), tail(run.id))
        # The code of a bundle is not in this project, so a test cannot be made of it. The next command keeps the run.
        kept = sources and not report.exit_code
        onward = f"reenact unpack {name}" if kept else _next_command(report, name, run, golden)
        if onward:
            # An imported run has no program of its own. The option names the one that was replayed.
            driven = program and onward.startswith(("reenact replay", "reenact golden add"))
            shell.talk(f"reenact: next: {with_a_script(onward)}" + (f" {with_a_script(program)}" if driven else ""))
    said = in_force(report)
    more = f"  {said}" if verbose and said not in report.last_line else ""
    shell.talk(f"reenact: {report.last_line}{more}")
