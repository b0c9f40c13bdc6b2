"""Makes the file of a new store, completely or not at all, even if another process makes it at the same moment."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from reenact.abc.sources import Entropy
from reenact.errors import StoreError
from reenact.store.connection import explain
from reenact.store.full_text import create_index
from reenact.store.schema import create


def make_file(path: Path, entropy: Entropy, *, own_directory: bool = False) -> None:
    """Make a new store, completely or not at all. If another process makes the file at the same time, the first file is
    kept.

    Args:
        path: The file.
        entropy: The source of the store's secret.
        own_directory: Whether the directory of the file belongs to the store alone.

    Raises:
        StoreError: The file cannot be made.
    """
    draft = path.with_name(f".{path.name}.{entropy.bytes(8).hex()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # can be set for an empty file only
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            create(connection, entropy.bytes(32))
            create_index(connection)
        if own_directory:
            path.parent.chmod(0o700)
            path.with_name(".gitignore").write_text("*\n", encoding="utf-8")
        _settle(draft, path)
    except sqlite3.Error as error:
        raise explain(error, path.name) from error
    except OSError as error:
        raise StoreError(
            f"{path} cannot be made: {error.strerror}",
            cause="its directory cannot be written",
            next_command="reenact ls",
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def _settle(draft: Path, path: Path) -> None:
    """Give a finished file its name, unless another process was faster."""
    try:
        if hasattr(os, "link"):
            os.link(draft, path)
        else:
            os.rename(draft, path)
    except FileExistsError:
        pass
