"""Paths below the program's root that it looks at: the run notes whether each existed.

``os.stat`` and ``os.access`` are replaced, and with them ``pathlib`` and functions such as ``os.path.exists``, which
use them. The disk always answers; the first look at a path is kept as a note, and a replay reports a different result.
The import system uses lower functions, and is not slowed.
"""

from __future__ import annotations

import os
import shutil  # imported here, because its import has to see the system's own functions
import stat as modes
import sys
import weakref
from typing import Any, Final

from reenact.seams.callers import module_of, whose
from reenact.seams.file_reads import busy, loads
from reenact.seams.lanes import Lane, listening
from reenact.seams.project_paths import absolute, below, installed, root_of, text_of
from reenact.seams.rebinding import Rebinding

__all__ = ["ABSENT", "NOTE", "rebinding"]

NOTE: Final = "there."
"""The beginning of the name of a note; the path below the root follows. The note holds the kind of the entry."""

ABSENT: Final = "absent"
MOST: Final = 500
"""Paths whose looks are named in one run."""

assert shutil.rmtree
_stat = os.stat
_access = os.access
_SOURCES: Final = (".py", ".pyc", ".pyi", ".so")
_PATHS: Final = frozenset({"genericpath", "posixpath", "ntpath", "os", "pathlib", "pathlib._local", "pathlib._os"})

_seen: weakref.WeakKeyDictionary[Any, set[str]] = weakref.WeakKeyDictionary()
"""The paths that each session knows."""


class _Last:
    """The session that was told last, and the paths that it was told of; every look checks this."""

    __slots__ = ("told",)

    def __init__(self) -> None:
        self.told: tuple[Any, set[str]] = (None, set())


_last = _Last()


class _Looks:
    """Replacements that stay plain callables where a class holds one, as builtins do: bound methods."""

    __slots__ = ()

    def stat(self, path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        """``os.stat``. About 0.3 µs more for a path that was looked at before."""
        lane = listening()
        if lane is None or dir_fd is not None:
            return _stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
        told = _last.told
        if path.__class__ is not str or lane.session is not told[0] or path not in told[1]:
            _look(lane, path, sys._getframe(1))
        return _stat(path) if follow_symlinks else _stat(path, follow_symlinks=False)

    def access(
        self,
        path: Any,
        mode: int,
        *,
        dir_fd: int | None = None,
        effective_ids: bool = False,
        follow_symlinks: bool = True,
    ) -> bool:
        """``os.access``."""
        lane = listening()
        if lane is not None and dir_fd is None:
            _look(lane, path, sys._getframe(1))
        return _access(path, mode, dir_fd=dir_fd, effective_ids=effective_ids, follow_symlinks=follow_symlinks)

    def __deepcopy__(self, _memo: object) -> _Looks:
        return self


def _look(lane: Lane, path: Any, frame: Any) -> None:
    """Note the first look at a path."""
    try:
        text = path if path.__class__ is str else text_of(path)
        seen = _seen.get(lane.session)
        if seen is None:
            seen = _seen.setdefault(lane.session, set())
        _last.told = (lane.session, seen)
        if text is None or text in seen or len(seen) >= MOST or lane.quiet or busy():
            return
        seen.add(text)
        place = absolute(text)
        name = below(place, root_of(lane.session.run))
        if name is None or name == "." or name.endswith(_SOURCES) or installed(place) or not _is_agents(frame):
            return
        lane.session.note(Lane(lane.path, lane.session, lane.gate), NOTE + name, {"was": _what(place)})
    except Exception as fault:
        if lane.session.fault(fault):
            raise


def _is_agents(frame: Any) -> bool:
    """Whether a look is the agent's, and not ours or that of the interpreter for source code."""
    while frame is not None and module_of(frame) in _PATHS:
        frame = frame.f_back
    return frame is not None and not loads(frame) and whose(module_of(frame)) != "ours"


def _what(place: str) -> str:
    """The kind of the entry at a path."""
    try:
        found = _stat(place)
    except OSError:
        return ABSENT
    return "folder" if modes.S_ISDIR(found.st_mode) else "file"


_looks = _Looks()


def _forget() -> None:
    _last.told = (None, set())


rebinding = Rebinding(ends=_forget)
rebinding.add(os, "stat", _stat, _looks.stat)
rebinding.add(os, "access", _access, _looks.access)
os.supports_dir_fd |= {_looks.stat, _looks.access}
os.supports_follow_symlinks |= {_looks.stat, _looks.access}
os.supports_fd |= {_looks.stat}
os.supports_effective_ids |= {_looks.access}
