"""Finds the place of a program's path, through links and through changes in scratch.

The system cannot follow such a path itself, because a link in scratch has its target as a path of the program. So each
folder on the way is looked at, which takes some microseconds, and is done only after a first change.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from reenact.facts.lazy_dataclass import dataclass
from reenact.replaying.layers import LayerPlace, Layers

_lstat = os.lstat
_readlink = os.readlink
_LINKS: Final = 40
"""The number of links on one path above which the system assumes a circle."""
_SYSTEM: Final = frozenset(("proc", "sys"))
_DEVICES: Final = "dev"
_MEMORY: Final = "shm"
"""The folder in ``/dev`` that holds files."""


@dataclass(frozen=True, slots=True)
class Spot:
    """The end of a path.

    Attributes:
        parts: The parts of the path without links, from the root of the file system.
        place: The place on the disk, existing or not; None where the path is deleted.
        about: The entry there; None without one.
        said: Whether anything on the way was changed in scratch.
        exact: Whether this path itself was changed.
    """

    parts: tuple[str, ...]
    place: LayerPlace | None
    about: os.stat_result | None
    said: bool
    exact: bool

    @property
    def name(self) -> str:
        """The path as the program names it."""
        return "/" + "/".join(self.parts)

    @property
    def is_folder(self) -> bool:
        """Whether the path leads to a folder."""
        return self.about is not None and stat.S_ISDIR(self.about.st_mode)

    @property
    def is_the_systems(self) -> bool:
        """Whether the path leads to a view of the system, or to a device, and not to a file."""
        return _is_the_systems(self.parts)


def _is_the_systems(parts: Sequence[str]) -> bool:
    return parts[:1] != () and (parts[0] in _SYSTEM or (parts[0] == _DEVICES and parts[1:2] not in ((), (_MEMORY,))))


def error(number: int) -> OSError:
    """An error as the system gives it; the caller adds the path."""
    return OSError(number, os.strerror(number))


def follow(layers: Layers, path: str, *, last: bool) -> Spot:
    """Where a path leads.

    Args:
        layers: The layers of changes.
        path: Absolute.
        last: Whether a link at the end of the path is followed as well.

    Raises:
        OSError: Something on the way is not there, or no folder.
    """
    waiting = [name for name in reversed(path.split("/")) if name not in ("", ".")]
    last = last or path.endswith(("/", "/."))
    parts: list[str] = []
    links, said = 0, False
    while waiting:
        name = waiting.pop()
        if name == "..":
            del parts[-1:]
            continue
        parts.append(name)
        if _is_the_systems(tuple(parts)):
            parts.extend(reversed(waiting))
            return Spot(tuple(parts), LayerPlace("/" + "/".join(parts), False), None, False, False)
        found = layers.find(parts)
        said = said or found.said
        about = None
        if found.place is not None:
            try:
                about = _lstat(found.place.path)
            except FileNotFoundError:
                pass
        if about is not None and stat.S_ISLNK(about.st_mode) and (waiting or last) and found.place is not None:
            links += 1
            if links > _LINKS:
                raise error(errno.ELOOP)
            target = _readlink(found.place.path)
            parts.pop()
            if target.startswith("/"):
                parts.clear()
            waiting.extend(each for each in reversed(target.split("/")) if each not in ("", "."))
        elif not waiting:
            if about is not None and path.endswith("/") and not stat.S_ISDIR(about.st_mode):
                raise error(errno.ENOTDIR)
            return Spot(tuple(parts), found.place, about, said, found.exact)
        elif about is None:
            raise error(errno.ENOENT)
        elif not stat.S_ISDIR(about.st_mode):
            raise error(errno.ENOTDIR)
    found = layers.find(parts)
    about = None if found.place is None else _lstat(found.place.path)
    return Spot(tuple(parts), found.place, about, said or found.said, found.exact)


def bare(text: str) -> str:
    """A path without a slash at its end. (The slash says that a folder is meant, which may not exist.)"""
    return text.rstrip("/") or text[:1]


@contextmanager
def naming(path: Any, other: Any = None) -> Iterator[None]:
    """A scope in which errors name the paths that the program gave, and not their places."""
    try:
        yield
    except OSError as told:
        with suppress(TypeError):
            told.filename = path if path is None or isinstance(path, int) else os.fspath(path)
        if other is not None:
            told.filename2 = os.fspath(other)
        raise
