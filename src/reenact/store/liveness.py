"""Whether the process that records a run still lives: a lock that the operating system drops when it dies.

Each log that is being written holds a lock on a file of its own. A lock cannot be mistaken for that of another
process that got the same number, and needs no heartbeat. A forked child inherits the open file, which would keep the
lock alive after its parent's death, so it closes it at once (closing never unlocks while the parent holds on).
"""

from __future__ import annotations

import os
import sys
import weakref
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_held: weakref.WeakSet[LiveLock] = weakref.WeakSet()


def _take(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file without waiting; False when another holds it. Those who only ask share: they never see each
    other (on Windows they may, for a moment)."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class LiveLock:
    """The sign of life of one log, held from its making to ``release`` or the death of the process.

    Args:
        path: File to lock; made, with its directory, readable by the owner only.

    Raises:
        OSError: It cannot be made, or another process holds it.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = path
        self._descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        if not _take(self._descriptor):
            os.close(self._descriptor)
            raise OSError(f"{path.name} is held by another process")
        _held.add(self)

    def release(self) -> None:
        """Let go and remove the file. Again: nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        _held.discard(self)
        if sys.platform == "win32":
            os.close(descriptor)
            _remove(self._path)
        else:
            # Removed before it is unlocked: whoever opens the name afterwards finds none.
            _remove(self._path)
            os.close(descriptor)

    def abandon(self) -> None:
        """Close the file without giving up the lock: what a forked child does with its parent's."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        pass


def is_live(path: Path) -> bool:
    """Whether somebody holds the lock of this file. A dead one's file is removed where that is possible.

    About 10 µs. No file: nobody.
    """
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError:
        # Somebody else's file, or a read-only disk: nobody can record into it from here, so believe the file.
        return _readable_lock(path)
    try:
        if not _take(descriptor, shared=True):
            return True
        if sys.platform != "win32":
            _remove(path)
        return False
    finally:
        os.close(descriptor)


def _readable_lock(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not _take(descriptor, shared=True)
    finally:
        os.close(descriptor)


def _in_forked_child() -> None:
    for lock in list(_held):
        lock.abandon()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_forked_child)
