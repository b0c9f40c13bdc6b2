"""``reenact export``: a run in a format of another tool."""

from __future__ import annotations

from pathlib import Path

import click

from reenact.errors import UsageError
from reenact.facts.ids import tail
from reenact.facts.phrases import counted
from reenact.interfaces.cli.arguments import whole_run
from reenact.interfaces.cli.opening import opened
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.interop.formats import WRITERS, Written, write
from reenact.interop.plain import OURS, script
from reenact.timetravel.preview import safe


@click.command(
    cls=Command,
    name="export",
    short_help="a run in an open format",
    example="""
    reenact export vcr @ -o tests/cassettes/test_refund.yaml
    reenact export har 7f3c > run.har
    reenact export json @ -o run.json
    """,
)
@click.argument("form", metavar="FORMAT", type=click.Choice(WRITERS))
@click.argument("ref", default="@")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write. Default: standard output.")
@click.pass_context
def command(ctx: click.Context, form: str, ref: str, output: Path | None) -> None:
    """Write the HTTP exchanges of REF (default: @, the last run) in a format that other tools read.

    FORMAT is vcr (a cassette that VCR.py plays back; in JSON where the file ends in .json), har (an HTTP archive 1.2)
    or json (plain data). With -o, json also writes a script of thirty lines beside the file, which runs a Python
    program against the recorded answers without reenact.

    Such files hold exchanges alone: what else the run has is counted on standard error.
    """
    shell = current(ctx)
    with opened(shell) as store:
        run = store.run(whole_run(ref))
        written = write(form, store.open(run), as_json=output is not None and output.suffix == ".json")
    if output is None:
        shell.raw(written.data)
    else:
        _save(output, written)
    _tell(shell, written, output, tail(run.id))


def _script(output: Path) -> Path:
    """Where the script of a file lies."""
    return output.with_name(f"{output.stem}_offline.py")


def _save(output: Path, written: Written) -> None:
    """Write the file, and its script beside it; a script of somebody else's is never overwritten."""
    try:
        if written.runs:
            beside = _script(output)
            if beside.exists() and not beside.read_text(encoding="utf-8", errors="replace").startswith(OURS):
                raise UsageError(
                    f"{beside} is there already, and is none of ours",
                    cause="the script that belongs to the export would lie there",
                    next_command="reenact export json @ -o run.json",
                )
            beside.write_text(script(output.name), encoding="utf-8")
        output.write_bytes(written.data)
    except OSError as error:
        raise UsageError(
            f"{error.filename} cannot be written: {error.strerror}",
            cause="its folder is not there, or its permissions",
            next_command="reenact export --help",
        ) from None


def _tell(shell: Shell, written: Written, output: Path | None, run: str) -> None:
    if shell.json and output is not None:
        shell.line({"file": str(output), "exchanges": written.exchanges, "lost": dict(written.lost)})
    many = counted(written.exchanges, "exchange")
    shell.talk(f"reenact: {run}: {many} written" + (f" to {safe(str(output))}" if output is not None else ""))
    for what, count in written.lost.items():
        shell.talk(f"reenact: not in the file: {count} {safe(what)}")
    if output is not None and written.runs:
        shell.talk(f"next: python {safe(str(_script(output)))} agent.py")
