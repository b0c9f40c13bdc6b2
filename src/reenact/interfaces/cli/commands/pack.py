"""``reenact pack``: writes one run into one file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import click

from reenact.abc.project_settings import load_settings
from reenact.errors import UsageError
from reenact.facts.ids import tail
from reenact.facts.phrases import counted
from reenact.interfaces.cli.arguments import whole_run
from reenact.interfaces.cli.progress import WorkProgress
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.store.back_ends import BUNDLE as SUFFIX
from reenact.timetravel.bundling.packing import BundleCheck, PackResult, check, pack
from reenact.timetravel.preview import duration, safe

_PLACES = 4
_LONG_US = 2_000_000
"""The duration of a run from which the user is told that its replay may take a while."""


@click.command(
    cls=Command,
    name="pack",
    short_help="one run as one file, redacted",
    example="""
    reenact pack @failed -o incident.reenact
    reenact replay incident.reenact
    """,
)
@click.argument("ref", default="@")
@click.option("-o", "--output", metavar="FILE.reenact", required=True, help="The file to write.")
@click.option("--no-check", is_flag=True, help="Do not replay the result.")
@click.pass_context
def command(ctx: click.Context, ref: str, output: str, no_check: bool) -> None:
    """Write REF (default: @, the last run) into one file that replays on another machine, without the store.

    Runs that were recorded inside it, and those that its replay needs, are included. Credentials are removed once more
    and their places listed; nothing is written while one is left. Possible personal data is listed, not removed. The
    file is then replayed once in a separate process; the verdict is printed, and the exit code is that of the replay.
    """
    shell = current(ctx)
    path = Path(output)
    if path.suffix != SUFFIX or path.name == SUFFIX:
        raise UsageError(
            f"{output} is no name of a bundle",
            cause=f"it must end in {SUFFIX}, so that every command recognises it",
            next_command=f"reenact pack {shlex.quote(ref)} -o {shlex.quote(path.stem or 'run')}{SUFFIX}",
        )
    with opened(shell, ref) as store:
        run = store.run(whole_run(ref))
        with WorkProgress(f"packing {counted(run.totals.events, 'event')}"):
            packed = pack(store, [("run", run)], path, redact=dict(load_settings()["redact"].value))
    lasted = run.lasted_us or 0
    if not no_check and lasted >= _LONG_US and not shell.json:
        shell.talk(f"reenact: replaying it, as a check: the recorded run took {duration(lasted)} when it was recorded")
    checked = None if no_check else check(path, run)
    if shell.json:
        shell.line(_data(packed, checked))
    else:
        _tell(shell, packed, checked)
    ctx.exit(checked.exit_code if checked is not None else 0)


def _data(packed: PackResult, checked: BundleCheck | None) -> dict[str, object]:
    return {
        "file": str(packed.path),
        "digest": packed.digest,
        "runs": list(packed.runs),
        "removed": [{"run": run, "place": place} for run, place in packed.removed],
        "personal": [{"run": run, "sort": sort, "places": dict(places)} for run, sort, places in packed.personal],
        "replayed": None if checked is None else {"verdict": checked.verdict, "words": checked.words},
    }


def _tell(shell: Shell, packed: PackResult, checked: BundleCheck | None) -> None:
    size = packed.path.stat().st_size
    more = f" and {len(packed.runs) - 1} that belong to it" if len(packed.runs) > 1 else ""
    shell.data(f"{packed.path}: run {tail(packed.runs[0])}{more}, {-(-size // 1024)} KiB")
    tell_findings(shell, packed)
    if checked is None:
        shell.talk("reenact: not replayed (--no-check): whether it replays is not known yet")
    else:
        shell.talk(f"reenact: replayed in a process of its own: {safe(checked.words)}")
    shell.next(f"reenact replay {shlex.quote(str(packed.path))}")


def tell_findings(shell: Shell, packed: PackResult) -> None:
    """Print the places of removed credentials, and of possible personal data."""
    if packed.removed:
        listed = _shortened([place for _, place in packed.removed])
        shell.talk(f"reenact: credentials removed in {len(packed.removed)} places: {listed}")
    else:
        shell.talk("reenact: no further credential was found: a recording is cleaned when it is made")
    for _, sort, places in packed.personal:
        shell.talk(f"reenact: looks like personal data: {_counted(sort, places)}")
    if packed.personal:
        shell.talk("reenact: personal data is not removed yet: look at it before you hand the file on")


def _counted(sort: str, places: Mapping[str, int]) -> str:
    listed = _shortened([f"{place} ({count})" if count > 1 else place for place, count in places.items()])
    return f"{sort} in {listed}"


def _shortened(places: list[str]) -> str:
    more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
    return ", ".join(places[:_PLACES]) + more
