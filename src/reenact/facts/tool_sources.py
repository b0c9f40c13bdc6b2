"""Which functions in source code are tools, and which are plain functions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator


def tools_in(tree: ast.AST) -> Iterator[str]:
    """Names of the tools that source code declares: functions under a decorator with *tool* in its name, and names that
    are passed to a function with *tool* in its name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if any(_is_tool(each.func if isinstance(each, ast.Call) else each) for each in node.decorator_list):
                yield node.name
        elif isinstance(node, ast.Call) and _is_tool(node.func):
            yield from _given(node.args[:1], node.keywords)


def plain_in(tree: ast.AST) -> set[str]:
    """Names of functions without a decorator; an empty set where the code makes tools of functions that it does not
    name, as in ``[tool(each) for each in functions]``."""
    found: set[str] = set()
    made: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.decorator_list:
            found.add(node.name)
        elif isinstance(node, ast.Call) and _name(node.func) == "tool":
            made.update(each.id for each in node.args[:1] if isinstance(each, ast.Name))
    return found if made <= found else set()


def _is_tool(node: ast.expr) -> bool:
    return "tool" in _name(node).lower()


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _given(first: Iterable[ast.expr], named: Iterable[ast.keyword]) -> Iterator[str]:
    """The name that a call gives to a tool: a text, or the name of its function argument."""
    for value in (*first, *(each.value for each in named if each.arg and "name" in each.arg)):
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.value
        elif isinstance(value, ast.Name):
            yield value.id
