"""Opening the store a command reads or writes: ``--store``, else the settings, else ``.reenact/`` found upwards."""

from __future__ import annotations

from reenact.abc.settings import load_settings
from reenact.abc.store import Store
from reenact.interfaces.cli.shell import Shell
from reenact.store import open_store


def store_url(shell: Shell) -> str | None:
    """URL of the store in force; None where the default decides."""
    if shell.store_url is not None:
        return shell.store_url
    url = load_settings()["store"].value
    return url if isinstance(url, str) else None


def opened(shell: Shell) -> Store:
    """The store in force, to be used in a ``with`` block.

    Raises:
        StoreError, UsageError: It cannot be opened, or the settings are wrong.
    """
    return open_store(store_url(shell))
