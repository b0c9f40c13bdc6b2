"""Graders: functions of this project that judge a run, found by the name that an expectation bears.

An expectation travels in a file, so its name of a function is data, and data never becomes code: only a function that a
file *of this project* defines is called. Which file that is is decided before anything is imported.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from reenact.abc.settings import project_directory
from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.testing.expectations.runview import RunView
from reenact.timetravel.conduct import Finding

__all__ = ["find_grader", "graded"]

Grader = Callable[[RunView], object]
_FOLDERS = ("", "tests", "src")
"""Where in a project its modules are looked for, in this order."""


def graded(target: str, enough: float | None, view: RunView, project: Path | None = None) -> Finding:
    """What a grader says of a run.

    Args:
        target: ``module:function``.
        enough: The least score that is good; None where the grader says yes or no.
        view: The run.
        project: Root of this project; None for the one around the working directory.

    Returns:
        True or False with the grader's own words; the value is None where it came to no judgement: it raised something
        else than an ``AssertionError``, or returned nothing.

    Raises:
        UsageError: There is no such function inside this project.
    """
    grader = find_grader(target, project)
    try:
        said = grader(view)
    except AssertionError as error:
        return Finding(False, str(error) or "its assertion failed")
    except Exception as error:
        return Finding(None, f"it raised {type(error).__name__}: {error}")
    if inspect.iscoroutine(said):
        said.close()
        return Finding(None, "it is a coroutine function; a grader is a plain one")
    return _read(said, enough)


def find_grader(target: str, project: Path | None = None) -> Grader:
    """The function of ``module:function``, if a file of this project defines it.

    Raises:
        UsageError: The name is none, or nothing inside this project defines it.
    """
    module, _, name = target.partition(":")
    parts = module.split(".")
    if not name.isidentifier() or not all(part.isidentifier() for part in parts):
        raise _refused(target, "it is written MODULE:FUNCTION")
    root = (project or project_directory(Path.cwd()) or Path.cwd()).resolve()
    folder, file = _located(parts, root) or (None, None)
    if folder is None or file is None:
        raise _refused(target, f"no file of this project ({root}) is the module {module}")
    if not _is_ours(parts[0], root):
        raise _refused(target, f"another module is already loaded as {parts[0]}")
    with _found_in(folder):
        found = _module(module, target)
    if not _same(getattr(found, "__file__", None), file):
        raise _refused(target, f"another module is already loaded as {module}")
    grader = getattr(found, name, None)
    if not isinstance(grader, FunctionType) or not _inside(Path(grader.__code__.co_filename), root):
        raise _refused(target, f"{file.name} defines no function {name}")
    return grader


def _read(said: object, enough: float | None) -> Finding:
    match said:
        case bool():
            return Finding(said)
        case str():
            return Finding(not said, said)
        case int() | float() if enough is not None:
            return Finding(said >= enough, f"its score is {said:g}, {enough:g} is enough")
        case int() | float():
            return Finding(None, f"its score is {said:g}; say how much is enough: grade('…', 0.7)")
    return Finding(None, f"it returned {type(said).__name__}; a grader returns True or False, a complaint, or a score")


def _located(parts: list[str], root: Path) -> tuple[Path, Path] | None:
    """The folder of the project from which a module is imported, and its file."""
    for folder in _FOLDERS:
        base = root / folder
        for file in (base.joinpath(*parts).with_suffix(".py"), base.joinpath(*parts, "__init__.py")):
            if file.is_file() and _inside(file, root):
                return base, file
    return None


def _is_ours(top: str, root: Path) -> bool:
    """Whether nothing foreign is loaded under the first part of the name: importing would run what lies below *it*."""
    loaded = sys.modules.get(top)
    if loaded is None:
        return True
    places = [*(getattr(loaded, "__path__", None) or ()), getattr(loaded, "__file__", None)]
    return any(place is not None and _inside(Path(place), root) for place in places)


def _module(name: str, target: str) -> ModuleType:
    try:
        return import_module(name)
    except Exception as error:
        raise _refused(target, f"importing {name} raised {type(error).__name__}: {error}") from error


@contextmanager
def _found_in(folder: Path) -> Iterator[None]:
    """The folder comes first where modules are looked for, for a moment."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _inside(file: Path, root: Path) -> bool:
    return file.resolve().is_relative_to(root)


def _same(found: str | None, file: Path) -> bool:
    return found is not None and os.path.realpath(found) == os.path.realpath(file)


def _refused(target: str, why: str) -> UsageError:
    return UsageError(
        f"the grader {target} cannot be used: {why}",
        cause="a grader is a function that a file of this project defines; no other is called for its name alone",
        next_command="reenact config",
    )


def threshold_of(rest: tuple[Json, ...], default: float | None) -> float | None:
    """The number that stands in brackets after the texts; ``default`` without one."""
    found: Any = rest[-1] if rest else None
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else default
