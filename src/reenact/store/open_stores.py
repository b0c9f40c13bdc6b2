"""One open store for each URL and process: the second and every later recording finds it open.

To open a SQLite file and to close its last connection costs milliseconds, which a server would pay for each request. So
a recording borrows a store and gives it back. The store stays open for the next recording until the process ends, as
long as its file is the same. Only a few unused stores are kept open.
"""

from __future__ import annotations

import _thread
import atexit
import os
from contextlib import suppress

from reenact.abc.store import Store
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.store.back_ends import open_store

IDLE = 4
"""The most unused stores that are kept open."""

Identity = tuple[int, int] | None


@dataclass(slots=True)
class _SharedStore:
    """One open store, the number of its users, and the file that it opened."""

    store: Store
    identity: Identity = None
    users: int = 0
    pid: int = field(default_factory=os.getpid)


_lock = _thread.allocate_lock()
_shared: dict[str, _SharedStore] = {}
_detached: list[_SharedStore] = []
"""Stores whose file was replaced while they were in use. Each is closed when its last user gives it back."""
_inherited: list[_SharedStore] = []
"""Stores of a parent process, which this process neither uses nor closes."""


def borrow_store(url: str | os.PathLike[str] | None = None) -> Store:
    """The open store of a URL, which the caller returns by ``give_back``. The call takes about 20 µs if the store is
    open.

    Raises:
        UsageError: The URL is of an unknown kind.
    """
    fresh = open_store(url)
    closing: list[_SharedStore] = []
    with _lock:
        found = _shared.get(fresh.url)
        if found is not None and found.identity is not None and found.identity != _identity(found.store):
            del _shared[fresh.url]
            (_detached if found.users else closing).append(found)
            found = None
        if found is None:
            found = _shared[fresh.url] = _SharedStore(fresh)
        found.users += 1
        store = found.store
    _close(closing)
    for each in closing:
        _drop_log(each.store)
    return store


def give_back(store: Store) -> None:
    """Return a store that was borrowed by ``borrow_store``. A store that was borrowed in a parent process is left
    alone."""
    closing: list[_SharedStore] = []
    with _lock:
        found = _shared.get(store.url)
        if found is not None and found.store is store:
            found.users -= 1
            found.identity = _identity(store)
            if not found.users:
                del _shared[store.url]
                _shared[store.url] = found  # moves the store to the end: used last
                idle = [each for each in _shared.values() if not each.users]
                closing = idle[:-IDLE]
                for each in closing:
                    del _shared[each.store.url]
        else:
            for each in [each for each in _detached if each.store is store]:
                each.users -= 1
                if not each.users:
                    _detached.remove(each)
                    closing.append(each)
    _close(closing)


def close_idle() -> None:
    """Close every unused store; called at the end of the process."""
    with _lock:
        closing = [each for each in _shared.values() if not each.users]
        for each in closing:
            del _shared[each.store.url]
    _close(closing)


def _close(stores: list[_SharedStore]) -> None:
    for each in stores:
        each.store.close()


def _drop_log(store: Store) -> None:
    """Remove the write-ahead log of a file that was replaced by another one. SQLite leaves this log in place, and would
    read it as the log of the new file."""
    path = getattr(store, "path", None)
    for ending in ("-wal", "-shm"):
        with suppress(OSError):
            os.unlink(f"{path}{ending}")


def _identity(store: Store) -> Identity:
    """The identity of a store's file, by which a replaced file is noticed; None for a store without a file."""
    path = getattr(store, "path", None)
    if path is None:
        return None
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino


def _forked() -> None:
    """Set the stores of the parent aside in a forked child, whose recordings open stores of their own."""
    global _lock
    _lock = _thread.allocate_lock()
    _inherited.extend([*_shared.values(), *_detached])
    _shared.clear()
    _detached.clear()


atexit.register(close_idle)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
