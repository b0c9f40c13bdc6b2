"""Databases: SQLite through the standard library is recorded by statement and replayed; others are named.

``statements`` says what a statement does, ``sqlite`` holds the seam, ``drivers`` names the connections of others.
"""

from __future__ import annotations

from reenact.seams.databases import drivers, sqlite

__all__ = ["install"]


def install() -> None:
    """Hook each driver once the program has imported it; imports none itself."""
    sqlite.install()
    drivers.install()
