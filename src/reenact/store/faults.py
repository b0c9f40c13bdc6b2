"""One thing that is wrong with a row of a SQLite store, and the log whose it is."""

from __future__ import annotations

from typing import NamedTuple

from reenact.store.pieces import LogPart


class StoreFault(NamedTuple):
    """One thing that is wrong.

    Attributes:
        what: The kind of row.
        name: Which one, for people.
        problem: What is wrong with it.
        log, part, number: Whose it is: a log, and in it an event (``LogPart.EVENTS``), a delivery, … ; number None for
            all of the log.
        digest: Of the payload that is gone or damaged, with all that names it; empty for none.
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
