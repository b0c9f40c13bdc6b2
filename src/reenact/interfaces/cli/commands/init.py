"""``reenact init``: set a project up."""

from __future__ import annotations

import json
from pathlib import Path

import click

from reenact.abc.settings import OWN_FILE
from reenact.facts.settings import SETTINGS
from reenact.interfaces.cli.shell import Command, Shell, current

IGNORED = ".reenact/"
SHOWN = "*.reenact diff=reenact"
TEXTCONV = 'git config diff.reenact.textconv "reenact textconv --git"'


@click.command(cls=Command, name="init", short_help="set a project up", example="reenact init")
@click.pass_context
def command(ctx: click.Context) -> None:
    """Write reenact.toml with every setting as a comment, keep .reenact/ out of git, and name packed runs to git diff.

    Nothing that is there already is overwritten. Git shows packed runs as text once it is told how, on each machine:
    git config diff.reenact.textconv "reenact textconv --git"
    """
    shell = current(ctx)
    here = Path.cwd()
    for path, done in (
        (OWN_FILE, _settings(here / OWN_FILE)),
        (".gitignore", _added(here / ".gitignore", IGNORED)),
        (".gitattributes", _added(here / ".gitattributes", SHOWN)),
    ):
        _tell(shell, path, done)
    if not shell.json:
        shell.talk(f"for git diff of packed runs, once on each machine: {TEXTCONV}")
    shell.next("reenact record -- python agent.py")


def template() -> str:
    """The text of a fresh ``reenact.toml``: every setting at its default, commented out."""
    parts = [
        "# Settings of reenact for this project. Uncomment what you change; `reenact config` shows what is in force."
    ]
    for setting in SETTINGS:
        default = setting.default
        shown = "{}" if default == {} else json.dumps(default if default is not None else "")
        parts.append(f"# {setting.about}\n# {setting.name} = {shown}")
    return "\n\n".join(parts) + "\n"


def _settings(path: Path) -> str:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(template())
    except FileExistsError:
        return "left as it is"
    return "written"


def _added(path: Path, line: str) -> str:
    """One line more in a file of git's; its other lines and their ends stay as they are."""
    before = path.read_bytes() if path.exists() else b""
    names = {each.strip().decode(errors="replace").strip("/") for each in before.splitlines()}
    if line.strip("/") in names:
        return "left as it is"
    with path.open("ab") as file:
        file.write((b"" if not before or before.endswith(b"\n") else b"\n") + line.encode() + b"\n")
    return f"{line} added" if before else "written"


def _tell(shell: Shell, path: str, done: str) -> None:
    if shell.json:
        shell.line({"file": path, "done": done})
    else:
        shell.data(f"{path}: {done}")
