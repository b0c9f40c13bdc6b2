"""One fault of a row of a SQLite store, and the log that it belongs to."""

from __future__ import annotations

from typing import NamedTuple

from reenact.store.pieces import LogPart


class StoreFault(NamedTuple):
    """One fault of a row.

    Attributes:
        what: The kind of row.
        name: The name of the row, for people.
        problem: The fault.
        log, part, number: The log, the part of the log, and the number in this part: of an event (``LogPart.EVENTS``),
            a delivery, …; the number is None for the whole log.
        digest: The digest of a payload that is missing or damaged for all its users; empty if there is none.
    """

    what: str
    name: str
    problem: str
    log: int
    part: LogPart | None = None
    number: int | None = None
    digest: bytes = b""


Place = tuple[int, LogPart | None, int | None]
"""A log, a part of the log, and a number in this part, as in ``StoreFault``."""
