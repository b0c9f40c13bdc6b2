"""``reenact import``: makes a run of a recording of another tool."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from reenact.abc.project_settings import load_settings
from reenact.abc.sources import CLOCK, ENTROPY
from reenact.facts.call import Json
from reenact.facts.ids import tail
from reenact.facts.phrases import counted
from reenact.facts.settings import policy_of
from reenact.facts.shell_text import typed
from reenact.facts.trace_runs import is_traced, trace_of
from reenact.interfaces.cli.arguments import fields, pairs
from reenact.interfaces.cli.progress import ReadingProgress, WorkProgress
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.interop.exchanges import ExchangesOfRun
from reenact.interop.file_formats import read
from reenact.interop.importing import Arrival, import_runs
from reenact.interop.readers import ReaderOptions, readers
from reenact.interop.traces import Trace
from reenact.recording.recording_opening import Who
from reenact.timetravel.json_views import run_data
from reenact.timetravel.preview import safe


class _ImportCommand(Command):
    """The command ``import``, whose help lists every format, including those of other packages."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the formats, then the example."""
        with formatter.section("Formats"):
            formatter.write_dl([(safe(name), safe(each.about)) for name, each in readers().items()])
        super().format_epilog(ctx, formatter)


@click.command(
    cls=_ImportCommand,
    name="import",
    short_help="recordings of other tools into the store",
    example="""
    reenact import vcr tests/cassettes/test_refund.yaml
    reenact import har refund.har --only https://api.example.com/ --dry-run
    reenact import messages chats.jsonl --param model=gpt-4o
    reenact import otlp traces.jsonl
    """,
)
@click.argument("form", metavar="FORMAT")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--only", metavar="PREFIX", default="", help="Only exchanges whose address begins like this.")
@click.option("--url", default="", help="The address that was asked, for messages that do not name it.")
@click.option("--param", metavar="K=V", multiple=True, help="A field of every request, for messages; may be repeated.")
@click.option("--agent", metavar="NAME[@VERSION]", default="", help="Name of the agent, and its version.")
@click.option("--tag", metavar="K=V", multiple=True, help="A label; may be repeated.")
@click.option("--dry-run", is_flag=True, help="Say what would be imported, and write nothing.")
@click.pass_context
def command(ctx: click.Context, /, form: str, file: Path, agent: str, tag: Sequence[str], **how: Any) -> None:
    """Bring FILE, which another tool has recorded, into the store as a run.

    FORMAT is vcr (cassettes of VCR.py, YAML or JSON, of old versions too, and of VCR for Ruby and Betamax), har (HTTP
    archives of browsers and proxies), json (what reenact export json wrote), messages (JSON Lines: logged pairs of
    request and response, or conversations with a model, each of which becomes a run), otlp (traces of OpenTelemetry,
    each of which becomes a run) or a log of one of the tools that are listed below. FILE may be - for standard input.
    Installed packages may add formats; reenact import --help lists all of them.

    The whole file is read before anything is written. A part that cannot be read is refused with its place in the file;
    in a trace it is left out and named. An imported run knows neither its program nor the order of its calls: replay it
    with --cmd or --entry. Each exchange is found by its request, and is used once. A file that was imported before is
    not written again.
    """
    shell = current(ctx)
    with WorkProgress(f"reading {safe(file.name)}") as reading:
        options = ReaderOptions(how["only"], how["url"], fields(how["param"]))
        found, origin = read(form, file, options, reading.reached)
    if how["dry_run"]:
        for each in found:
            _would_land(shell, each) if isinstance(each, Trace) else _would(shell, each)
        _left(shell, found)
        said = [
            ("only", [how["only"]]),
            ("url", [how["url"]]),
            ("param", how["param"]),
            ("agent", [agent]),
            ("tag", tag),
        ]
        given = [word for name, values in said for value in values if value for word in (f"--{name}", value)]
        shell.next(safe(typed(["reenact", "import", form, str(file), *given])))
        return
    who = Who(agent, tags=pairs(tag))
    with opened(shell) as store:
        policy = policy_of(load_settings())
        how_far = ReadingProgress()
        of_traces = any(isinstance(each, Trace) for each in found)
        told = partial(how_far.at, f"reenact: importing {'spans' if of_traces else 'exchanges'}")
        try:
            arrivals = import_runs(
                store, found, origin, who=who, policy=policy, clock=CLOCK, entropy=ENTROPY, progress=told
            )
        finally:
            how_far.end()
    for arrival in arrivals:
        _arrived(shell, arrival)
    _left(shell, found)
    if arrivals:
        last = arrivals[-1].run
        traced = is_traced(last)
        shell.next(
            f"reenact show {tail(last.id)}" if traced else f"reenact replay {tail(last.id)} --cmd 'python agent.py'"
        )


def _would(shell: Shell, found: ExchangesOfRun) -> None:
    """Print the content of the run that would be imported."""
    if shell.json:
        shell.line(_plain(found))
        return
    part = f" of {safe(found.label)}" if found.label else ""
    shell.data(f"{safe(found.source)}: {counted(len(found.exchanges), 'exchange')}{part} would be imported")
    for number, each in enumerate(found.exchanges):
        shell.data(f"  {number:>4}  {each.status}  {len(each.answer):>8} B  {safe(f'{each.method} {each.url}'[:200])}")
    for remark, count in found.remarks().items():
        shell.talk(f"reenact: {safe(remark)} ({count})")
    for name in found.ignore:
        shell.talk(f"reenact: not compared, because the file does not say it: {safe(name)}")


def _plain(found: ExchangesOfRun) -> Json:
    """The content of the run that would be imported, as JSON data."""
    return {
        "format": found.source,
        "part": found.label,
        "exchanges": [
            {"method": each.method, "url": each.url, "status": each.status, "bytes": len(each.answer)}
            for each in found.exchanges
        ],
        "remarks": found.remarks(),
        "ignore": dict(found.ignore),
    }


def _would_land(shell: Shell, trace: Trace) -> None:
    """Print the run that a trace would become."""
    if shell.json:
        data: dict[str, Json] = {"format": trace.source, "trace": trace.id, "spans": trace.spans}
        data |= {"agent": trace.facts.agent, "session": trace.facts.session or None}
        shell.line(data | {"remarks": dict(trace.remarks), "left": list(trace.left)})
        return
    agent = f" of {safe(trace.facts.agent)}" if trace.facts.agent else ""
    shell.data(f"{trace.source}: trace {trace.id}{agent}, {counted(trace.spans, 'span')}, would be imported")
    for remark, count in trace.remarks.items():
        shell.talk(f"reenact: {safe(remark)} ({count})")


def _left(shell: Shell, found: Sequence[ExchangesOfRun | Trace]) -> None:
    """Print the parts of a file that could not be read."""
    left = next((each.left for each in found if isinstance(each, Trace)), ())
    for each in left:
        shell.talk(f"reenact: left out: {safe(each)}")


def _arrived(shell: Shell, arrival: Arrival) -> None:
    run = arrival.run
    if shell.json:
        shell.line(run_data(run) | {"new": arrival.new})
        return
    kept: Any = run.capture["import"]
    models = f" ({run.totals.models} model)" if run.totals.models else ""
    if is_traced(run):
        trace = trace_of(run)
        parts = [counted(int(trace["spans"]), "span"), counted(run.totals.models, "model call")]
        parts.append(counted(run.totals.tools, "tool call"))
        shell.data(f"{tail(run.id)}  {', '.join(parts)} from {safe(str(kept['file']))}, trace {trace['id']}")
        if not arrival.new:
            shell.talk(f"reenact: trace {trace['id']} is here already, as run {tail(run.id)}: nothing was written")
            return
    else:
        what = counted(run.totals.events, "exchange")
        shell.data(f"{tail(run.id)}  {what}{models} from {safe(str(kept['file']))}, {kept['format']}")
        if not arrival.new:
            shell.talk(f"reenact: the same is here already, as run {tail(run.id)}: nothing was written")
            return
    for remark, count in kept["remarks"].items():
        shell.talk(f"reenact: {safe(str(remark))} ({count})")
    ignored = ", ".join(run.capture["ignore"])
    if ignored:
        shell.talk(f"reenact: ignore rules: {safe(ignored)}")
