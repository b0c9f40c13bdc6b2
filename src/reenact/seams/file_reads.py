"""Files that a program reads below its root: named in the run with a digest of what they held.

The audit hook tells of each opening, whichever function makes it. A file that is opened for reading is hashed once for
each version (by inode, size and time of change), and kept as a note on the run. A replay does the same, and its session
reports the files that differ. A file that the program itself has written is no input.

Sources that the interpreter loads are kept with the kit; they are not named here again.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.file_notes import ABSENT, NOTE
from reenact.seams import project_paths
from reenact.seams.callers import module_of
from reenact.seams.lanes import Lane

__all__ = ["busy", "loads", "opened", "unseen", "written"]

LARGEST: Final = 64 << 20
"""Files above this many bytes are named by their size alone: reading them twice would cost too much."""
MOST: Final = 2_000
"""The most files that are named in one run. A run with more has a gap."""

_LARGE: Final = "too large"
_open = open
_LOADERS: Final = frozenset({"importlib", "linecache", "tokenize", "zipimport", "runpy", "pkgutil", "traceback"})
_FROZEN: Final = ("<frozen importlib", "<frozen zipimport", "<frozen runpy", "<frozen site")
_WRITING: Final = os.O_WRONLY | os.O_RDWR


class _KnownFiles:
    """The files that one session knows: by path, the last version and its note; and the files that the run wrote."""

    __slots__ = ("files", "full", "written")

    def __init__(self) -> None:
        self.files: dict[str, tuple[tuple[int, ...], dict[str, Json]]] = {}
        self.written: set[str] = set()
        self.full = False


class _Busy(threading.local):
    """Whether this thread is reading a file for us: that opening is none of the agent's."""

    now = False


_busy = _Busy()
_seen: weakref.WeakKeyDictionary[Any, _KnownFiles] = weakref.WeakKeyDictionary()


def opened(lane: Lane, args: tuple[Any, ...], frame: Any) -> None:
    """Note that a file was opened.

    Args:
        lane: The lane, which has a session.
        args: The arguments of the audit event ``open``: path, mode (None for ``os.open``), flags.
        frame: The frame that opens it.
    """
    if _busy.now or loads(frame):
        return
    text = project_paths.text_of(args[0])
    if text is None:
        return
    path = project_paths.absolute(text)
    name = project_paths.below(path, project_paths.root_of(lane.session.run))
    if name is None or project_paths.installed(path):
        return
    seen = _seen.get(lane.session)
    if seen is None:
        seen = _seen.setdefault(lane.session, _KnownFiles())
    reads, writes = _intent(args[1], args[2])
    if reads and name not in seen.written:
        _note(lane, seen, name, path)
    if writes:
        seen.written.add(name)


def loads(frame: Any) -> bool:
    """Whether the interpreter loads or shows source code."""
    if frame is None:
        return True  # no Python code asks for it: the interpreter opens the program itself
    return frame.f_code.co_filename.startswith(_FROZEN) or module_of(frame).partition(".")[0] in _LOADERS


def written(session: Any, name: str) -> bool:
    """Whether this run has opened a file to write it."""
    seen = _seen.get(session)
    return seen is not None and name in seen.written


def busy() -> bool:
    """Whether the files that this thread opens are not the agent's."""
    return _busy.now


@contextmanager
def unseen() -> Iterator[None]:
    """A block in which files that this thread opens are not the agent's."""
    before, _busy.now = _busy.now, True
    try:
        yield
    finally:
        _busy.now = before


def _intent(mode: Any, flags: Any) -> tuple[bool, bool]:
    """Whether a file is opened to be read, and whether to be written."""
    if isinstance(mode, str):
        return ("r" in mode or "a" in mode) and "w" not in mode, not mode.startswith("r") or "+" in mode
    number = flags if isinstance(flags, int) else 0
    writes = bool(number & _WRITING)
    return not writes or (bool(number & os.O_RDWR) and not number & os.O_TRUNC), writes


def _note(lane: Lane, seen: _KnownFiles, name: str, path: str) -> None:
    version, digest = _version(path), ""
    known = seen.files.get(name)
    if version is None or (known is not None and known[0] == version):
        return
    if known is None and len(seen.files) >= MOST:
        if not seen.full:
            seen.full = True
            lane.session.gap("files beyond the first that were read", f"{MOST} files")
        return
    digest = ABSENT if not version else _digest(path, version[1])
    digests = [] if known is None else list(known[1]["digests"])
    if digest in digests:
        return
    note: dict[str, Json] = {"digests": [*digests, digest], "size": version[1] if version else 0}
    seen.files[name] = version, note
    lane.session.note(Lane(lane.path, lane.session, lane.gate), NOTE + name, note)


def _version(path: str) -> tuple[int, ...] | None:
    """The identity of a version of a file; empty where the file does not exist, None where the path is no file."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return ()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def _digest(path: str, size: int) -> str:
    if size > LARGEST:
        return f"{_LARGE}: {size} bytes"
    try:
        with unseen(), _open(path, "rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError:
        return "unreadable"
