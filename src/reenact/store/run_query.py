"""The rows of the runs that match some filters, newest first.

Where a filter leaves few runs, an index gives their numbers. Else all runs are read through an index that has only the
fields that filters need: a row of a run is fifty times as wide. So a filter that matches none of 100,000 runs costs
some 10 ms.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple, Protocol

from reenact.store.connection import WriteConnection
from reenact.store.runrows import COLUMNS
from reenact.store.schema import NARROW, NARROW_INDEX

FEW = 2000
"""The most runs that are looked up by their numbers. If there are more, all runs are searched, newest first."""

_SMALL = 2000
"""The most runs of a store that gets the index at its next write, which takes some 20 ms."""

_PAGE = 64
_WIDEST = 1 << 14
"""The most runs that are searched in one query."""

_EQUAL = ("agent", "user", "tenant", "session", "parent")
_INDEXED = ("parent", "session", "user")
"""The filters with an index of their own."""

Rows = Callable[[str, Sequence[Any]], list[Any]]
"""Gives all rows of a query."""


class TextSearch(Protocol):
    """Finds the runs with certain words (``store.hits``)."""

    def few(self) -> Set[int] | None:
        """The numbers of all runs that are found; None where there are many."""

    def among(self, numbers: Set[int]) -> Set[int]:
        """The given runs that are found."""


class Text(NamedTuple):
    """The conditions for a run to contain a text.

    Attributes:
        hits: The searches that must all find the run.
        conditions: Where no index can be read, SQL conditions on ``run r``, each with its values.
    """

    hits: Sequence[TextSearch] = ()
    conditions: Sequence[tuple[str, Sequence[str]]] = ()


def has_narrow(rows: Rows) -> bool:
    """Whether a store has the index of the fields that filters need. A store of an older version gets this index at a
    write while it is small, or by ``gc`` and ``migrate``. The index only saves time."""
    return bool(rows("SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = ?", (NARROW,)))


def make_narrow(writing: WriteConnection, rows: Rows, *, any_size: bool = False) -> None:
    """Create the index in a store that lacks it, if the store is small (then this takes little time) or ``any_size`` is
    set."""
    if has_narrow(rows):
        return
    if any_size or len(rows("SELECT 1 FROM run LIMIT ?", (_SMALL + 1,))) <= _SMALL:
        with writing.transaction() as connection:
            add_narrow(connection)


def add_narrow(connection: sqlite3.Connection) -> None:
    """Create the index, in a transaction."""
    connection.execute(NARROW_INDEX)


class RunQuery:
    """The runs that match some filters, as far as a store's rows show. For a run whose row says that it is being
    recorded, the recorder is checked too.

    Args:
        rows: Queries the store.
        filters: See ``abc.store.Store.runs``.
        text: The search for the filter ``text``; None without one.
        own: Whether to find only runs with a log of their own.
    """

    def __init__(self, rows: Rows, filters: Mapping[str, Any], text: Text | None = None, *, own: bool = False) -> None:
        self._rows = rows
        self._filters = filters
        self._hits = () if text is None else text.hits
        self._conditions: list[tuple[str, Sequence[Any]]] = [*_asked(filters)]
        if text is not None:
            self._conditions += text.conditions
        if own:
            self._conditions.append(("r.lane = ''", ()))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The rows of the runs (``COLUMNS`` and the id), the latest id first."""
        if not self._hits and not self._conditions:
            return self._all()
        return self._chosen()

    def _all(self) -> Iterator[tuple[Any, ...]]:
        at = "{"
        while True:
            rows = self._rows(f"{_WHOLE} WHERE r.run_id < ? ORDER BY r.run_id DESC LIMIT ?", (at, _PAGE))
            yield from rows
            if len(rows) < _PAGE:
                return
            at = rows[-1][-1]

    def _chosen(self) -> Iterator[tuple[Any, ...]]:
        few = self._few()
        hits = self._hits
        if few is None and hits:
            found = [(each, each.few()) for each in hits]
            numbers = [number for _, number in found if number is not None]
            if numbers:
                few = frozenset.intersection(*map(frozenset, numbers))
                hits = [each for each, number in found if number is None]
        for page in self._scanned() if few is None else self._looked_up(few):
            left: Set[int] = set(page)
            for each in hits:
                left = each.among(left) if left else left
            yield from self._read([number for number in page if number in left])

    def _few(self) -> Set[int] | None:
        """The numbers of a few runs, which include all matching runs; None where every filter leaves many."""
        least: Set[int] | None = None
        for sql, values in _narrowing(self._filters):
            numbers = frozenset([number for (number,) in self._rows(f"{sql} LIMIT ?", (*values, FEW + 1))])
            if len(numbers) <= FEW:
                least = numbers if least is None else least & numbers
        return least

    def _looked_up(self, few: Set[int]) -> Iterator[list[int]]:
        """Pages of the numbers of the matching runs among some runs."""
        found: list[tuple[str, int]] = []
        numbers = sorted(few)
        for first in range(0, len(numbers), _PAGE):
            some = numbers[first : first + _PAGE]
            sql = f"SELECT r.run_id, r.id FROM run r WHERE r.id IN ({_marks(some)})"
            for text, _ in self._conditions:
                sql += f" AND {text}"
            found += self._rows(sql, (*some, *self._values()))
        found.sort(reverse=True)
        first, size = 0, _PAGE
        while first < len(found):
            yield [number for _, number in found[first : first + size]]
            first, size = first + size, 4 * size

    def _scanned(self) -> Iterator[list[int]]:
        """Pages of the numbers of all matching runs, from a search of all runs."""
        at, size = "{", _PAGE
        sql = "SELECT r.id, r.run_id FROM run r WHERE r.run_id < ?"
        for text, _ in self._conditions:
            sql += f" AND {text}"
        while True:
            rows = self._rows(f"{sql} ORDER BY r.run_id DESC LIMIT ?", (at, *self._values(), size))
            if rows:
                yield [number for number, _ in rows]
            if len(rows) < size:
                return
            at, size = rows[-1][1], min(4 * size, _WIDEST)

    def _read(self, numbers: list[int]) -> Iterator[tuple[Any, ...]]:
        """The existing rows of some numbers, in the order of the numbers."""
        for first in range(0, len(numbers), _PAGE):
            some = numbers[first : first + _PAGE]
            found = {row[0]: row for row in self._rows(f"{_WHOLE} WHERE r.id IN ({_marks(some)})", some)}
            yield from [found[number] for number in some if number in found]

    def _values(self) -> list[Any]:
        return [value for _, values in self._conditions for value in values]


_WHOLE = f"SELECT {COLUMNS}, r.run_id FROM run r"


def _marks(numbers: Sequence[int]) -> str:
    return ", ".join("?" * len(numbers))


def _narrowing(filters: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Queries for the numbers of the runs of one filter, each from the filter's own index; the narrowest filter comes
    first."""
    for name in _INDEXED:
        if filters.get(name) is not None:
            yield f"SELECT id FROM run WHERE {name} = ?", (filters[name],)
    for label in (filters.get("tag") or {}).items():
        yield "SELECT run FROM tag WHERE name = ? AND value = ?", label
    bounds = [(sign, filters[name]) for name, sign in _BOUNDS.items() if filters.get(name) is not None]
    if bounds:
        where = " AND ".join([f"started_us {sign} ?" for sign, _ in bounds])
        yield f"SELECT id FROM run WHERE {where}", [value for _, value in bounds]


_BOUNDS = {"since_us": ">=", "before_us": "<"}


def _asked(filters: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    """SQL conditions on ``run r``, each with its values. The plus before a column keeps SQLite from an index of that
    column alone, because the search goes through the runs in the order of their ids."""
    for name in _EQUAL:
        if filters.get(name) is not None:
            yield f"+r.{name} = ?", (filters[name],)
    for name, sign in _BOUNDS.items():
        if filters.get(name) is not None:
            yield f"+r.started_us {sign} ?", (filters[name],)
    status = filters.get("status")
    if status is not None:  # a 'recording' run may have died, or its end may be in its lock file
        yield "r.status IN (?, 'recording')", (str(status),)
    failed = filters.get("failed")
    if failed is not None:
        yield "r.status <> 'ok'" if failed else "r.status IN ('ok', 'recording')", ()
    for name, value in (filters.get("tag") or {}).items():
        yield "EXISTS(SELECT 1 FROM tag WHERE name = ? AND value = ? AND run = r.id)", (name, value)
