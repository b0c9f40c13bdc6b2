"""The imports of a project's sources, read from their syntax: no file of the project is imported or run."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

from reenact.facts.lazy_dataclass import dataclass, field

MOST_FILES = 5_000
LARGEST = 1 << 20
"""Bounds of one look at a project: its source files, and the bytes of one file."""

_SKIPPED = frozenset(
    ("node_modules", "site-packages", "__pycache__", "build", "dist", "tests", "test", "testing", "docs")
)
_MARKS = frozenset(("tool", "model", "retriever", "step", "record"))


@dataclass(slots=True)
class SourceImports:
    """The imports in the sources of a project.

    Attributes:
        files: Number of files read.
        unread: Files that are no Python, or too long, relative to the project.
        modules: Imported module, as written, to the first places it is imported at (``file:line``).
        marks: Decorators and calls of ours (``tool`` …) to their places.
        cut: Whether there were more files than are looked at.
    """

    files: int = 0
    unread: list[str] = field(default_factory=list)
    modules: dict[str, list[str]] = field(default_factory=dict)
    marks: dict[str, list[str]] = field(default_factory=dict)
    cut: bool = False


def imports_of(folder: str) -> SourceImports:
    """Read every source file of a project, tests and environments left out.

    Args:
        folder: The project.

    Returns:
        Their imports. About 2 ms a file.
    """
    found = SourceImports()
    for path in _sources(folder):
        if found.files >= MOST_FILES:
            found.cut = True
            break
        name = os.path.relpath(path, folder).replace(os.sep, "/")
        try:
            if os.path.getsize(path) > LARGEST:
                raise ValueError("too long")
            with open(path, "rb") as file:
                tree = ast.parse(file.read(), filename=name)
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            found.unread.append(name)
            continue
        found.files += 1
        _Reader(name, found).visit(tree)
    return found


def _sources(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if _wanted(os.path.join(place, name), name))
        for name in sorted(files):
            if name.endswith(".py") and not name.startswith("test_") and name != "conftest.py":
                yield os.path.join(place, name)


def _wanted(path: str, name: str) -> bool:
    """Whether a folder holds sources of the project: no environment, no cache, no tests."""
    if name.startswith(".") or name in _SKIPPED or name.endswith(".egg-info"):
        return False
    return not os.path.exists(os.path.join(path, "pyvenv.cfg"))


class _Reader(ast.NodeVisitor):
    """Notes the imports of one file, and the marks of ours."""

    def __init__(self, file: str, found: SourceImports) -> None:
        self._file = file
        self._found = found
        self._ours: dict[str, str] = {}
        """Local names of our functions."""

    def _note(self, kept: dict[str, list[str]], name: str, node: ast.AST) -> None:
        kept.setdefault(name, []).append(f"{self._file}:{getattr(node, 'lineno', 0)}")

    def visit_Import(self, node: ast.Import) -> None:
        for each in node.names:
            self._note(self._found.modules, each.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or not node.module:
            return
        if node.module == "reenact":
            self._ours.update({each.asname or each.name: each.name for each in node.names if each.name in _MARKS})
        for each in node.names:
            # ``from google import genai`` and ``from urllib import request`` import modules; names of other objects do
            # no harm.
            self._note(self._found.modules, f"{node.module}.{each.name}", node)

    def visit_If(self, node: ast.If) -> None:
        test = node.test
        name = test.id if isinstance(test, ast.Name) else test.attr if isinstance(test, ast.Attribute) else ""
        for child in node.orelse if name == "TYPE_CHECKING" else (*node.body, *node.orelse):
            self.visit(child)
        if name != "TYPE_CHECKING":
            self.visit(test)

    def visit_Call(self, node: ast.Call) -> None:
        name = _dotted(node.func)
        if name in ("importlib.import_module", "import_module", "__import__") and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                self._note(self._found.modules, first.value, node)
        elif name in ("os.system", "os.popen", "asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell"):
            self._note(self._found.modules, "subprocess", node)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and node.value.id == "reenact" and node.attr in _MARKS:
            self._note(self._found.marks, node.attr, node)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self._ours:
            self._note(self._found.marks, self._ours[node.id], node)


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return ""
