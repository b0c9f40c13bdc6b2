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
"""Pages that are copied between two words about how far it is."""

Told = Callable[[str, int, int], None]
"""Called with the current work, the amount done, and the whole amount."""


def free_name(source: Path, written: int) -> Path:
    """The path of the next copy of a store of this format: beside the store, and never an existing file."""
    first = source.with_name(f"{source.name}.format-{written}.backup")
    found, n = first, 1
    while found.exists():
        n += 1
        found = first.with_name(f"{first.name}-{n}")
    return found


def back_up(source: Path, target: Path, told: Told) -> None:
    """Copy the present state of a store. Writers wait for it no more than for a reader. One process at a time.

    Args:
        source: Its file.
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
        os.link(draft, target)  # overwrites nothing
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


def _copy(source: Path, draft: Path, told: Told) -> None:
    with closing(connect_reading(source)) as here, closing(sqlite3.connect(draft, isolation_level=None)) as there:
        here.execute("BEGIN")  # later writes come after its snapshot, and do not start the copy again
        here.execute("SELECT 1 FROM sqlite_master").fetchone()
        there.execute("PRAGMA synchronous = OFF")  # it is brought to the disk once, at the end
        here.backup(there, pages=_PAGES, progress=lambda _, left, total: told("page copied", total - left, total))
        there.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
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
    """Have the name survive a power loss, where folders can be synced."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
