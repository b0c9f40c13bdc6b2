"""``reenact init``: set a project up."""

from __future__ import annotations

import json
from pathlib import Path

import click

from reenact.abc.settings import OWN_FILE
from reenact.facts.settings import SETTINGS
from reenact.interfaces.cli.shell import Command, Shell, current

IGNORED = ".reenact/"


@click.command(cls=Command, name="init", short_help="set a project up", example="reenact init")
@click.pass_context
def command(ctx: click.Context) -> None:
    """Write reenact.toml with every setting as a comment, and keep .reenact/ out of git.

    Nothing that is there already is overwritten.
    """
    shell = current(ctx)
    here = Path.cwd()
    for path, done in ((OWN_FILE, _settings(here / OWN_FILE)), (".gitignore", _ignore(here / ".gitignore"))):
        _tell(shell, path, done)
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


def _ignore(path: Path) -> str:
    """One line more in ``.gitignore``; its other lines and their ends stay as they are."""
    before = path.read_bytes() if path.exists() else b""
    names = {line.strip().decode(errors="replace").rstrip("/").lstrip("/") for line in before.splitlines()}
    if IGNORED.rstrip("/") in names:
        return "left as it is"
    with path.open("ab") as file:
        file.write((b"" if not before or before.endswith(b"\n") else b"\n") + IGNORED.encode() + b"\n")
    return f"{IGNORED} added" if before else "written"


def _tell(shell: Shell, path: str, done: str) -> None:
    if shell.json:
        shell.line({"file": path, "done": done})
    else:
        shell.data(f"{path}: {done}")
