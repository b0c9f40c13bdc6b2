"""Functions of this project, found by a name in data: ``module:function``.

Data never becomes code: only a function that a file *of this project* defines is found. That file is determined before
anything is imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from reenact.abc.project_settings import project_directory
from reenact.errors import UsageError

_FOLDERS = ("", "tests", "src")
"""The folders of a project in which modules are looked up, in this order."""


def own_function(target: str, role: str, project: Path | None = None) -> Callable[..., Any]:
    """The function of ``module:function``, if a file of this project defines it.

    Args:
        target: The name of the function.
        role: The use of the function, for messages: ``grader``.
        project: Root of this project; None for the one around the working directory.

    Raises:
        UsageError: The name is not of that form, or no file of this project defines it.
    """
    module, _, name = target.partition(":")
    parts = module.split(".")
    if not name.isidentifier() or not all(part.isidentifier() for part in parts):
        raise _refused(role, target, "it is written MODULE:FUNCTION")
    root = (project or project_directory(Path.cwd()) or Path.cwd()).resolve()
    folder, file = _located(parts, root) or (None, None)
    if folder is None or file is None:
        raise _refused(role, target, f"no file of this project ({root}) is the module {module}")
    if not _is_ours(parts[0], root):
        raise _refused(role, target, f"another module is already loaded as {parts[0]}")
    with _found_in(folder):
        found = _module(module, role, target)
    if not _same(getattr(found, "__file__", None), file):
        raise _refused(role, target, f"another module is already loaded as {module}")
    function = getattr(found, name, None)
    if not isinstance(function, FunctionType) or not _inside(Path(function.__code__.co_filename), root):
        raise _refused(role, target, f"{file.name} defines no function {name}")
    return function


def _located(parts: list[str], root: Path) -> tuple[Path, Path] | None:
    """The folder of the project from which a module is imported, and the module's file."""
    for folder in _FOLDERS:
        base = root / folder
        for file in (base.joinpath(*parts).with_suffix(".py"), base.joinpath(*parts, "__init__.py")):
            if file.is_file() and _inside(file, root):
                return base, file
    return None


def _is_ours(top: str, root: Path) -> bool:
    """Whether no foreign module is loaded under the first part of the name; an import would run that module's code."""
    loaded = sys.modules.get(top)
    if loaded is None:
        return True
    places = [*(getattr(loaded, "__path__", None) or ()), getattr(loaded, "__file__", None)]
    return any(place is not None and _inside(Path(place), root) for place in places)


def _module(name: str, role: str, target: str) -> ModuleType:
    try:
        return import_module(name)
    except Exception as error:
        raise _refused(role, target, f"importing {name} raised {type(error).__name__}: {error}") from error


@contextmanager
def _found_in(folder: Path) -> Iterator[None]:
    """A scope in which a folder comes first on the import path."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _inside(file: Path, root: Path) -> bool:
    return file.resolve().is_relative_to(root)


def _same(found: str | None, file: Path) -> bool:
    return found is not None and os.path.realpath(found) == os.path.realpath(file)


def _refused(role: str, target: str, why: str) -> UsageError:
    return UsageError(
        f"the {role} {target} cannot be used: {why}",
        cause=f"a {role} is a function that a file of this project defines; no other is called for its name alone",
        next_command="reenact config",
    )
