"""Tells which functions of the recorded source files have changed, for a golden that does not run them."""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Iterator, Mapping
from typing import Final

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def changed_functions(texts: Mapping[str, str], folder: str, names: Collection[str]) -> dict[str, str]:
    """The functions that have changed, with the file of each; a function that no longer exists is not among them.

    A function is known by its name, or by the ``name`` that its decorator gives it. The functions of its file that it
    uses, and those that they use, count as parts of it. Comments and the lay-out of the text do not count.

    Args:
        texts: The recorded source files, by path.
        folder: The folder of relative paths.
        names: The names of the functions.

    Cost: a read of each file; a file that differs and has one of the names is parsed in both versions.
    """
    found: dict[str, str] = {}
    for path, then in sorted(texts.items()):
        held = [name for name in names if name in then]
        now = _text(os.path.join(folder, path)) if held else then
        if now != then:
            before, today = _functions(then), _functions(now)
            found |= {name: path for name in held if name in today and before.get(name) not in (None, today[name])}
    return found


def _functions(text: str) -> dict[str, frozenset[str]]:
    """The functions of a source text, each as its own text and those of the functions that it uses."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    own = {name: node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS) for name in _names_of(node)}
    uses = {
        name: own.keys() & {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        for name, node in own.items()
    }
    said = {name: ast.dump(node) for name, node in own.items()}
    return {name: frozenset(said[part] for part in _reached(name, uses)) for name in own}


def _names_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    yield node.name
    for call in node.decorator_list:
        for option in call.keywords if isinstance(call, ast.Call) else ():
            if option.arg == "name" and isinstance(option.value, ast.Constant):
                yield str(option.value.value)


def _reached(name: str, uses: Mapping[str, Collection[str]]) -> set[str]:
    found, waiting = {name}, [name]
    while waiting:
        new = set(uses[waiting.pop()]) - found
        found |= new
        waiting += new
    return found


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""
