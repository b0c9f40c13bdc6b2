"""``reenact demo``: the guided tour."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

from reenact.errors import UsageError
from reenact.interfaces.cli.shell import Command

SCRIPT = Path("examples") / "demo.py"
_UPWARDS = 4


@click.command(cls=Command, name="demo", short_help="the guided tour", example="reenact demo")
@click.pass_context
def command(ctx: click.Context) -> None:
    """Record failing agents, take the network away and re-enact them.

    The tour is examples/demo.py of the project, and needs a checkout of it.
    """
    script = find_script(Path.cwd(), Path(__file__))
    if script is None:
        raise UsageError(
            "the demo is not part of the installed package",
            cause=f"it is {SCRIPT.as_posix()} in a checkout of the project: run it there",
            next_command="make demo",
        )
    ctx.exit(subprocess.run([sys.executable, str(script)], check=False).returncode)


def find_script(directory: Path, module: Path) -> Path | None:
    """The demo of the checkout this package runs from, else of the one around a directory; None without either.

    A file of that name in a stranger's directory is not ours: the checkout must hold this package's sources too.
    """
    roots = [*module.resolve().parents[: _UPWARDS + 2], directory, *directory.parents]
    for root in roots:
        if (root / SCRIPT).is_file() and (root / "src" / "reenact" / "errors.py").is_file():
            return root / SCRIPT
    return None
