"""Every command that a message proposes, and every command that a text names, is one that this version has."""

from __future__ import annotations

import ast
import re
import shlex
import sys
from pathlib import Path

import click
import pytest

from reenact.interfaces.cli.command_table import BY_NAME
from reenact.interfaces.cli.main import cli
from tests import commands
from tests.cli.proposals import STAND_IN, proposed

OTHERS = {"exec", "export", "pip", "python", "git", "make", "which", "ls", "df", "ray"}
"""Programs of the system, or of a checkout, that a message may propose."""

WITHOUT = {
    "replaying/agent_process.py: NoReport {}": "the text that it hands on has its own",
    "replaying/caller.py: UnreplayableRun the entry point {}": "who looks it up knows the run, and adds it",
    "replaying/caller.py: UnreplayableRun the recorded entry point is shown, not called: {}": "as above",
    "store/memory_store.py: StoreBusy run {}": "no command reaches a store in memory",
    "store/memory_store.py: StoreError there is a run {}": "ids are made here: it is a fault of ours",
    "store/memory_store.py: StoreError the log is closed": "a recorder writes it, no user",
    "store/sqlite_log.py: StoreError the log is closed": "as above",
    "store/sqlite_log.py: StoreError a record cannot be stored: {}": "as above",
    "store/versions.py: StoreError there is no way from store format {}": "a migration is missing here",
    "timetravel/asking/asker.py: EffectRefused why": "its cause names the setting",
}
"""Errors that propose no command, each with the reason."""

_NAMED = re.compile(r"\breenact (?:--store \S+ )?([a-z]+)\b")


def _parsed(words: list[str]) -> None:
    """Parse as the command line would, without doing it."""
    if words == ["--help"]:
        return
    at = 2 if words[0] == "--store" else 0
    name, *arguments = words[at:]
    assert name in BY_NAME and BY_NAME[name].available, f"{name} is not available yet"
    context = click.Context(cli, info_name="reenact")
    command = cli.get_command(context, name)
    assert command is not None
    if "--help" not in arguments:
        command.make_context(name, arguments, parent=context)


def test_every_proposed_command_is_one_that_works(checkout: Path) -> None:
    handed_on = {"", STAND_IN, f"REENACT_DEBUG=1 reenact {STAND_IN}"}
    every = [(place, text) for place, text in proposed(checkout) if text not in handed_on]
    assert len(every) > 400, "the sources were not read"
    wrong = []
    for place, text in every:
        words = shlex.split(text.removeprefix("REENACT_DEBUG=1 "))
        try:
            if words[0] == "reenact":
                _parsed(words[1:])
            else:
                assert words[0] in OTHERS, f"{words[0]} is no program of ours"
        except (click.ClickException, AssertionError) as error:
            wrong.append(f"{place}: {text}: {error}")
    assert not wrong, "\n".join(wrong)


def test_every_error_proposes_a_command_or_says_why_not(checkout: Path) -> None:
    package = checkout / "src" / "reenact"
    trees = {path.relative_to(package).as_posix(): ast.parse(path.read_text("utf-8")) for path in package.rglob("*.py")}
    classes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    names = {"ReenactError"}
    for _ in range(3):  # none is deeper
        names |= {each.name for each in classes if names & {ast.unparse(base) for base in each.bases}}
    without = set()
    for place, tree in trees.items():
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names):
                continue
            if node.args and not {"next_command", None} & {each.arg for each in node.keywords}:
                text = ast.unparse(node.args[0]).removeprefix("f").strip("'\"")
                without.add(f"{place}: {node.func.id} {re.sub(r'{.*', '{}', text)}")
    assert without == set(WITHOUT)


@pytest.mark.parametrize("folder", ["src", "docs", "examples", "README.md"])
def test_no_text_sends_anybody_to_a_command_that_is_not_there_yet(checkout: Path, folder: str) -> None:
    place = checkout / folder
    files = [place] if place.is_file() else [*place.rglob("*.py"), *place.rglob("*.md")]
    assert files
    wrong = [
        f"{path.relative_to(checkout)}: reenact {name}"
        for path in files
        if path.name != "cli.md"  # the reference lists what is planned, as planned
        for name in _NAMED.findall(path.read_text(encoding="utf-8"))
        if name in BY_NAME and not BY_NAME[name].available
    ]
    assert not wrong, "\n".join(wrong)


def test_a_store_that_was_named_is_named_in_what_comes_next(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("print('once')\n")
    (tmp_path / "pyproject.toml").write_text("")

    def reenact(*words: str, status: int = 0) -> str:
        argv = [sys.executable, "-m", "reenact", "--store", "other place", *words]
        done = commands.run(argv, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        return str(done.stderr)

    assert "-> reenact --store 'other place' show " in reenact("record", "--", sys.executable, "agent.py")
    assert "next: reenact --store 'other place' replay " in reenact("show", "@")
    assert "next: reenact --store 'other place' ls\n" in reenact("show", "nosuch", status=2)
    assert "next: reenact --help" in reenact("nosuch", status=2)
