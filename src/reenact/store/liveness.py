"""Whether the process that records a run still lives: a lock that the operating system drops when it dies.

Each log that is being written holds a lock on a file of its own. Unlike the number of a process, a lock cannot be
mistaken for that of a later process, and it needs no heartbeat. A forked child inherits the open file, which would keep
the lock alive after its parent's death. So the child closes the file at once (the lock stays as long as the parent
holds it).

If the end of a run could not be written (the disk is full), the file is renamed to the run's status, because renaming
needs no space.
"""

from __future__ import annotations

import os
import sys
import weakref
from pathlib import Path

from reenact.facts.run import Status

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

ENDED = (Status.OK, Status.FAILED, Status.TIMEOUT)
"""The ends of a run that the name of its lock file can state."""

_held: weakref.WeakSet[LiveLock] = weakref.WeakSet()


def _take(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file without waiting; False when another process holds the lock. Processes that only check take a
    shared lock, so that they do not take each other for a recorder (on Windows they may, for a moment)."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class LiveLock:
    """The lock that shows that one log is being written, held from its creation to ``release`` or the death of the
    process.

    Args:
        path: The file to lock. It is made, with its directory, readable by the owner only.

    Raises:
        OSError: The file cannot be made, or another process holds it.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = path
        self._descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        if not _take(self._descriptor):
            os.close(self._descriptor)
            raise OSError(f"{path.name} is held by another process")
        self._identity = _identity(self._descriptor)
        _held.add(self)

    def is_lost(self) -> bool:
        """Whether the program has closed the descriptor, even if another file has its number now. The check takes less
        than a microsecond. A released lock is not lost."""
        if self._descriptor < 0:
            return False
        try:
            return _identity(self._descriptor) != self._identity
        except OSError:
            return True

    def release(self, ended: Status | None = None) -> None:
        """Release the lock and remove the file. A second call does nothing.

        Args:
            ended: The end of the run, if the store could not be written: the name of the file then states this end.
        """
        lost = self.is_lost()
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        _held.discard(self)
        if ended is not None:
            _leave_mark(self._path, ended)
        if lost:
            _remove(self._path)  # not closed: the descriptor may belong to another file now
            return
        if sys.platform == "win32":
            os.close(descriptor)
            _remove(self._path)
        else:
            # The file is removed before it is unlocked, so that a process that opens the name afterwards finds no file.
            _remove(self._path)
            os.close(descriptor)

    def abandon(self) -> None:
        """Close the file without releasing the lock, as a forked child does with the file of its parent."""
        lost = self.is_lost()
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0 and not lost:
            os.close(descriptor)


def _identity(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino


def _mark(path: Path, status: Status) -> Path:
    return path.with_suffix(f".{status.value}")


def _leave_mark(path: Path, status: Status) -> None:
    try:
        os.utime(path)
        path.rename(_mark(path, status))
    except OSError:
        pass


def ended_as(path: Path) -> tuple[Status, int] | None:
    """For a run whose end could not be written to the store: how it ended, and when (microseconds since the epoch).

    Args:
        path: The file that was locked while the run was recorded.
    """
    for status in ENDED:
        try:
            return status, _mark(path, status).stat().st_mtime_ns // 1000
        except OSError:
            continue
    return None


def forget_mark(path: Path) -> None:
    """Remove the file that states the end of a run, because the end is in the store now, or the run is gone."""
    for status in ENDED:
        _remove(_mark(path, status))


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        pass


def is_live(path: Path) -> bool:
    """Whether a process holds the lock of this file. The file of a dead process is removed if possible.

    False if there is no file. The check takes about 10 µs.
    """
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError:
        # The file belongs to another user, or the disk is read-only: try the lock with the file open for reading.
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
