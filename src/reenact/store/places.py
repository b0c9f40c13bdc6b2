"""Where the file of a store lies: next to the project that it belongs to, or where a URL says."""

from __future__ import annotations

from pathlib import Path

DIRECTORY = ".reenact"
FILE = "store.db"


def find_directory(start: Path) -> Path:
    """The nearest ``.reenact`` from a directory upwards; where there is none, the one it would have."""
    for each in (start, *start.parents):
        if (each / DIRECTORY).is_dir():
            return each / DIRECTORY
    return start / DIRECTORY


def file_of(url: str | None) -> Path | None:
    """The file of a store; None where a URL names none. Nothing is opened.

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
