"""One fault of a row of a SQLite store, and the log that it belongs to."""

from __future__ import annotations

from typing import NamedTuple

from reenact.store.pieces import LogPart


class StoreFault(NamedTuple):
    """One fault.

    Attributes:
        what: The kind of row.
        name: Its name, for people.
        problem: The fault.
        log, part, number: The log, and in it an event (``LogPart.EVENTS``), a delivery, …; number None for the whole
            log.
        digest: The digest of a payload that is missing or damaged for all its users; empty without one.
    """

    what: str
    name: str
    problem: str
    log: int
    part: LogPart | None = None
    number: int | None = None
    digest: bytes = b""


Place = tuple[int, LogPart | None, int | None]
"""A log, and in it a part and a number."""
