"""``reenact golden ls``: lists the goldens of this project."""

from __future__ import annotations

import click

from reenact.errors import ReenactError
from reenact.facts.ids import tail
from reenact.facts.marks import SHORT
from reenact.facts.shell_text import typed
from reenact.interfaces.cli.goldens.history_lines import history_lines
from reenact.interfaces.cli.shell import Command, current
from reenact.testing.goldens.golden_dir import open_golden_dir
from reenact.testing.goldens.golden_of_import import JUDGED
from reenact.testing.goldens.opened_golden import OpenGolden, open_golden
from reenact.testing.goldens.verified_passes import verified
from reenact.timetravel.preview import safe


@click.command(
    cls=Command, name="ls", short_help="list the goldens of this project", example="reenact golden ls --history"
)
@click.argument("names", nargs=-1)
@click.option("--history", is_flag=True, help="What has become of each: when it was added, what was accepted, and why.")
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...], history: bool) -> None:
    """List the goldens of this project, or those of NAMES (which may be patterns: checkout/*)."""
    shell = current(ctx)
    golden_dir = open_golden_dir()
    found = golden_dir.matching(names)
    for name in found:
        try:
            golden = open_golden(golden_dir.path(name))
        except ReenactError as error:
            shell.line({"name": name, "error": error.message}) if shell.json else shell.data(
                f"{name}  cannot be read: {safe(error.message)}"
            )
            continue
        if shell.json:
            shell.line(golden.golden.to_json() | {"run": golden.recorded.id, "file": golden_dir.shown(golden.path)})
        else:
            shell.data(_line(golden))
            for line in history_lines(golden.golden) if history else ():
                shell.data(f"    {line}")
    if not found:
        shell.talk("reenact: there are no goldens yet")
        shell.next("reenact golden add @failed --as first --expect \"status == 'ok'\"")
    else:
        shell.next(typed(["reenact", "golden", "run", *names]))


def _line(opened: OpenGolden) -> str:
    golden = opened.golden
    what = "; ".join(each.text for each in opened.expectations) if golden.judged else "must stay the same"
    reviewed = any(change.what == "reviewed" for change in golden.history)
    fixed = "" if opened.fixed is None else "  reviewed" if reviewed else "  with its fix"
    unproven = "  not proven on the recorded code" if golden.proven is False else ""
    unproven += f"  {JUDGED}" if golden.starts else ""
    seen = verified(golden)
    unproven += f"  verified on {seen.reason} ({seen.revision[:SHORT]})" if seen else ""
    about = f"  {golden.about}" if golden.about else ""
    return safe(f"{golden.name}  {tail(opened.recorded.id)}{fixed}  {what}{unproven}{about}")
