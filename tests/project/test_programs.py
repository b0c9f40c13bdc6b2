"""A program under test of 20 lines or more is a file, which linters and mypy read, and says what it does."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PROGRAMS = sorted(TESTS.glob("*/programs/*.py"))
LONG = 20
"""From so many lines on a program is a file."""
pytestmark = pytest.mark.once

DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
BEGINS = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef


def docstring(node: DOCUMENTED) -> ast.expr | None:
    """The expression that documents a node."""
    first = node.body[0] if node.body else None
    return first.value if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else None


def is_program(text: str) -> bool:
    """Whether a text parses, and imports or defines something at its top level."""
    try:
        tree = ast.parse(textwrap.dedent(text))
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(each, BEGINS) for each in tree.body)


def programs_in_strings(source: str) -> Iterator[int]:
    """The lines at which a module has a long program in a string."""
    nodes = list(ast.walk(ast.parse(source)))
    documents = [docstring(node) for node in nodes if isinstance(node, DOCUMENTED)]
    for node in nodes:
        if not isinstance(node, ast.Constant) or node in documents:
            continue
        if isinstance(node.value, str) and node.value.count("\n") >= LONG and is_program(node.value):
            yield node.lineno


def test_a_long_program_is_no_string() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        for line in programs_in_strings(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "move it to a file in programs/, and read it by tests.programs.read_program"


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("AGENT = '''\nimport os\n" + "print(os)\n" * 20 + "'''", [1]),
        ("\nmade = f(a, '''\n    def main():\n" + "        print()\n" * 20 + "''')", [2]),
        ("AGENT = '''\nimport os\n" + "print(os)\n" * 17 + "'''", []),
        ("AGENT = '''\n" + "said, and no program\n" * 20 + "'''", []),
        ("def f():\n    '''\n    import os\n" + "    print(os)\n" * 20 + "    '''", []),
    ],
    ids=["of a module", "of a call", "short", "words", "docstring"],
)
def test_what_a_long_program_is(source: str, lines: list[int]) -> None:
    assert list(programs_in_strings(source)) == lines


def test_each_program_says_what_it_does_and_is_used() -> None:
    tests = "".join(
        path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("*.py")) if path.parent.name != "programs"
    )
    for path in PROGRAMS:
        name = f"{path.parts[-3]}/{path.name}"
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), f"{name} does not say what it does"
        assert f'"{name}"' in tests, f"{name} is read by no test"
