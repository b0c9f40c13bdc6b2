"""The evidence on one run in a SQLite store and on its events, and the run's escapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reenact.facts.event import Payload
from reenact.store.check_sums import damaged, sum_of
from reenact.store.codec import load
from reenact.store.schema import LOW

if TYPE_CHECKING:
    from reenact.facts.call import Json
    from reenact.store.bodies import Bodies
    from reenact.store.connection import ReadConnection
    from reenact.store.span import RunRows


class EvidenceRows:
    """Reads the evidence of one run.

    Args:
        reading: The store's reading connection.
        span: The rows of the run.
        bodies: The payloads of the run, which include long evidence.
    """

    def __init__(self, reading: ReadConnection, span: RunRows, bodies: Bodies) -> None:
        self._reading = reading
        self._span = span
        self._bodies = bodies

    def of(self, event: int | None) -> dict[str, Json]:
        """The evidence of an event, or of the run itself (None). A child run has the notes of its own end only."""
        return self.at(-self._span.owner.number if event is None else self._span.first | event)

    def at(self, owner: int) -> dict[str, Json]:
        """The evidence of the event, or of the run, at an address."""
        found: dict[str, Json] = {}
        for name, value, digest, crc in self._reading.rows(
            "SELECT name, value, digest, crc FROM note WHERE owner = ? ORDER BY n", (owner,)
        ):
            if digest is not None:
                found[name] = load(self._bodies.body(Payload(digest.hex(), 0)))
            elif sum_of(owner & LOW, value) != crc:
                raise damaged(f"a note ({name}) of run {self._span.run}")
            else:
                found[name] = load(value)
        return found

    def gaps(self) -> Iterator[tuple[str, str, int]]:
        """See ``abc.store.Recording``."""
        sql = "SELECT what, place, count FROM gap WHERE log = ? ORDER BY id"
        yield from self._reading.rows(sql, (self._span.owner.log,))
