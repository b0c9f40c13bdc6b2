"""The files of goldens: their places below the root of a project, and their names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from reenact.facts.lazy_regex import lazy_regex

FOLDER: Final = os.path.join("tests", "goldens")
SUFFIX: Final = ".reenact"
_DRAFT: Final = lazy_regex(r"\.draft-[0-9a-z]{8}\.reenact$")
"""The end of the file name of a draft, which `golden add` tries before it gets its name."""
_MARKS: Final = (".reenact", "pyproject.toml", "reenact.toml", ".git")


def is_golden(file: str) -> bool:
    """Whether a file of the folder is a golden, and not a draft that a killed process has left."""
    return file.endswith(SUFFIX) and not file.startswith(".") and _DRAFT.search(file) is None


def name_of(path: Path) -> str:
    """The name of the golden in a file, by the file's path (the file may be a copy of another golden). Empty for a
    draft, and for a file outside a folder of goldens."""
    _, folder, below = str(path.absolute()).rpartition(os.path.join(os.sep, FOLDER, ""))
    return below.removesuffix(SUFFIX).replace(os.sep, "/") if folder and is_golden(path.name) else ""


def drafts_of(path: Path) -> list[Path]:
    """The drafts of a golden that killed processes have left beside it."""
    stem = path.name.removesuffix(SUFFIX)
    found = path.parent.iterdir() if path.parent.is_dir() else ()
    return [each for each in found if _DRAFT.sub("", each.name) == stem and each.name != path.name]


def names_in(folder: Path) -> list[str]:
    """The names of all goldens in a folder, in order. One walk through it: no file is opened."""
    found = []
    for where, folders, files in os.walk(folder):
        folders.sort()
        below = os.path.relpath(where, folder)
        prefix = "" if below == "." else below.replace(os.sep, "/") + "/"
        found += [prefix + each.removesuffix(SUFFIX) for each in files if is_golden(each)]
    return sorted(found)


def root_of(start: Path) -> Path:
    """The root of the project around a folder: the nearest folder upwards that holds ``tests/goldens``, else the
    nearest one that looks like the root of a project, else the folder itself."""
    every = (start, *start.parents)
    root = next((each for each in every if (each / FOLDER).is_dir()), None)
    if root is None:
        root = next((each for each in every if any((each / mark).exists() for mark in _MARKS)), start)
    return root
