"""Paths as a run names them: relative to the project where they lie in it, and apart from those of the installation."""

from __future__ import annotations

import os
import sys
from typing import Any, Final

_NOT_THE_AGENTS: Final = frozenset({"site-packages", "dist-packages", "__pycache__", ".reenact"})
_INSTALLED: Final = tuple(
    {os.path.join(os.path.abspath(place), "") for place in (sys.prefix, os.path.dirname(os.path.abspath(os.__file__)))}
)


def text_of(path: Any) -> str | None:
    """A path argument as text; None for a file descriptor and for other values that are no path."""
    try:
        return os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else None
    except (TypeError, ValueError):
        return None


def installed(path: str) -> bool:
    """Whether an absolute path belongs to the interpreter, to a package, to a cache, or to a store of ours."""
    return path.startswith(_INSTALLED) or not _NOT_THE_AGENTS.isdisjoint(path.split(os.sep))


def below(path: str, root: str) -> str | None:
    """An absolute path relative to ``root``, with forward slashes; None where it does not lie below."""
    if path == root:
        return "."
    inside = os.path.join(root, "")
    if not root or not path.startswith(inside):
        return None
    return path[len(inside) :].replace(os.sep, "/")


def absolute(path: str) -> str:
    """An absolute path without dots; the path itself where the working directory is gone."""
    try:
        return os.path.abspath(path)
    except OSError:
        return path


def root_of(run: Any) -> str:
    """The folder that a run's own files lie in."""
    return str(run.entry.project or run.entry.cwd)
