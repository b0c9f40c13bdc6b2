"""``reenact fork``: makes a run that branches from a recorded run at any event, with something changed."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import replace
from reenact.facts.lazy_regex import lazy_regex
from reenact.interfaces.cli.arguments import no_sources, reference
from reenact.interfaces.cli.fork_ending import tell_fork
from reenact.interfaces.cli.run_opening import bundle_of, opened, said_around, stored
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.replaying.bundled_sources import naming_the_option
from reenact.replaying.options import Options
from reenact.replaying.program_start import ProgramGone
from reenact.store.bundles import bundle_store
from reenact.timetravel import preview
from reenact.timetravel.forking import Change, plan_of
from reenact.timetravel.forks.dry_run import DryRun
from reenact.timetravel.forks.dry_run import dry_run as planned
from reenact.timetravel.forks.fork_launch import fork_run
from reenact.timetravel.forks.ledger import address_of
from reenact.timetravel.forks.plan import OPENINGS

_OF_ANOTHER = lazy_regex(r"(?P<run>@[~\d]*|[0-9a-z]{4,32}):(?P<event>\d+)")


@click.command(
    cls=Command,
    name="fork",
    short_help="run on from an event with one thing changed",
    example="""
    reenact fork @failed:4 --result 4='{"docs": []}' --live none
    reenact fork @failed:8 --say 8='I cannot refund that.'
    reenact fork @:0 --live model --param temperature=0 --param seed=42
    """,
)
@click.argument("ref", default="@:0")
@click.option("--set", "state", metavar="PATH=JSON", multiple=True, help="State of the step at EVENT.")
@click.option(
    "--result", metavar="EVENT=JSON|@FILE", multiple=True, help="Replace the result of the recorded call EVENT."
)
@click.option("--say", metavar="EVENT=TEXT", multiple=True, help="Replace the text of a model's recorded answer.")
@click.option("--error", metavar="EVENT=TYPE:TEXT", multiple=True, help="An error in place of a recorded result.")
@click.option("--input", "input_", metavar="JSON", help="Another input of the run, at event 0.")
@click.option("--prompt", metavar="@FILE", help="Another system prompt in the model requests that go live.")
@click.option("--model", metavar="NAME", help="Another model of the same protocol in the requests that go live.")
@click.option("--param", metavar="K=V", multiple=True, help="A parameter to set in the requests that go live.")
@click.option("--flag", metavar="K=V", multiple=True, help="What a feature flag evaluates to, through OpenFeature.")
@click.option("--at-time", metavar="ISO", help="Move the agent's wall clock at EVENT.")
@click.option("--rev", metavar="GITREV", help="Run the code of another revision, in a git worktree.")
@click.option("--live", type=click.Choice(OPENINGS), default="reads", help="What may go live. Default: reads.")
@click.option("--allow-write", metavar="TOOL", multiple=True, help="Let this tool write; a pattern too.")
@click.option("--settle", type=click.Choice(("done", "retry")), help="Count a write in doubt as done, or retry it.")
@click.option("--dry-run", is_flag=True, help="Print the plan and make no fork.")
@click.option("--cmd", metavar="CMD", help="Command line to run in place of the captured one.")
@click.option("--entry", metavar="MODULE:FUNCTION", default="", help="Function to call in place of the captured one.")
@no_sources
@click.pass_context
def command(ctx: click.Context, /, ref: str, dry_run: bool, cmd: str | None, entry: str, **how: Any) -> None:
    """Run the code of REF's run again: answered from the recording before EVENT, with something changed from there on.

    After EVENT, a call that was recorded gets its recorded answer. A call that was not recorded goes live if --live
    allows it; a write is refused unless --allow-write names it. The fork is kept as a new run.
    """
    shell, given_ref = current(ctx), ref
    at = reference(ref).one_event("fork")
    ref = ref if dry_run else stored(shell, ref)
    named = reference(ref)
    with naming_sources(given_ref), opened(shell, ref) as store:
        run = store.run(named.run)
        said_around(shell, store, run, entry)
        results, given = results_of(store, how["result"], numbering(store, run.id))
        live, writes = how["live"], how["allow_write"]
        plan = plan_of(store, run, at or 0, change_of(how, results), live=live, allow_writes=writes)
        plan = replace(plan, settle=how["settle"] or "", given=given)
        url = store.url
        words = tuple(shlex.split(cmd)) if cmd is not None else ()
        options = Options(command=words, entry=entry, divert_output=shell.json)
        if dry_run:
            _tell_plan(shell, planned(store, run.id, plan, options))
            return
    with naming_sources(given_ref):
        report = fork_run(url, run.id, plan, options, announce=lambda line: shell.talk(f"reenact: {line}"))
    tell_fork(shell, report)
    ctx.exit(report.exit_code)


@contextmanager
def naming_sources(ref: str) -> Iterator[None]:
    """Make the error for a missing program name `replay --sources` if ``ref`` is a bundle with sources, because these
    cannot be forked."""
    try:
        yield
    except ProgramGone as error:
        file = bundle_of(ref)
        if file is None:
            raise
        with bundle_store(file) as bundle:
            raise naming_the_option(error, bundle, bundle.bundle.main.run, str(file)) from None


def numbering(store: Any, run: str) -> Callable[[str], int]:
    """A function that takes the name of an event of ``run``, as on the command line, and gives its number."""

    def number(event: str) -> int:
        return int(event) if event.isdigit() else int(store.event(f"{run}:{event}").number)

    return number


def results_of(
    store: Any, texts: Iterable[str], number: Callable[[str], int]
) -> tuple[dict[int, Json], dict[str, Json]]:
    """The new results: by the number of an event for events of the run; by the identity of the write for a write that
    another run has begun (``RUN:EVENT``).

    Raises:
        UsageError: A text is no result, or names an event of another run that is no write.
    """
    results: dict[int, Json] = {}
    given: dict[str, Json] = {}
    for name, text in pairs(texts, "--result EVENT=JSON"):
        other = _OF_ANOTHER.fullmatch(name)
        if other is None:
            results[number(name)] = value(text)
            continue
        run = store.run(other["run"])
        write = address_of(store.open(run), int(other["event"]))
        if not write:
            raise UsageError(
                f"--result {name}: event {other['event']} of run {other['run']} is no write",
                cause="RUN:EVENT names a write in doubt; results of the run itself are named by its event alone",
                next_command=f"reenact show {other['run']}",
            )
        given[write] = value(text)
    return results, given


def change_of(how: dict[str, Any], results: dict[int, Json]) -> Change:
    """The change that the options describe. ``how`` has the options by name, ``results`` the new results."""
    prompt = how["prompt"]
    return Change(
        results={str(number): answer for number, answer in results.items()},
        says=dict(pairs(how["say"], "--say EVENT=TEXT")),
        errors=dict(pairs(how["error"], "--error EVENT=TYPE:TEXT")),
        state={name: value(text) for name, text in pairs(how["state"], "--set PATH=JSON")},
        prompt=None if prompt is None else text_of(prompt),
        model=how["model"],
        params={name: value(text) for name, text in pairs(how["param"], "--param K=V")},
        input=_input(how["input_"]),
        flags={name: value(text) for name, text in pairs(how["flag"], "--flag K=V")},
        at_time=how["at_time"],
        rev=_revision(how["rev"]),
    )


def _input(text: str | None) -> Json:
    """The new input of the run. The content of a file may be any text, such as lines of JSON for standard input."""
    return None if text is None else value(text, any_text=text.startswith("@"))


def _revision(rev: str | None) -> str:
    if rev == "":
        raise UsageError(
            "--rev names no revision", cause="an empty text was given", next_command="git log --oneline --all -20"
        )
    return rev or ""


def pairs(texts: Iterable[str], form: str) -> Iterable[tuple[str, str]]:
    """The name and the text of each ``name=text``.

    Raises:
        UsageError: A text is not of that form.
    """
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise UsageError(f"{text!r} is not of the form {form}", next_command="reenact fork --help")
        yield name, value


def value(text: str, *, any_text: bool = False) -> Json:
    """A value: text that begins as a JSON object, list or string must be JSON; other text that is no JSON is a string.
    ``@FILE`` stands for the content of a file.

    Args:
        text: The text that the user typed.
        any_text: Allow text that only begins like JSON.

    Raises:
        UsageError: The text begins like JSON, and is broken.
    """
    text = text_of(text)
    if text.strip('"') == "…" and not any_text:
        raise UsageError(
            "… stands for the value that is to be filled in",
            cause="it was typed as it was printed",
            next_command="reenact fork --help",
        )
    try:
        return json.loads(text)
    except ValueError as error:
        if any_text or not text.lstrip().startswith(("{", "[", '"')):
            return text
        raise UsageError(
            f"{preview.brief(text, 60)} is no JSON: {error}",
            cause='what begins with {, [ or " is read as JSON; put a text that begins like this in quotes: \'"[sic]"\'',
            next_command="reenact fork --help",
        ) from None


def text_of(text: str) -> str:
    """The text itself or, for ``@FILE``, the content of the file.

    Raises:
        UsageError: The file cannot be read.
    """
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{text[1:]} cannot be read: {error}", cause="@ stands before the path of a text file", next_command="ls"
        ) from None


def _tell_plan(shell: Shell, plan: DryRun) -> None:
    if shell.json:
        shell.line(plan.to_json())
        return
    for text in plan.lines():
        shell.data(preview.safe(text))
