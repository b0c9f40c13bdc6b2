"""Files that a run changes: keeps the state before the first change, so that a replay begins with the run's own files.

The audit hook reports each change before it is made, for every function. The state of a path is read once and kept with
the run: its content, or that it did not exist. Only changes that a replay repeats count: the body of a frozen call does
not run, so its changes stay as they are. A file that cannot be read is a gap, never an error.
"""

from __future__ import annotations

import hashlib
import os
import stat
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from reenact.facts.path_before import ABSENT, FILE, FOLDER, LINK, Before
from reenact.seams import project_paths
from reenact.seams.callers import module_of, whose
from reenact.seams.file_reads import busy, unseen
from reenact.seams.lanes import Lane

__all__ = ["CHANGES", "GAP", "changing", "named", "opens_database", "was_opened"]

LARGEST: Final = 16 << 20
"""The most bytes of a file's content that are kept."""
ALTOGETHER: Final = 256 << 20
"""Bytes of files that are kept with one run."""
MOST: Final = 2_000
"""The most paths that are named in one run. A run with more has a gap."""
IN_ONE: Final = 64
"""The most paths that are named below a folder of the run. With more, all of its contents are the run's."""

GAP: Final = "a file that the run changed is not kept as it was before"

_open = open
_lstat = os.lstat
_scandir = os.scandir
_readlink = os.readlink
_realpath = os.path.realpath
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_NAMELESS: Final = getattr(os, "O_TMPFILE", 0)
_THROUGH: Final = "reenact.seams.file_contents"
"""Our module that changes files on behalf of its caller."""
_MACHINE: Final = ("/dev/", "/proc/", "/sys/")

_Paths = Iterator[tuple[Any, Any]]
"""Paths, each with the descriptor of the folder that it is relative to, or with another value for none."""


def _opened(args: tuple[Any, ...]) -> _Paths:
    flags = args[2]
    if isinstance(flags, int) and flags & _WRITING and not (_NAMELESS and flags & _NAMELESS == _NAMELESS):
        yield args[0], None


def _first(args: tuple[Any, ...]) -> _Paths:
    yield args[0], args[-1] if len(args) > 1 else None


def _both(args: tuple[Any, ...]) -> _Paths:
    yield args[0], args[2]
    yield args[1], args[3]


def _second(args: tuple[Any, ...]) -> _Paths:
    yield args[1], args[-1]


def _alone(args: tuple[Any, ...]) -> _Paths:
    yield args[0], None


CHANGES: Final[Mapping[str, Callable[[tuple[Any, ...]], _Paths]]] = {
    "open": _opened,
    "os.remove": _first,
    "os.rename": _both,
    "os.mkdir": _first,
    "os.rmdir": _first,
    "os.truncate": _alone,
    "os.link": _second,
    "os.symlink": _second,
    "os.chmod": _first,
    "os.chown": _first,
    "os.utime": _first,
}
"""The audit events that announce a change, each with its function that gives the changed paths."""

_FOLLOWS: Final = frozenset({"open", "os.truncate", "os.chmod", "os.chown", "os.utime"})
"""Events that change the target of a link."""


def changing(lane: Lane, event: str, args: tuple[Any, ...], frame: Any) -> None:
    """A path will be changed now. About 1 µs for a known path.

    Args:
        lane: The strand that changes it; its session listens.
        event: One of ``CHANGES``.
        args: The arguments of that audit event.
        frame: The frame that changes it; None without Python code.
    """
    if lane.quiet or busy():
        return
    keep = getattr(lane.session, "keep_file", None)
    if keep is None:
        return
    module = _module(frame)
    moved = ""
    for path, folder in CHANGES[event](args):
        text = _whole(path, folder)
        if text is None:
            continue
        changes = _of(lane.session)
        onto = bool(moved) and (text in changes.met or os.path.isdir(text))
        if text not in changes.met:
            changes.meet(text, event, module, moved=bool(moved))
        if onto:
            changes.land(moved, text)
        moved = text if event == "os.rename" and os.path.isdir(text) else ""


def opens_database(lane: Lane, path: str) -> None:
    """A database is about to be opened, which makes a missing file.

    Of an existing file only the answers are recorded."""
    keep = getattr(lane.session, "keep_file", None)
    if keep is not None and not lane.quiet and not os.path.lexists(path):
        _of(lane.session).meet(path, "open", "")


def was_opened(lane: Lane, path: str) -> None:
    """The recording says that a database was opened: from now on its file exists, even if a replay had removed it."""
    appear = getattr(lane.session, "appear", None)
    if appear is not None:
        appear(path)


def named(path: str, root: str, home: str) -> str:
    """A path as a run names it: below its project, below its user's folder, or absolute."""
    inside = project_paths.below(path, root)
    if inside is not None:
        return f"./{inside}"
    inside = project_paths.below(path, home) if home != os.sep else None
    return path if inside is None else f"~/{inside}"


def _module(frame: Any) -> str:
    """The module that makes the change; empty where no Python code does."""
    while frame is not None:
        module = module_of(frame)
        if module != _THROUGH:
            return module
        frame = frame.f_back
    return ""


def _whole(path: Any, folder: Any) -> str | None:
    """An absolute path; None for a descriptor, and for other values that are no path."""
    text = project_paths.text_of(path)
    if text is None:
        return None
    if isinstance(folder, int) and folder >= 0 and not os.path.isabs(text):
        try:
            text = os.path.join(_readlink(f"/proc/self/fd/{folder}"), text)
        except OSError:
            return None
    return project_paths.absolute(text)


class _Changes:
    """The changes of one run.

    Args:
        session: The session, which keeps them.
    """

    def __init__(self, session: Any) -> None:
        self._session = weakref.ref(session)
        self._root = _realpath(project_paths.root_of(session.run))
        self._home = _realpath(os.path.expanduser("~"))
        self._folders: dict[str, str] = {}
        self._made: dict[str, int] = {}
        self._left = ALTOGETHER
        self._names = 0
        self.met: set[str] = set()

    def meet(self, path: str, event: str, module: str, *, moved: bool = False) -> None:
        """A path that was not met before is changed. ``moved``: a folder is moved to it."""
        if self._names > MOST or project_paths.installed(path) or path.startswith(_MACHINE) or whose(module) == "ours":
            return
        self.met.add(path)
        place = self._place(path)
        found = _seen(place)
        if found is not None and stat.S_ISLNK(found.st_mode) and event in _FOLLOWS:
            place = _realpath(place)
            found = _seen(place)
        if place != path:
            if place in self.met:
                return
            self.met.add(place)
        if found is None:
            self._makes(place, temporary=module == "tempfile", below=moved)
        elif stat.S_ISDIR(found.st_mode):
            if event in ("open", "os.mkdir"):
                self.met -= {path, place}  # the folder stays as it is now, but may still be removed
            elif not self._is_made(place):
                self._keep(Before(self._name(place), FOLDER, stat.S_IMODE(found.st_mode)))
                if event == "os.rename":
                    self._keep_all(place, event)
        elif not self._is_made(place):
            self._was(place, found)

    def land(self, folder: str, path: str) -> None:
        """A folder is about to take the path of another folder, present or removed: its contents are new there."""
        top = self._place(path)
        if self._names > MOST or self._made.get(top) == _TEMPORARY:
            return
        if self._is_made(top):
            self._keep(Before(self._name(top), ABSENT, below=True))
            return
        waiting = [folder]
        while waiting and self._names < MOST:
            try:
                with unseen(), _scandir(waiting.pop()) as entries:
                    found = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
            except OSError:
                continue
            for inside, is_folder in found:
                place = top + inside[len(folder) :]
                if place not in self.met:
                    self.met.add(place)
                    self._made[place] = 0
                    self._keep(Before(self._name(place), ABSENT, below=is_folder))
                elif is_folder:
                    waiting.append(inside)

    def _place(self, path: str) -> str:
        """Where a path lies when links above it are followed."""
        folder, name = os.path.split(path)
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = _realpath(folder)
        return os.path.join(known, name)

    def _name(self, place: str) -> str:
        return named(place, self._root, self._home)

    def _made_above(self, place: str) -> str:
        """The nearest folder above a path that the run has made; empty for none."""
        while self._made:
            above = os.path.dirname(place)
            if above in self._made:
                return above
            if above == place:
                break
            place = above
        return ""

    def _is_made(self, place: str) -> bool:
        return place in self._made or bool(self._made_above(place))

    def _makes(self, place: str, *, temporary: bool, below: bool) -> None:
        """The run makes a path. A file of ``tempfile`` has another name each time, or is removed by itself."""
        above = self._made_above(place)
        top = above and self._made[above]
        if temporary or top == _TEMPORARY:
            self._made[place] = _TEMPORARY
            return
        self._made[place] = 0
        if above:
            self._made[above] += 1
            if self._made[above] == IN_ONE:
                self._keep(Before(self._name(above), ABSENT, below=True))
            if self._made[above] >= IN_ONE:
                return
        self._keep(Before(self._name(place), ABSENT, below=below))

    def _keep_all(self, folder: str, event: str) -> None:
        """Keep a folder that is about to be moved, with all its contents."""
        waiting = [folder]
        while waiting and self._names < MOST:
            try:
                with unseen(), _scandir(waiting.pop()) as entries:
                    paths = [entry.path for entry in entries]
            except OSError:
                continue
            for path in paths:
                found = _seen(path)
                if found is None or path in self.met:
                    continue
                self.met.add(path)
                if stat.S_ISDIR(found.st_mode):
                    self._keep(Before(self._name(path), FOLDER, stat.S_IMODE(found.st_mode)))
                    waiting.append(path)
                else:
                    self._was(path, found)

    def _was(self, place: str, found: os.stat_result) -> None:
        """The state of a file or a link; sockets and other kinds are not recorded."""
        name, mode = self._name(place), stat.S_IMODE(found.st_mode)
        if stat.S_ISLNK(found.st_mode):
            self._keep(Before(name, LINK, mode, target=_readlink(place)))
        elif stat.S_ISREG(found.st_mode):
            size = found.st_size
            content, why = self._content(place, size)
            digest = "" if content is None else hashlib.blake2b(content, digest_size=16).hexdigest()
            self._keep(Before(name, FILE, mode, found.st_mtime_ns, size, digest, why=why), content)

    def _content(self, place: str, size: int) -> tuple[bytes | None, str]:
        """The content of a file, or why it is not kept."""
        if size > LARGEST:
            return None, f"it held more than {LARGEST >> 20} MiB"
        if size > self._left:
            return None, f"the run changed files of more than {ALTOGETHER >> 20} MiB"
        try:
            with unseen(), _open(place, "rb") as file:
                content = file.read(LARGEST + 1)
        except OSError as error:
            return None, f"it could not be read: {error.strerror}"
        self._left -= len(content)
        return content, ""

    def _keep(self, before: Before, content: bytes | None = None) -> None:
        session: Any = self._session()
        if session is None:
            return
        self._names += 1
        if self._names > MOST:
            if self._names == MOST + 1:
                session.gap(GAP, f"those beyond {MOST}")
            return
        if before.why:
            session.gap(GAP, f"{before.path.removeprefix('./')} ({before.why})")
        session.keep_file(before, content)


_TEMPORARY: Final = -1
_changes: weakref.WeakKeyDictionary[Any, _Changes] = weakref.WeakKeyDictionary()


def _of(session: Any) -> _Changes:
    found = _changes.get(session)
    return _changes.setdefault(session, _Changes(session)) if found is None else found


def _seen(place: str) -> os.stat_result | None:
    """The state of a path; None where it does not exist."""
    try:
        return _lstat(place)
    except OSError:
        return None
