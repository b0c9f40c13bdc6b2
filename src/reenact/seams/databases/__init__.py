"""Databases: SQLite through the standard library is recorded by statement and replayed; others are named.

``statements`` finds the effect of a statement, ``sqlite3_hooks`` has the seam, ``drivers`` names other connections.
"""

from __future__ import annotations

from reenact.seams.databases import drivers, sqlite3_hooks

__all__ = ["install"]


def install() -> None:
    """Hook each driver once the program has imported it; imports none itself."""
    sqlite3_hooks.install()
    drivers.install()
