"""``reenact demo``: runs the guided tour."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import click

from reenact.errors import UsageError
from reenact.interfaces.cli.shell import Command

SCRIPT = Path("examples") / "demo.py"
NEEDS = ("openai", "anthropic", "httpx2")
"""The packages that the agents of the tour import."""
_UPWARDS = 4


@click.command(cls=Command, name="demo", short_help="the guided tour", example="reenact demo")
@click.pass_context
def command(ctx: click.Context) -> None:
    """Record failing agents, take the network away and re-enact them.

    The tour runs in a temporary folder and prints each command before it runs it. Its agents use the SDKs of OpenAI and
    Anthropic, but send nothing to either. It needs git.
    """
    script = find_script(Path.cwd(), Path(__file__)) or installed_script()
    if script is None:
        raise UsageError(
            "the demo is not here",
            cause=f"this installation has no {SCRIPT.as_posix()}; a checkout of the project has it",
            next_command="make demo",
        )
    check_needs([name for name in NEEDS if find_spec(name) is None], git=shutil.which("git") is not None)
    ctx.exit(subprocess.run([sys.executable, str(script)], check=False).returncode)


def find_script(directory: Path, module: Path) -> Path | None:
    """The script of the tour in the checkout that this package runs from, or else in the checkout around a directory.
    None if there is neither.

    Another project may have a file of that name, so a checkout counts only if it has this package's sources, too.
    """
    roots = [*module.resolve().parents[: _UPWARDS + 2], directory, *directory.parents]
    for root in roots:
        if (root / SCRIPT).is_file() and (root / "src" / "reenact" / "errors.py").is_file():
            return root / SCRIPT
    return None


def installed_script() -> Path | None:
    """The script of the tour that was installed with this package, found in the list of its files; None if there is
    none."""
    from importlib.metadata import PackageNotFoundError, files  # late: it costs 20 of the 80 ms for --help

    try:
        found = files("reenact") or ()
    except PackageNotFoundError:
        return None
    for each in found:
        place = Path(str(each.locate()))
        if each.as_posix().endswith(f"share/reenact/{SCRIPT.as_posix()}") and place.is_file():
            return place.resolve()
    return None


def check_needs(missing: Sequence[str], *, git: bool) -> None:
    """Refuse the tour where it cannot run.

    Raises:
        UsageError: A package or git is missing.
    """
    if missing:
        raise UsageError(
            f"the agents of the demo import what is not here: {', '.join(missing)}",
            cause="reenact itself needs no SDK, so it brings none along",
            next_command="pip install 'reenact[demo]'",
        )
    if not git:
        raise UsageError(
            "the demo compares two revisions of an agent, and git is not here",
            cause="git is not installed, or not on PATH",
            next_command="which git",
        )
