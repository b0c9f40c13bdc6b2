"""``reenact mark``: sets a mark in time, such as a deploy, across which runs are compared."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from reenact.abc.project_settings import load_settings
from reenact.abc.sources import CLOCK, ENTROPY
from reenact.errors import UsageError
from reenact.facts.ids import tail
from reenact.facts.marks import SHORT, Mark, find_mark
from reenact.facts.settings import policy_of
from reenact.facts.shell_text import typed
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.timetravel.marking import make_mark
from reenact.timetravel.preview import ago, safe


@click.command(
    cls=Command,
    name="mark",
    short_help="a deploy as a line in time, to compare across",
    example="""
    reenact mark "v2 deployed" --rev v2
    reenact mark
    reenact ls --since "v2 deployed"
    reenact stats --by mark
    """,
)
@click.argument("text", required=False, default="")
@click.option("--rev", metavar="GITREV", default="", help="The revision that was deployed; its commit is kept.")
@click.option("--at", metavar="ISO", default="", help="When it happened. Default: now.")
@click.option("--rm", "gone", metavar="MARK", default="", help="Remove a mark.")
@click.pass_context
def command(ctx: click.Context, text: str, rev: str, at: str, gone: str) -> None:
    """Set a mark with TEXT, such as a deploy; without TEXT list the marks.

    Other commands name a mark by its text, the beginning of its id, or @ for the last one. ls, stats, kit, triage and
    experiment take it in --since and --before. stats --by mark adds up the runs between marks. triage lists the groups
    that are new or gone since the last mark. golden run --mark runs the code of the mark's revision, and notes it in
    each golden that passes.
    """
    shell = current(ctx)
    if (gone and (text or rev or at)) or (not text and (rev or at)):
        raise UsageError(
            "a mark is either set, listed or removed",
            cause="--rev and --at belong to a TEXT, and --rm stands alone",
            next_command="reenact mark --help",
        )
    with opened(shell) as store:
        if gone:
            mark = find_mark(store.marks(), gone)
            store.unmark(mark.id)
            _tell(shell, [mark], "removed")
            shell.next("reenact mark")
        elif text:
            policy, here = policy_of(load_settings()), Path.cwd()
            mark = make_mark(
                text, rev=rev, at=at, folder=here, environment=os.environ, policy=policy, clock=CLOCK, entropy=ENTROPY
            )
            store.mark(mark)
            _tell(shell, [mark], "set")
            shell.next(typed(["reenact", "golden", "run", "--mark", mark.text]) if rev else "reenact stats --by mark")
        else:
            marks = store.marks()
            _tell(shell, marks, "")
            if not marks:
                shell.talk("no marks yet")
            shell.next("reenact stats --by mark" if marks else 'reenact mark "v2 deployed" --rev HEAD')


def _tell(shell: Shell, marks: Sequence[Mark], done: str) -> None:
    now = CLOCK.wall_us()
    for mark in marks:
        if shell.json:
            shell.line(mark.to_json() | ({"done": done} if done else {}))
            continue
        when = datetime.fromtimestamp(mark.at_us / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
        parts = [tail(mark.id), when, ago(now - mark.at_us), mark.revision[:SHORT], mark.text]
        shell.data(safe("  ".join(part for part in parts if part)) + (f"  {done}" if done == "removed" else ""))
