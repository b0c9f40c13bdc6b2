"""Listings of folders: names in the order the system gave them, noted when they are read and given again in a replay.

``os.listdir`` and ``os.scandir`` are replaced, and with them ``glob``, ``pathlib`` and ``os.walk``, which are built on
them. The kind of an entry of ``scandir`` (a file, a folder, a link) is noted too; its ``stat`` is asked of the disk. A
folder that cannot be listed fails again in the same way. Folders of the interpreter and of packages are the machine's.
"""

from __future__ import annotations

import errno
import glob
import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, TypeVar

from reenact.facts import texts
from reenact.facts.call import Json
from reenact.seams import project_paths
from reenact.seams.ambient import answer
from reenact.seams.callers import module_of, whose
from reenact.seams.lanes import Lane, listening
from reenact.seams.rebinding import Rebinding
from reenact.seams.switchboard import guarded

__all__ = ["rebinding"]

T = TypeVar("T")
_listdir = os.listdir
_scandir = os.scandir
_MACHINERY: Final = frozenset({"importlib", "pkgutil", "site", "linecache", "tempfile", "zipimport"})
_CLEARING: Final = "rmtree"
_DEPTH: Final = 12


class RecordedEntry:
    """An entry of a recorded listing that is missing on the disk, or has changed there."""

    __slots__ = ("_sort", "name", "path")

    def __init__(self, name: Any, path: Any, sort: str) -> None:
        self.name = name
        self.path = path
        self._sort = sort

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it was a folder, or a link to one."""
        return self._sort == "d" or (follow_symlinks and self._sort == "D")

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it was a file, or a link to one."""
        return self._sort == "f" or (follow_symlinks and self._sort == "F")

    def is_symlink(self) -> bool:
        """Whether it was a link."""
        return self._sort in ("D", "F", "l")

    def is_junction(self) -> bool:
        """False: no system that we replay on has junctions."""
        return False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """The state that the disk has now."""
        return os.stat(self.path, follow_symlinks=follow_symlinks)

    def inode(self) -> int:
        """The number that the disk has now."""
        return os.stat(self.path, follow_symlinks=False).st_ino

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"


class RelativeEntry(RecordedEntry):
    """An entry of a folder that was opened by its descriptor: its path is only its name."""

    __slots__ = ("_lies",)

    def __init__(self, name: Any, path: Any, sort: str) -> None:
        super().__init__(name, name, sort)
        self._lies = path

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """The state that the disk has now."""
        return os.stat(self._lies, follow_symlinks=follow_symlinks)

    def inode(self) -> int:
        """The number that the disk has now."""
        return os.stat(self._lies, follow_symlinks=False).st_ino


class ScanIterator:
    """The answer of ``os.scandir``: an iterator that can be closed."""

    def __init__(self, entries: list[Any]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> ScanIterator:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing more is given."""
        self._entries = iter(())


class _Folders:
    """Replacements as bound methods: like builtins, they stay plain callables when a class holds one."""

    __slots__ = ()

    def listdir(self, path: Any = None) -> list[Any]:
        """``os.listdir``."""
        lane = listening()
        source = None if lane is None else guarded(lane, partial(_source, lane, path, "names", sys._getframe(1)))
        if lane is None or source is None:
            return _listdir(path)
        names, fault = _attempt(lambda: _listdir(path))
        seen = _told(lane, source, lambda: [os.fsdecode(name) for name in names or ()], fault)
        if seen is None:
            return _given(names, fault)
        return [os.fsencode(name) for name in seen] if isinstance(path, bytes) else list(seen)

    def scandir(self, path: Any = None) -> Any:
        """``os.scandir``."""
        lane = listening()
        source = None if lane is None else guarded(lane, partial(_source, lane, path, "entries", sys._getframe(1)))
        if lane is None or source is None:
            return _scandir(path)
        entries, fault = _attempt(lambda: list(_scandir(path)))
        seen = _told(lane, source, lambda: [[os.fsdecode(entry.name), _sort(entry)] for entry in entries or ()], fault)
        if seen is None:
            return ScanIterator(_given(entries, fault))
        here = {(os.fsdecode(entry.name), _sort(entry)): entry for entry in entries or ()}
        as_bytes = isinstance(path, bytes)
        top = "." if path is None else os.fspath(path)
        return ScanIterator([here.get((name, sort)) or _entry(top, name, sort, as_bytes) for name, sort in seen])

    def __deepcopy__(self, _memo: object) -> _Folders:
        return self


def _entry(top: Any, name: str, sort: str, as_bytes: bool) -> RecordedEntry:
    called: Any = os.fsencode(name) if as_bytes else name
    return RecordedEntry(called, os.path.join(top, called), sort)


def _sort(entry: Any) -> str:
    """A letter: folder, file, link to either (a capital), link to nowhere, or something else."""
    try:
        link = entry.is_symlink()
        if entry.is_dir():
            return "D" if link else "d"
        if entry.is_file():
            return "F" if link else "f"
        return "l" if link else "o"
    except OSError:
        return "l"


def _source(lane: Lane, path: Any, what: str, frame: Any) -> str | None:
    """The ambient source of a listing; None where it is none of the agent's."""
    text = "." if path is None else project_paths.text_of(path)
    if text is None:
        return None
    place = project_paths.absolute(text)
    if project_paths.installed(place) or not _is_read(frame):
        return None
    return f"listing/{what} {project_paths.below(place, project_paths.root_of(lane.session.run)) or place}"


def _is_read(frame: Any) -> bool:
    """Whether a listing is the agent's, even through other code of the standard library."""
    for _ in range(_DEPTH):
        if frame is None:
            return False
        module = module_of(frame)
        kind = whose(module)
        if kind in ("agent", "carrier"):
            return True
        if kind == "ours" or module.partition(".")[0] in _MACHINERY or frame.f_code.co_name.endswith(_CLEARING):
            return False
        frame = frame.f_back
    return True


def _attempt(perform: Callable[[], list[T]]) -> tuple[list[T] | None, OSError | None]:
    try:
        return perform(), None
    except OSError as error:
        return None, error


def _given(result: list[T] | None, fault: OSError | None) -> list[T]:
    if fault is not None:
        raise fault
    return result or []


def _told(lane: Lane, source: str, tell: Callable[[], list[Any]], fault: OSError | None) -> list[Any] | None:
    """The listing that a replay gives in place of today's disk; None where today's listing is given."""
    try:
        value: Json = {"error": fault.errno, "of": str(fault.filename or "")} if fault is not None else tell()
        now = texts.known(json.dumps(value, ensure_ascii=False))
        seen = answer(lane, source, now)
        if seen == now or seen[:1] != texts.TEXT:
            return None
        recorded: Json = json.loads(texts.text_of(seen))
    except Exception as problem:
        if lane.session.fault(problem):
            raise
        return None
    if isinstance(recorded, dict):
        number = int(recorded.get("error") or errno.EIO)
        raise OSError(number, os.strerror(number), fault.filename if fault is not None else recorded.get("of"))
    return list(recorded)


_folders = _Folders()
rebinding = Rebinding()
rebinding.add(os, "listdir", _listdir, _folders.listdir)
rebinding.add(os, "scandir", _scandir, _folders.scandir)

_globber: Any = getattr(glob, "_StringGlobber", None)
if isinstance(getattr(_globber, "__dict__", {}).get("scandir"), staticmethod):  # bound in a class by Python 3.13
    _bound = _globber.__dict__["scandir"]
    if _bound.__func__ is _scandir:
        rebinding.add(_globber, "scandir", _bound, staticmethod(_folders.scandir), early=False)
