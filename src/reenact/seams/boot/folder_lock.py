"""The lock of a folder that several processes use. A process holds the lock until the process ends, in whatever way."""

from __future__ import annotations

import os
from typing import Final

from reenact.seams.boot.fd_relocation import relocate

try:
    import fcntl
except ImportError:  # a system without ``fcntl``: nothing is locked there
    fcntl = None  # type: ignore[assignment]  # typeshed knows the module, and ``LOCKS`` is asked first

__all__ = ["LOCKS", "UNLOCKED", "alone", "has_lock", "shared", "use"]

LOCKS: Final = fcntl is not None
"""Whether this system has locks of files."""
UNLOCKED: Final = -2
"""Stands for a descriptor of the lock where the file system has no locks."""
_FILE: Final = ".reenact-lock"


def use(path: str) -> None:
    """Use a folder that another process has made. The use ends with this process, perhaps after the maker's end."""
    held = shared(path)
    if held >= 0:
        relocate(held)


def has_lock(path: str) -> bool:
    """Whether a folder has been made with a lock."""
    return os.path.lexists(os.path.join(path, _FILE))


def shared(path: str, *, make: bool = False) -> int:
    """Use a folder; returns a descriptor that is closed after use, -1 where another process removes the folder, and
    ``UNLOCKED`` where its file system has no such locks.

    Args:
        path: The folder.
        make: Whether the folder is new, and has no lock yet.
    """
    lock = _opened(path, os.O_CREAT if make else 0)
    if lock < 0:
        return -1 if LOCKS else UNLOCKED
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return -1
    except OSError:
        os.close(lock)
        return UNLOCKED
    try:
        if os.path.samestat(os.fstat(lock), os.stat(os.path.join(path, _FILE))):
            return lock
    except OSError:  # the folder has been removed
        pass
    os.close(lock)
    return -1


def alone(path: str) -> int:
    """A descriptor that locks a folder for this process until it is closed; -1 for a used or lockless folder."""
    lock = _opened(path, 0)
    if lock < 0:
        return -1
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return -1
    return lock


def _opened(path: str, flags: int) -> int:
    if not LOCKS:
        return -1
    try:
        return os.open(os.path.join(path, _FILE), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)
    except OSError:
        return -1
