"""Temporary folders that are removed even after a crash: users lock them, and the next start removes unlocked ones.

Users share the lock. The system releases a lock however a process ends. So a folder that can be locked exclusively has
no user, and is removed under that lock.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Final

from reenact.seams.boot import folder_lock

__all__ = ["Folder", "fleeting", "is_made", "remove_all", "sweep"]

PREFIX: Final = "reenact-"
"""The beginning of the names of the folders."""
_MEMORY: Final = "/dev/shm"
_TRIES: Final = 100

_lock = threading.RLock()  # a signal's handler may run while the lock is held
_open: set[Folder] = set()
_swept: set[str] = set()


class Folder:
    """A new folder of ours, for this user alone. A context manager, which removes the folder at its end.

    Args:
        prefix: The beginning of its name.
        within: The folder around it; None for that of temporary files.

    Attributes:
        path: The path of the folder.

    Raises:
        OSError: The folder cannot be made there.

    Cost: some system calls; the first folder of a process also costs a sweep of the place around it.
    """

    def __init__(self, prefix: str = PREFIX, within: str | None = None) -> None:
        within = tempfile.gettempdir() if within is None else within
        with _lock:
            for place in {within, tempfile.gettempdir(), fleeting() or within} - _swept:
                _swept.add(place)
                sweep(place)
            for _ in range(_TRIES):
                self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=within))
                self._held = folder_lock.shared(str(self.path), make=True)
                if self._held >= 0 or self._held == folder_lock.UNLOCKED:
                    break
                shutil.rmtree(self.path, ignore_errors=True)  # a sweep has removed the folder before it was locked
            _open.add(self)

    def close(self) -> None:
        """Remove the folder."""
        with _lock:
            _open.discard(self)
            shutil.rmtree(self.path, ignore_errors=True)
            if self._held >= 0:
                os.close(self._held)
                self._held = -1

    def __enter__(self) -> str:
        return str(self.path)

    def __exit__(self, *exc: object) -> None:
        self.close()


def remove_all() -> None:
    """Remove every folder of this process, which is about to end: the process makes no further one."""
    _lock.acquire()
    for folder in list(_open):
        folder.close()


def sweep(within: str) -> None:
    """Remove the folders of this user in a place that no process uses. A folder without a lock stays.

    Args:
        within: The place.
    """
    try:
        with os.scandir(within) as found:
            paths = [each.path for each in found if each.name.startswith(PREFIX) and _is_of_user(each)]
    except OSError:
        return
    for path in paths:
        lock = folder_lock.alone(path)
        if lock >= 0:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def is_made(path: str) -> bool:
    """Whether a folder was made by any process of ours: its name has our prefix, and it has a lock."""
    return os.path.basename(path).startswith(PREFIX) and folder_lock.has_lock(path)


def fleeting() -> str | None:
    """The directory whose files lie in memory, on systems that have one."""
    return _MEMORY if os.access(_MEMORY, os.W_OK | os.X_OK) else None


def _is_of_user(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except (OSError, AttributeError):  # the folder is gone, or the system has no user ids
        return False
