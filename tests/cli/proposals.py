"""Every command that a message proposes, read from the sources: a stand-in for each part that only a run knows."""

from __future__ import annotations

import ast
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

STAND_IN = "x"
_HANDED_ON = frozenset(
    {
        *("next_command", "instead", "first", "data['next']", "data['next_command']", "self.next_command", "named"),
        *(
            "error.next_command",
            "self._saying.of_run(error.next_command)",
            "unkept.next_command",
            "now.next_command",
            "bad.next_command",
            "outcome.next_command",
            "in_store(told.next_command, store_url)",
        ),
    }
)
"""Expressions that only hand on what was written elsewhere."""
_BEGINNINGS = {
    "about": "golden",
    "self._named.again()": f"reenact golden add @golden/{STAND_IN} --as {STAND_IN} --force",
    "self.remedy(url)": f"export MODEL_BASE_URL={STAND_IN}",
    "recording_command(entry.argv)": f"reenact record -- python {STAND_IN}",
    "recording_command(run.entry.argv)": f"reenact record -- python {STAND_IN}",
    "forking(run, added.writes)": f"reenact fork {STAND_IN}:0 --live reads",
    "_replaying(golden, opened)": f"reenact replay {STAND_IN} --cmd {STAND_IN}",
    "self._opening(call, path)": f"reenact replay {STAND_IN} --live {STAND_IN}",
    "through(tool, run)": f"reenact replay {STAND_IN} --through {STAND_IN}",
    "again": f"reenact golden add {STAND_IN} --as {STAND_IN} --expect {STAND_IN}",
}
"""Beginnings that are put together of what a run or a golden has; a test of its own types each."""

_SAYS = {"shell.next": 1, "_nothing": 2}
"""Calls whose last argument is a command to run next, and how many they take."""
_GIVES = {"_next_command", "_next", "onward"}
"""Functions that give a command to run next."""
_MAY_PROPOSE = re.compile("|".join(["next_command", "_not_yet", "_NEXT", "next: ", *map(re.escape, _SAYS), *_GIVES]))
"""What stands in each file that proposes a command."""
_SHOWS = {"self._next", "self.next", "self.saying.next"}
"""Calls that give the command which shows an event, or its run."""
_FORKS = {"again", "allowing"}
"""The calls that give the command which makes a fork again; a test of its own types each."""
_ADDS = "adding"
"""The call that gives the command which adds a golden again, with other values of some parameters."""


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
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in _FORKS:
        yield f"reenact fork {STAND_IN}"
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == _ADDS:
        options = [
            shlex.join([f"--{each.arg}", each.value.value])
            for each in node.keywords
            if isinstance(each.value, ast.Constant) and isinstance(each.value.value, str)
        ]
        yield " ".join([f"reenact golden add {STAND_IN} --as {STAND_IN} --expect {STAND_IN}", *options])
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "safe":
        yield from _texts(node.args[0])
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "typed" and isinstance(node.args[0], ast.List):
        yield shlex.join(
            str(each.value) if isinstance(each, ast.Constant) else STAND_IN
            for each in node.args[0].elts
            if not isinstance(each, ast.Starred)
        )
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"next", "_NEXT.get"}:
        yield from _texts(node.args[1])
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in _GIVES:
        return  # what it gives is read where it is defined
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in {*_SHOWS, "_reference", "tail"}:
        yield f"reenact show {STAND_IN}" if ast.unparse(node.func) in _SHOWS else STAND_IN
    else:
        raise AssertionError(f"a next command that this test cannot read: {ast.unparse(node)}")


def _part(part: ast.expr) -> str:
    """A part of a text that is put together."""
    if isinstance(part, ast.Constant):
        return str(part.value)
    assert isinstance(part, ast.FormattedValue)
    if isinstance(part.value, ast.Call) and ast.unparse(part.value.func) in _FORKS:
        return f"reenact fork {STAND_IN}"
    return _BEGINNINGS.get(ast.unparse(part.value), STAND_IN)


def proposed(checkout: Path) -> Iterator[tuple[str, str]]:
    for path in sorted((checkout / "src").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if not _MAY_PROPOSE.search(source):
            continue  # to parse every file takes each process of the suite seconds
        nodes = list(ast.walk(ast.parse(source)))
        inner = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in nodes:
            given: list[ast.expr] = []
            if isinstance(node, ast.keyword) and node.arg == "next_command":
                given = [node.value]
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "_not_yet":
                given = [node.args[1]]
            elif (
                isinstance(node, ast.Call)
                and ast.unparse(node.func) in _SAYS
                and len(node.args) == _SAYS[ast.unparse(node.func)]
            ):
                given = [node.args[-1]]
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).endswith("next_command"):
                given = [node.value]
            elif (
                isinstance(node, ast.Assign)
                and ast.unparse(node.targets[0]) == "_NEXT"
                and isinstance(node.value, ast.Dict)
            ):
                given = node.value.values
            elif isinstance(node, ast.FunctionDef) and node.name in _GIVES and "interfaces" in path.parts:
                given = [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value]
            elif isinstance(node, (ast.Constant, ast.JoinedStr)) and id(node) not in inner:
                for text in _texts(node):
                    yield from ((f"{path.name}:{node.lineno}", line) for line in re.findall(r"next: (\S.*)", text))
            for expression in given:
                yield from ((f"{path.name}:{expression.lineno}", text) for text in _texts(expression))
