"""``reenact init``: sets up a project."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from reenact.abc.project_settings import OWN_FILE
from reenact.errors import UsageError
from reenact.facts.settings import SETTINGS
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.interfaces.completion.shells import SHELLS, installation, shell_of

IGNORED = ".reenact/"
SHOWN = "*.reenact diff=reenact"
TEXTCONV = 'git config diff.reenact.textconv "reenact textconv --git"'


@click.command(
    cls=Command, name="init", short_help="set a project up", example="reenact init\nreenact init --completion"
)
@click.option(
    "--completion",
    is_flag=False,
    flag_value="",
    type=click.Choice((*SHELLS, "")),
    metavar="[bash|zsh|fish]",
    help="Instead, complete commands, runs, goldens, labels and tools in your shell; by default that of $SHELL.",
)
@click.pass_context
def command(ctx: click.Context, completion: str | None) -> None:
    """Write reenact.toml with every setting as a comment, keep .reenact/ out of git, and name packed runs to git diff.

    No existing file is overwritten. Git shows packed runs as text after this command, once on each machine: git config
    diff.reenact.textconv "reenact textconv --git"
    """
    shell = current(ctx)
    if completion is not None:
        _complete(shell, completion or shell_of(os.environ))
        return
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
    """The text of a new ``reenact.toml``: every setting at its default, as a comment."""
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
    """Add a line to a file that git reads. The other lines and their line ends stay unchanged."""
    before = path.read_bytes() if path.exists() else b""
    names = {each.strip().decode(errors="replace").strip("/") for each in before.splitlines()}
    if line.strip("/") in names:
        return "left as it is"
    with path.open("ab") as file:
        file.write((b"" if not before or before.endswith(b"\n") else b"\n") + line.encode() + b"\n")
    return f"{line} added" if before else "written"


def _complete(shell: Shell, name: str) -> None:
    """Install the completion in the user's shell."""
    if not name:
        raise UsageError(
            f"no completion for the shell {os.environ.get('SHELL') or 'of this terminal'}",
            cause=f"there is one for {', '.join(SHELLS)}",
            next_command="reenact init --completion bash",
        )
    found = installation(name, os.environ)
    try:
        found.script.parent.mkdir(parents=True, exist_ok=True)
        found.script.write_text(found.text, encoding="utf-8")
        _tell(shell, str(found.script), "written")
        if found.start is not None:
            _tell(shell, str(found.start), _added(found.start, found.line).replace(found.line, "a line"))
    except OSError as error:
        raise UsageError(
            f"the completion for {name} cannot be written: {error.strerror}",
            cause=f"{error.filename or found.script} is not yours to write",
            next_command="ls -la ~",
        ) from None
    shell.next(f"exec {name}")


def _tell(shell: Shell, path: str, done: str) -> None:
    if shell.json:
        shell.line({"file": path, "done": done})
    else:
        shell.data(f"{path}: {done}")
