"""The features of runs (``facts.features``), one row each: written when a run closes, or once for older runs.

The table is made with its first row. All of the table can be made again: a row that is missing, damaged or of another
version is made from its run. A reader that does not know the table can still read the store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from reenact.facts.features import VERSION, Features
from reenact.facts.run import Run, Status
from reenact.store.check_sums import sum_of
from reenact.store.codec import dump, load
from reenact.store.connection import ReadConnection, WriteConnection
from reenact.store.row_guards import UNSOUND
from reenact.store.runrows import row_number
from reenact.store.schema import LOW
from reenact.store.tombstones import has

FEATURE = "feature"

_TABLE = (
    "CREATE TABLE IF NOT EXISTS feature(run INTEGER PRIMARY KEY, version INTEGER NOT NULL, origin TEXT NOT NULL, "
    "body TEXT NOT NULL, crc INTEGER NOT NULL)"
)
_COLUMNS = "r.id, r.run_id, r.agent, r.user, r.tenant, r.session, r.status, r.started_us, r.lane, r.amended"
_PAGE = 5_000
_ALIKE = 50_000


class FeatureRow(NamedTuple):
    """The facts by which a run is compared with others. With these, the run's own row need not be read.

    Attributes:
        id, agent, user, tenant, session, started_us: Fields of the run.
        status: The stored status: ``recording`` for a run that is being recorded, or whose process died.
        origin: Its relation to a parent (``Run.relation``); empty without one.
        inside: Whether it lies in the log of another run.
        flag: A person's verdict; None if there is none.
        features: Its features; None where they must be made first.
    """

    id: str
    agent: str
    user: str | None
    tenant: str | None
    session: str | None
    started_us: int
    status: Status
    origin: str
    inside: bool
    flag: str | None
    features: Features | None


def put(connection: sqlite3.Connection, number: int, run: Run, features: Features) -> None:
    """Write the features of a run, in a transaction.

    Args:
        connection: The connection of the store, in a transaction.
        number: The run's number.
        run: The run.
        features: Its features.
    """
    connection.execute(_TABLE)
    body = dump(features.to_json())
    connection.execute(
        "INSERT OR REPLACE INTO feature(run, version, origin, body, crc) VALUES (?, ?, ?, ?, ?)",
        (number, VERSION, run.relation, body, sum_of(number & LOW, body)),
    )


def thin_features(connection: sqlite3.Connection, number: int) -> None:
    """Take the contents of bodies out of the features of a thinned run. Its row stays, so that the run need not be read
    again."""
    if not has(lambda sql, values: connection.execute(sql, values).fetchall(), FEATURE):
        return
    rows = connection.execute("SELECT version, body, crc FROM feature WHERE run = ?", (number,)).fetchall()
    for version, body, crc in rows:
        found = _sound(number, version, body, crc)
        if found is None or found.cold is None:
            forget_features(connection, number)
            return
        left = dump(found.without_bodies().to_json())
        values = (left, sum_of(number & LOW, left), number)
        connection.execute("UPDATE feature SET body = ?, crc = ? WHERE run = ?", values)


def forget_features(connection: sqlite3.Connection, number: int) -> None:
    """Forget the features of a run that is removed or has changed."""
    if has(lambda sql, values: connection.execute(sql, values).fetchall(), FEATURE):
        connection.execute("DELETE FROM feature WHERE run = ?", (number,))


class FeatureRows:
    """The features of the runs in one store.

    Args:
        reading: The store.
        writing: Gives the writing connection of the store.
    """

    def __init__(self, reading: ReadConnection, writing: Callable[[], WriteConnection]) -> None:
        self._reading = reading
        self._writing = writing

    def all(self, where: str = "", values: tuple[Any, ...] = ()) -> Iterator[FeatureRow]:
        """The rows of all runs, newest first, read in pages. 100,000 runs take about two seconds.

        Args:
            where: A further condition, `` AND r.agent = ?``.
            values: The values of the condition.
        """
        known = has(self._reading.rows, FEATURE)
        joined = "LEFT JOIN feature f ON f.run = r.id" if known else ""
        columns = "f.version, f.origin, f.body, f.crc" if known else "NULL, NULL, NULL, NULL"
        at = "{"
        alike: dict[str, Features] = {}
        while True:
            rows = self._reading.rows(
                f"SELECT {_COLUMNS}, {columns} FROM run r {joined} WHERE r.run_id < ?{where} "
                "ORDER BY r.run_id DESC LIMIT ?",
                (at, *values, _PAGE),
            )
            for row in rows:
                yield _featured(row, alike)
            if len(alike) > _ALIKE:
                alike.clear()
            if len(rows) < _PAGE:
                return
            at = rows[-1][1]

    def put(self, found: Iterable[tuple[Run, Features]]) -> None:
        """Write the features of the runs that still exist, in one transaction.

        Raises:
            StoreError: The store cannot be written.
        """
        with self._writing().transaction() as connection:
            for run, features in found:
                number = row_number(connection, run.id)
                if number is not None:
                    put(connection, number, run, features)


def _featured(row: tuple[Any, ...], alike: dict[str, Features]) -> FeatureRow:
    """The row as the query gives it, as a value; runs with equal features share one object."""
    number, run_id, agent, user, tenant, session, status, started_us, lane, amended, version, origin, body, crc = row
    flag = load(amended)["flag"] if amended else None
    found = _sound(number, version, body, crc, alike)
    return FeatureRow(
        run_id, agent or "", user, tenant, session, started_us, Status(status), origin or "", bool(lane), flag, found
    )


def _sound(number: int, version: int, body: str, crc: int, alike: dict[str, Features] | None = None) -> Features | None:
    """The features in a row; None where it is damaged, or of another version."""
    if version != VERSION or sum_of(number & LOW, body) != crc:
        return None
    try:
        known = {} if alike is None else alike
        return known.get(body) or known.setdefault(body, Features.from_json(load(body)))
    except UNSOUND:
        return None
