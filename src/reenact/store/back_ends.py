"""Opens stores: the one module that knows each back end.

A store is named by a URL: a directory or ``sqlite:///path``, ``memory:`` or ``memory:name`` (shared inside the
process), or a ``.reenact`` file (a bundle, which is read only). Without a URL, the default store is used. The default
is ``REENACT_STORE``, or else the nearest ``.reenact/`` from the working directory upwards, else a new one in the
working directory.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from reenact.abc.store import Store
from reenact.errors import UsageError
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_location import FILE, find_directory

VARIABLE = "REENACT_STORE"

BUNDLE: Final = ".reenact"

_RARE: Final = {
    "bundle_store": "reenact.store.bundles",
    "MemoryStore": "reenact.store.memory_store",
}
"""Functions of back ends that most processes never open; each is loaded on first use."""

_in_memory: dict[str, Store] = {}


def open_store(url: str | os.PathLike[str] | None = None) -> Store:
    """A store by its URL. Opening makes and reads no file, except that a bundle is read.

    Reading a store that does not exist raises ``StoreError``; the first run that begins makes the file.

    Args:
        url: ``sqlite:///path`` (four slashes for an absolute path), a directory, ``memory:``, a ``.reenact`` file,
            which is read and checked at once; None for the default.

    Raises:
        UsageError: A URL of another kind.
    """
    text = os.fspath(url) if url is not None else os.environ.get(VARIABLE, "")
    if not text:
        return _in_directory(find_directory(Path.cwd()))
    if text.startswith("memory:"):
        return _in_memory.setdefault(text, _rare("MemoryStore")(text))
    scheme, colon, rest = text.partition("://")
    if names_bundle(text) and not colon:
        bundle: Store = _rare("bundle_store")(Path(text))
        return bundle
    if not colon:
        path = Path(text)
        return SqliteStore(path.absolute()) if path.is_file() else _in_directory(path)
    if scheme == "sqlite":
        if not rest.startswith("/") or len(rest) < 2:
            raise UsageError(
                f"{text!r} names no file",
                cause="a relative path has three slashes, an absolute one four: sqlite:////srv/agent/runs.db",
                next_command="reenact --store sqlite:///runs.db ls",
            )
        return SqliteStore(Path(rest[1:]).absolute())
    if scheme in ("postgresql", "postgres"):
        raise UsageError(
            "stores in PostgreSQL are not available yet",
            cause="this version keeps runs in one SQLite file",
            next_command="reenact --store sqlite:///runs.db ls",
        )
    raise UsageError(
        f"no store is called {text!r}",
        cause="a store is a directory, sqlite:///path or memory:",
        next_command="reenact --store sqlite:///runs.db ls",
    )


def names_bundle(text: str) -> bool:
    """Whether a reference or a URL names a bundle. A folder of that name is a store, as is ``.reenact`` itself."""
    return text.endswith(BUNDLE) and os.path.basename(text) != BUNDLE and not os.path.isdir(text)


def _rare(name: str) -> Any:
    return getattr(import_module(_RARE[name]), name)


def _in_directory(directory: Path) -> SqliteStore:
    directory = directory.absolute()
    return SqliteStore(directory / FILE, url=str(directory), own_directory=True)
