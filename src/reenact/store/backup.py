"""A consistent copy of a store, made beside it while other processes read and write. The copy gets its name when it is
complete."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from reenact.errors import StoreError
from reenact.store.connection import connect_reading, explain

_PAGES = 2048
"""The number of pages that are copied between two calls about the progress."""

OnProgress = Callable[[str, int, int], None]
"""A function that is called with the name of the current work, the amount done, and the whole amount."""


def free_name(source: Path, written: int) -> Path:
    """A free path for a copy of a store of format ``written``: beside the store, and never that of an existing file."""
    first = source.with_name(f"{source.name}.format-{written}.backup")
    found, n = first, 1
    while found.exists():
        n += 1
        found = first.with_name(f"{first.name}-{n}")
    return found


def back_up(source: Path, target: Path, told: OnProgress) -> None:
    """Copy the present state of a store. A copy delays writers no more than a reader does. One process at a time may
    make it.

    Args:
        source: The file of the store.
        target: The path of the copy, which must not exist. The copy is readable by the owner only.
        told: Called with the progress.

    Raises:
        StoreError: The store cannot be copied; no part of the copy is left.
    """
    draft = target.with_name(f".{target.name}.draft")
    try:
        _remove(draft)
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        _copy(source, draft, told)
        descriptor = os.open(draft, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.link(draft, target)  # fails if the target exists
        _sync_folder(target.parent)
    except sqlite3.Error as error:
        raise explain(error, target.name) from error
    except OSError as error:
        raise StoreError(
            f"{target.name} cannot be made: {error.strerror or error}",
            cause="the disk is full, or its folder cannot be written",
            next_command="df -h",
        ) from error
    finally:
        _remove(draft)


def _copy(source: Path, draft: Path, told: OnProgress) -> None:
    with closing(connect_reading(source)) as here, closing(sqlite3.connect(draft, isolation_level=None)) as there:
        here.execute("BEGIN")  # it holds a snapshot: later writes do not restart the copy
        here.execute("SELECT 1 FROM sqlite_master").fetchone()
        there.execute("PRAGMA synchronous = OFF")  # the copy is synced to the disk once, at the end
        here.backup(there, pages=_PAGES, progress=lambda _, left, total: told("page copied", total - left, total))
        there.execute("PRAGMA journal_mode = DELETE")  # leaves no log file beside the copy
        said = there.execute("PRAGMA quick_check(1)").fetchone()[0]
    if said != "ok":
        raise StoreError(
            f"{source.name} cannot be copied: {said}",
            cause="the file was changed or cut",
            next_command="reenact fsck",
        )


def _remove(draft: Path) -> None:
    for each in (draft, *(draft.with_name(draft.name + end) for end in ("-journal", "-wal", "-shm"))):
        with suppress(OSError):
            each.unlink()


def _sync_folder(folder: Path) -> None:
    """Sync a folder, where the system can, so that a new name in it survives a power loss."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
