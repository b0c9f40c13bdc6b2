"""The place of a store's file: in the project that the store belongs to, or at a URL."""

from __future__ import annotations

from pathlib import Path

DIRECTORY = ".reenact"
FILE = "store.db"
REPOSITORY = ".git"
"""The folder of git (in a worktree, a file) in the root of a repository."""


def find_directory(start: Path) -> Path:
    """The nearest folder ``.reenact`` from a directory upwards; if there is none, the path that a new one would have.

    The root of a repository ends the search: folders above it belong to other projects.
    """
    for each in (start, *start.parents):
        if (each / DIRECTORY).is_dir():
            return each / DIRECTORY
        if (each / REPOSITORY).exists():
            break
    return start / DIRECTORY


def find_project(start: Path) -> Path:
    """The root of the project around a directory: the folder with ``.reenact``, else the root of the repository, else
    the directory itself."""
    store = find_directory(start)
    if store.is_dir():
        return store.parent
    return next((each for each in (start, *start.parents) if (each / REPOSITORY).exists()), start)


def file_of(url: str | None) -> Path | None:
    """The file of a store; None where the URL names no file. Nothing is opened.

    Args:
        url: ``sqlite:///path`` or a directory; None for the default.
    """
    if not url:
        return find_directory(Path.cwd()) / FILE
    scheme, colon, rest = url.partition("://")
    if colon:
        return Path(rest[1:]) if scheme == "sqlite" and rest.startswith("/") else None
    path = Path(url)
    return path if path.is_file() else path / FILE
