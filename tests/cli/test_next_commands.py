"""Every command that a message proposes, and every command that a text names, is one that this version has."""

from __future__ import annotations

import ast
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from reenact.interfaces.cli.main import cli
from reenact.interfaces.cli.table import BY_NAME

OTHERS = {"exec", "export", "pip", "python", "git", "make", "which", "ls", "df", "ray"}
"""Programs of the system, or of a checkout, that a message may propose."""

_NAMED = re.compile(r"\breenact (?:--store \S+ )?([a-z]+)\b")
_STAND_IN = "x"
_HANDED_ON = frozenset(
    {"next_command", "instead", "data['next']", "data['next_command']", "self.next_command", "error.next_command"}
)
"""Expressions that only hand on what was written elsewhere."""
_BEGINNINGS = {
    "about": "golden",
    "self._named.again()": f"reenact golden add @golden/{_STAND_IN} --as {_STAND_IN} --force",
    "self.remedy(url)": f"export MODEL_BASE_URL={_STAND_IN}",
    "recording_command(entry.argv)": f"reenact record -- python {_STAND_IN}",
    "recording_command(run.entry.argv)": f"reenact record -- python {_STAND_IN}",
    "_replaying(golden, opened)": f"reenact replay {_STAND_IN} --cmd {_STAND_IN}",
    "again": f"reenact golden add {_STAND_IN} --as {_STAND_IN} --expect {_STAND_IN}",
}
"""Beginnings that are put together of what a run or a golden has; a test of its own types each."""

_SHOWS = {"self._next", "self.next", "self.saying.next"}
"""Calls that give the command which shows an event, or its run."""
_FORKS = "again"
"""The call that gives the command which makes a fork again; a test of its own types each."""


def _texts(node: ast.expr) -> Iterator[str]:
    """Every text an expression can become, a stand-in for each part that only the run knows."""
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.JoinedStr):
        parts = [[_part(part)] for part in node.values]
        yield from ("".join(choice) for choice in itertools.product(*parts))
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _texts(value)
    elif isinstance(node, ast.BinOp):
        yield from (left + right for left in _texts(node.left) for right in _texts(node.right))
    elif ast.unparse(node) in _HANDED_ON:
        return
    elif ast.unparse(node) in _BEGINNINGS:
        yield _BEGINNINGS[ast.unparse(node)]
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == _FORKS:
        yield f"reenact fork {_STAND_IN}"
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in {*_SHOWS, "_reference", "tail"}:
        yield f"reenact show {_STAND_IN}" if ast.unparse(node.func) in _SHOWS else _STAND_IN
    else:
        raise AssertionError(f"a next command that this test cannot read: {ast.unparse(node)}")


def _part(part: ast.expr) -> str:
    """A part of a text that is put together."""
    if isinstance(part, ast.Constant):
        return str(part.value)
    assert isinstance(part, ast.FormattedValue)
    if isinstance(part.value, ast.Call) and ast.unparse(part.value.func) == _FORKS:
        return f"reenact fork {_STAND_IN}"
    return _BEGINNINGS.get(ast.unparse(part.value), _STAND_IN)


def _proposed(checkout: Path) -> Iterator[tuple[str, str]]:
    for path in sorted((checkout / "src").rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        inner = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in nodes:
            given: list[ast.expr] = []
            if isinstance(node, ast.keyword) and node.arg == "next_command":
                given = [node.value]
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "_not_yet":
                given = [node.args[1]]
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).endswith("next_command"):
                given = [node.value]
            elif isinstance(node, (ast.Constant, ast.JoinedStr)) and id(node) not in inner:
                for text in _texts(node):
                    yield from ((f"{path.name}:{node.lineno}", line) for line in re.findall(r"next: (\S.*)", text))
            for expression in given:
                yield from ((f"{path.name}:{expression.lineno}", text) for text in _texts(expression))


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
    if arguments != ["--help"]:
        command.make_context(name, arguments, parent=context)


def test_every_proposed_command_is_one_that_works(checkout: Path) -> None:
    handed_on = {"", _STAND_IN, f"REENACT_DEBUG=1 reenact {_STAND_IN}"}
    proposed = [(place, text) for place, text in _proposed(checkout) if text not in handed_on]
    assert len(proposed) > 80, "the sources were not read"
    wrong = []
    for place, text in proposed:
        words = shlex.split(text.removeprefix("REENACT_DEBUG=1 "))
        try:
            if words[0] == "reenact":
                _parsed(words[1:])
            else:
                assert words[0] in OTHERS, f"{words[0]} is no program of ours"
        except (click.ClickException, AssertionError) as error:
            wrong.append(f"{place}: {text}: {error}")
    assert not wrong, "\n".join(wrong)


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
