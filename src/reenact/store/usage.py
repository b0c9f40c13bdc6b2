"""The bytes of runs in a SQLite store's file, and their model calls, read for many runs at once. No body is read, and
no run is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from reenact.facts.call import Json
from reenact.facts.event import Payload
from reenact.store.check_sums import damaged, sum_of
from reenact.store.codec import load
from reenact.store.connection import ReadConnection
from reenact.store.schema import LOW, SHIFT

_PAGE = 2000

_SIZES = (
    ("payload", "SELECT owner, sum(length(data)) FROM payload GROUP BY owner"),
    ("chunk", f"SELECT event >> {SHIFT} AS log, sum(length(data) + length(segments)) FROM chunk GROUP BY log"),
    ("event", f"SELECT id >> {SHIFT} AS log, sum(length(asked) + length(coalesce(came, ''))) FROM event GROUP BY log"),
    ("ambient", f"SELECT strand >> {SHIFT} AS log, sum(length(data)) FROM ambient GROUP BY log"),
    ("printed", f"SELECT owner >> {SHIFT} AS log, sum(length(data)) FROM printed GROUP BY log"),
    ("turns", f"SELECT id >> {SHIFT} AS log, sum(length(data)) FROM turns GROUP BY log"),
    ("run", "SELECT log, sum(length(body)) FROM run GROUP BY log"),
    (
        "frame",
        "SELECT t.owner, sum(f.size) FROM "
        "(SELECT id >> 32 AS text, sum(length(data)) AS size FROM frame GROUP BY text) f "
        "JOIN text t ON t.id = f.text GROUP BY t.owner",
    ),
)
"""For each table, the query for the size of the logs' own data; indexes and free space are left out."""


class RunPlace(NamedTuple):
    """The place of a run.

    Attributes:
        number: The number of its row.
        log: The log of the run, or of the run around it.
        lane: The lane of the run in that log; empty for a run with a log of its own.
    """

    number: int
    log: int
    lane: str


class NotedUsage(NamedTuple):
    """A known fact on one model call, or a program's note on the cost of its run.

    Attributes:
        log: The number of the log; 0 for notes on a whole run.
        event: Number of the event, or of the run's row for facts about a whole run.
        lane: The lane of the event, where runs lie inside its log; else empty.
        name: ``reading`` or ``cost``.
        value: The noted value.
    """

    log: int
    event: int
    lane: str
    name: str
    value: Json


class Usage:
    """Reads the sizes and the noted usage of a store's logs.

    Args:
        reading: The store's reading connection.
        fetch: Reads a payload, because long evidence is stored as a payload.
    """

    def __init__(self, reading: ReadConnection, fetch: Callable[[Payload], bytes]) -> None:
        self._reading = reading
        self._fetch = fetch

    def places(self) -> Mapping[str, RunPlace]:
        """The place of each run, by its id."""
        return {row[0]: RunPlace(*row[1:]) for row in self._reading.rows("SELECT run_id, id, log, lane FROM run")}

    def sizes(self) -> Mapping[int, int]:
        """About how many bytes each log has in the file. Rows that a fork reads in its parent's log count for the
        parent's log."""
        tables = {name for (name,) in self._reading.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        found: dict[int, int] = {}
        for table, sql in _SIZES:
            for log, size in self._reading.rows(sql) if table in tables else ():
                found[log] = found.get(log, 0) + int(size or 0)
        return found

    def noted(self) -> Iterator[NotedUsage]:
        """The notes on model calls and costs, in the order of the logs.

        Raises:
            StoreError: A note is damaged.
        """
        nested = {log for (log,) in self._reading.rows("SELECT DISTINCT log FROM run WHERE lane <> ''")}
        lanes = {log: self._lanes(log) for log in nested}
        after: tuple[int, str] = (-(1 << 62), "")
        while True:
            rows = self._reading.rows(
                "SELECT owner, name, value, digest, crc FROM note WHERE (owner, name) > (?, ?) "
                "AND (name = 'reading' OR name = 'cost' AND owner < 0) ORDER BY owner, name LIMIT ?",
                (*after, _PAGE),
            )
            for owner, name, value, digest, crc in rows:
                if digest is None and sum_of(owner & LOW, value) != crc:
                    raise damaged(f"a note ({name})")
                said = load(value if digest is None else self._fetch(Payload(digest.hex(), 0)))
                if owner < 0:
                    yield NotedUsage(0, -owner, "", name, said)
                else:
                    log, event = owner >> SHIFT, owner & LOW
                    yield NotedUsage(log, event, lanes[log].get(event, "") if log in lanes else "", name, said)
            if len(rows) < _PAGE:
                return
            after = rows[-1][:2]

    def functions(self, log: int) -> list[tuple[int, str, str]]:
        """The calls of model functions in a log: the number, lane and name of each."""
        rows = self._reading.rows(
            "SELECT e.id, l.path, e.name FROM event e LEFT JOIN lane l ON l.id = e.strand "
            "WHERE e.id BETWEEN ? AND ? AND e.kind = 'model'",
            (log << SHIFT, log << SHIFT | LOW),
        )
        return [(number & LOW, path or "", name) for number, path, name in rows]

    def _lanes(self, log: int) -> dict[int, str]:
        """The lane of each event of a log."""
        rows = self._reading.rows(
            "SELECT e.id, l.path FROM event e JOIN lane l ON l.id = e.strand WHERE e.id BETWEEN ? AND ?",
            (log << SHIFT, log << SHIFT | LOW),
        )
        return {number & LOW: path for number, path in rows}
