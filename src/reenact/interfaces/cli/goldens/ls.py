"""``reenact golden ls``: the goldens of this project."""

from __future__ import annotations

import click

from reenact.errors import ReenactError
from reenact.facts.ids import tail
from reenact.interfaces.cli.shell import Command, current
from reenact.testing.goldens.opened import OpenGolden, open_golden
from reenact.testing.goldens.shelf import open_shelf
from reenact.timetravel.preview import safe


@click.command(cls=Command, name="ls", short_help="list the goldens of this project", example="reenact golden ls")
@click.argument("names", nargs=-1)
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...]) -> None:
    """List the goldens of this project, or those of NAMES (which may be patterns: checkout/*)."""
    shell = current(ctx)
    shelf = open_shelf()
    found = shelf.matching(names)
    for name in found:
        try:
            golden = open_golden(shelf.path(name))
        except ReenactError as error:
            shell.line({"name": name, "error": error.message}) if shell.json else shell.data(
                f"{name}  cannot be read: {safe(error.message)}"
            )
            continue
        if shell.json:
            shell.line(golden.golden.to_json() | {"run": golden.recorded.id, "file": shelf.shown(golden.path)})
        else:
            shell.data(_line(golden))
    if not found:
        shell.talk("reenact: there are no goldens yet")
        shell.next("reenact golden add @failed --as NAME --expect EXPR")
    else:
        shell.next(f"reenact golden run {found[0]}")


def _line(opened: OpenGolden) -> str:
    golden = opened.golden
    what = "; ".join(each.text for each in opened.expectations) if golden.judged else "must stay the same"
    fixed = "  with its fix" if opened.fixed is not None else ""
    about = f"  {golden.about}" if golden.about else ""
    return safe(f"{golden.name}  {tail(opened.recorded.id)}{fixed}  {what}{about}")
