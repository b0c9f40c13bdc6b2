"""Chooses the store: ``--store``, the settings, or the nearest ``.reenact/`` upwards."""

from __future__ import annotations

from reenact.abc.project_settings import load_settings
from reenact.interfaces.cli.shell import Shell


def store_url(shell: Shell) -> str | None:
    """The URL of the store; None if the default store is used."""
    if shell.store_url is not None:
        return shell.store_url
    url = load_settings()["store"].value
    return url if isinstance(url, str) else None
