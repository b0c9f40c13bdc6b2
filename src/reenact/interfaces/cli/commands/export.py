"""``reenact export``: writes a run in a format of another tool."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import click

from reenact.abc.project_settings import load_settings
from reenact.abc.suspicion_rules import rules_in_force
from reenact.errors import InteropError, UsageError
from reenact.facts.ids import tail
from reenact.facts.phrases import counted
from reenact.facts.policy import OTEL_CONTENTS, OTEL_DIALECTS, Policy
from reenact.facts.run import Run
from reenact.facts.settings import policy_of
from reenact.interfaces.cli.arguments import whole_run
from reenact.interfaces.cli.progress import ReadingProgress, WorkProgress
from reenact.interfaces.cli.run_opening import bundle_of, opened
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.interop.file_formats import SPANS, WRITERS, WrittenRun, spans, write
from reenact.interop.otlp.otlp_client import Target, Unsent, target
from reenact.interop.otlp.outgoing_span import Batch, as_json, as_protobuf, in_requests
from reenact.interop.otlp.process_exporter import SpanSender
from reenact.interop.plain_json import OURS, script
from reenact.timetravel.cost import prices, run_cost
from reenact.timetravel.markdown_report import comparison_report, run_report
from reenact.timetravel.preview import safe
from reenact.timetravel.run_comparison import compare_all

REPORT = "markdown"
"""The name of the format that makes a report for people."""


@click.command(
    cls=Command,
    name="export",
    short_help="a run in an open format",
    example="""
    reenact export vcr @ -o tests/cassettes/test_refund.yaml
    reenact export har 7f3c > run.har
    reenact export json @ -o run.json
    reenact export evals @ -o evals.jsonl
    reenact export otel @ -o trace.json
    reenact export markdown @failed -o incident.md
    reenact export markdown 7f3c e91a > comparison.md
    """,
)
@click.argument("form", metavar="FORMAT", type=click.Choice((*WRITERS, SPANS, REPORT)))
@click.argument("ref", default="@")
@click.argument("other", metavar="[OTHER]", required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write. Default: standard output.")
@click.option(
    "--content",
    type=click.Choice(OTEL_CONTENTS),
    help="otel: refer to the content (reference), or write it into the spans (inline).",
)
@click.option("--dialect", type=click.Choice(OTEL_DIALECTS), help="otel: the convention by which attributes are named.")
@click.pass_context
def command(
    ctx: click.Context,
    form: str,
    ref: str,
    other: str | None,
    output: Path | None,
    content: str | None,
    dialect: str | None,
) -> None:
    """Write REF (default: @, the last run) in a format that other tools read: its HTTP exchanges, model calls or spans.

    FORMAT is vcr (a cassette that VCR.py plays back; in JSON where the file ends in .json), har (an HTTP archive 1.2)
    or json (plain data). With -o, json also writes a script of thirty lines beside the file, which runs a Python
    program against the recorded answers without reenact.

    evals writes the model calls as JSON Lines of OpenAI Evals, a row for each: the request is the item, the answer is
    the sample. Imported again (reenact import evals), the rows become one run.

    otel makes an OpenTelemetry trace: with -o a file of OTLP's JSON (protobuf if its name ends in .pb); without -o the
    trace is sent to otel.endpoint of the settings.

    markdown writes a report for people: the question, the events, the answers of models, the end. With OTHER it
    compares the two runs.

    A count of everything that the format cannot hold goes to standard error.
    """
    shell = current(ctx)
    if other is not None and form != REPORT:
        raise UsageError(
            f"export {form} takes one run",
            cause=f"{other} is a second one, and only {REPORT} compares",
            next_command=f"reenact export markdown {shlex.quote(ref)} {shlex.quote(other)}",
        )
    if form == SPANS:
        _trace(shell, ref, output, policy_of(load_settings(), otel_content=content, otel_dialect=dialect))
        return
    if content or dialect:
        raise UsageError(
            f"--{'content' if content else 'dialect'} is for spans, and {form} has none",
            cause="it says how spans are written",
            next_command="reenact export otel @ -o trace.json",
        )
    if form == REPORT:
        _report(shell, ref, other, output)
        return
    with opened(shell) as store:
        run = store.run(whole_run(ref))
        with WorkProgress(f"writing {counted(run.totals.events, 'event')} as {form}"):
            written = write(form, store.open(run), as_json=output is not None and output.suffix == ".json")
    if output is None:
        shell.raw(written.data)
    else:
        _save(output, written)
    _tell(shell, written, output, tail(run.id))


def _report(shell: Shell, ref: str, other: str | None, output: Path | None) -> None:
    """Write a report on a run, or a comparison of two runs."""
    refs = [each for each in (ref, other) if each is not None]
    with ExitStack() as opening:
        stores = {bundle_of(each): opening.enter_context(opened(shell, each)) for each in refs}
        found = [(stores[bundle_of(each)], whole_run(each)) for each in refs]
        recordings = [store.open(store.run(run)) for store, run in found]
        many = sum(each.run.totals.events for each in recordings)
        with WorkProgress(f"reporting {counted(many, 'event')}"):
            if len(recordings) > 1:
                text = comparison_report(compare_all(recordings)[0])
            else:
                models = recordings[0].run.totals.models
                cost = run_cost(recordings[0], prices() if models else None)
                text = run_report(recordings[0], cost, rules_in_force())
    data = text.encode("utf-8", "backslashreplace")
    if output is None:
        shell.raw(data)
        return
    _put(output, data)
    names = " and ".join(tail(each.run.id) for each in recordings)
    if shell.json:
        shell.line({"file": str(output), "runs": [each.run.id for each in recordings]})
    shell.talk(f"reenact: {names}: written to {safe(str(output))}")


def _trace(shell: Shell, ref: str, output: Path | None, policy: Policy) -> None:
    """Write the spans of a run to a file, or send them."""
    if output is None and not policy.otel_endpoint:
        raise UsageError(
            "export otel has no target: neither -o FILE nor an endpoint in the settings",
            cause="[tool.reenact.otel] of pyproject.toml has no endpoint",
            next_command=f"reenact export otel {shlex.quote(ref)} -o trace.json",
        )
    to = target(policy.otel_endpoint) if output is None else None
    with opened(shell) as store:
        run = store.run(whole_run(ref))
        how_far = ReadingProgress()
        try:
            made = spans(store.open(run), policy, partial(how_far.at, "reenact: making spans, events"))
            if to is not None:
                _send(shell, run, to, made.batch, partial(how_far.at, "reenact: sending spans"))
        finally:
            how_far.end()
    if output is not None:
        _put(output, (as_protobuf if output.suffix == ".pb" else as_json)(in_requests(made.batch)))
    count = len(made.batch.spans)
    where = f"sent to {to}" if to is not None else f"written to {safe(str(output))}"
    if shell.json:
        said = {"spans": count, "trace": made.batch.spans[-1].trace, "lost": dict(made.lost)}
        shell.line({**said, **({"file": str(output)} if output is not None else {"endpoint": str(to)})})
    shell.talk(f"reenact: {tail(run.id)}: {counted(count, 'span')} {where}, trace {made.batch.spans[-1].trace}")
    for what, lost in made.lost.items():
        shell.talk(f"reenact: not in the spans: {safe(what)} ({lost})")


def _send(shell: Shell, run: Run, to: Target, batch: Batch, told: Callable[[int, int], object]) -> None:
    """Send spans, in as many requests as a receiver needs.

    Raises:
        InteropError: Not all spans were taken. The spans of earlier requests have arrived, and have the same ids if
            they are sent again.
    """
    sent, done = SpanSender(to), 0
    for part in in_requests(batch):
        told(done, len(batch.spans))
        try:
            sent([part])
        except Unsent as error:
            left = f"{counted(len(batch.spans) - done, 'span')} of {tail(run.id)}"
            raise InteropError(
                f"{left} were not taken: {error}",
                cause="nothing listens there, or it takes no OTLP over HTTP",
                next_command=f"reenact export otel {tail(run.id)} -o trace.json",
            ) from None
        done += len(part.spans)
    if sent.lost:
        shell.talk(f"reenact: {sent.lost} records of a log were not taken: {safe(sent.why)}")


def _put(output: Path, data: bytes) -> None:
    try:
        output.write_bytes(data)
    except OSError as error:
        raise _unwritable(error) from None


def _unwritable(error: OSError) -> UsageError:
    return UsageError(
        f"{error.filename} cannot be written: {error.strerror}",
        cause="its folder is not there, or its permissions",
        next_command="reenact export --help",
    )


def _script(output: Path) -> Path:
    """The path of the script that is written beside a file."""
    return output.with_name(f"{output.stem}_offline.py")


def _save(output: Path, written: WrittenRun) -> None:
    """Write the file, and its script beside it. An existing file that is no script of ours is never overwritten."""
    try:
        if written.runs:
            beside = _script(output)
            if beside.exists() and not beside.read_text(encoding="utf-8", errors="replace").startswith(OURS):
                raise UsageError(
                    f"{beside} is there already, and is none of ours",
                    cause="the script of the export would be written there",
                    next_command="reenact export json @ -o run.json",
                )
            beside.write_text(script(output.name), encoding="utf-8")
        output.write_bytes(written.data)
    except OSError as error:
        raise _unwritable(error) from None


def _tell(shell: Shell, written: WrittenRun, output: Path | None, run: str) -> None:
    if shell.json and output is not None:
        shell.line({"file": str(output), f"{written.what}s": written.exchanges, "lost": dict(written.lost)})
    many = counted(written.exchanges, written.what)
    shell.talk(f"reenact: {run}: {many} written" + (f" to {safe(str(output))}" if output is not None else ""))
    for what, count in written.lost.items():
        shell.talk(f"reenact: not in the file: {safe(what)} ({count})")
    if output is not None and written.runs:
        shell.talk(f"next: python {safe(shlex.quote(str(_script(output))))} agent.py")
