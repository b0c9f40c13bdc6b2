"""Checks all of a SQLite store, and names each break with the runs that it touches. Nothing is ever written.

One transaction reads everything, a row at a time. So the check does not see writes of other processes, and only the
memory for breaks grows with the store. If a stretch of a table cannot be read at all, the rows after it are read from
the end of the table.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from reenact.errors import ReenactError, StoreError
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.store.connection import connect_reading, explain
from reenact.store.pieces import LogPart
from reenact.store.ranges import unpack_ranges
from reenact.store.related_rows import RelatedRows
from reenact.store.row_guards import UNSOUND
from reenact.store.schema import LOW, SHIFT, TEXTS, declared
from reenact.store.soundness import TABLES, UNREADABLE, TableCheck
from reenact.store.store_fault import Place, StoreFault
from reenact.store.versions import check_readable, read_format

_PROGRESS = 256
_MOST_BREAKS = 100
"""The most breaks that are taken from SQLite's own check of its file."""

OnProgress = Callable[[str, int, int], None]
"""Called with the name of the table that is read, the number of rows read, and the number of rows in the table."""


class TouchedRun(NamedTuple):
    """A run that a break touches.

    Attributes:
        run: The id of the run; ``log N`` where the row of the run is gone.
        events: Numbers of the run's events that the break touches; empty if it touches none, or the whole run.
    """

    run: str
    events: tuple[int, ...]


class Break(NamedTuple):
    """One place in a store that differs from what was written.

    Attributes:
        what: The kind of row: ``payload``, ``frame``, ``event``, …; ``file`` for the file's own structure.
        name: The name of the row.
        problem: The fault.
        touched: The runs that the break touches.
    """

    what: str
    name: str
    problem: str
    touched: tuple[TouchedRun, ...]


class CheckResult(NamedTuple):
    """The result of a check.

    Attributes:
        breaks: Each break, in the order of the tables.
        runs: The number of runs in the store.
        rows: The number of rows that were read.
        written: The format of the store.
    """

    breaks: tuple[Break, ...]
    runs: int
    rows: int
    written: int


@dataclass(slots=True)
class _BreakPlaces:
    """A break, with all places at which it was found."""

    what: str
    name: str
    problem: str
    places: set[tuple[int, LogPart | None, int | None]] = field(default_factory=set)


def check_store(path: Path, told: OnProgress = lambda table, done, total: None) -> CheckResult:
    """Check all of a store.

    Args:
        path: The file of the store.
        told: Called with the progress, now and then.

    Raises:
        StoreError: The store cannot be read at all, is no store, or is of a newer version.
    """
    with closing(connect_reading(path)) as connection:
        connection.text_factory = _lenient
        try:
            connection.execute("BEGIN")
            return _Walk(connection, path.name).checked(told)
        except sqlite3.Error as error:
            raise explain(error, path.name) from error


def _lenient(data: bytes) -> str:
    """A text of a column, for this check. Bytes that are no text are replaced, because the check of the row reports
    them."""
    return data.decode("utf-8", "replace")


class _Walk:
    def __init__(self, connection: sqlite3.Connection, place: str) -> None:
        self._connection = connection
        found = read_format(connection)
        check_readable(found, place)
        self._written = found.written
        row = connection.execute("SELECT value FROM meta WHERE name = 'key'").fetchone()
        if row is None or type(row[0]) is not bytes:
            raise StoreError(
                f"{place} does not say what it is", cause="the secret of its digests is gone", next_command="reenact ls"
            )
        self._related = RelatedRows(connection, row[0])
        self._found: dict[tuple[str, str], _BreakPlaces] = {}
        self._rows = 0

    def checked(self, told: OnProgress) -> CheckResult:
        """Check everything."""
        self._file()
        self._schema()
        for table in TABLES:
            if self._related.has(table.name):
                self._table(table, told)
        breaks = tuple(Break(each.what, each.name, each.problem, self._touched(each)) for each in self._found.values())
        return CheckResult(breaks, self._count("run"), self._rows, self._written)

    def _file(self) -> None:
        """Run SQLite's own check of its pages, indices and constraints."""
        try:
            said = self._connection.execute(f"PRAGMA integrity_check({_MOST_BREAKS})").fetchall()
        except sqlite3.DatabaseError as error:
            said = [(str(error),)]
        for (text,) in said:
            if text != "ok":
                for line in str(text).splitlines():
                    self._note(StoreFault("file", line.strip("* "), "", 0))

    def _schema(self) -> None:
        """Check the statements that define the tables. SQLite needs them to read a table, and has no check sum of
        them."""
        wanted = declared()
        for name, text in _quiet(self._connection, TEXTS):
            if wanted.get(name, text) != text:
                self._note(StoreFault("schema", str(name), "is declared in another way than in a sound store", 0))

    def _count(self, table: str) -> int:
        try:
            return int(self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        except sqlite3.DatabaseError:
            return 0

    def _table(self, table: TableCheck, told: OnProgress) -> None:
        total = self._count(table.name)
        for done, row in enumerate(self._walk(table)):
            if done % _PROGRESS == 0:
                told(table.name, done, total)
            self._rows += 1
            try:
                for fault in table.faults(self._related, row):
                    self._note(fault)
            except sqlite3.DatabaseError as error:
                self._note(StoreFault(table.name, _name(row), str(error), *_place(table, row)))
            except (ReenactError, *UNSOUND):
                self._note(StoreFault(table.name, _name(row), UNREADABLE, *_place(table, row)))

    def _walk(self, table: TableCheck) -> Iterator[tuple[Any, ...]]:
        """All rows that can be read: forwards from the first row and, if this ends too early, backwards from the last
        row."""
        last, keys = None, len(table.keys)
        try:
            for row in self._connection.execute(_query(table, "")):
                last = row
                yield row
            return
        except sqlite3.DatabaseError as error:
            problem = str(error)
        low, high = _place(table, last or ())[0], None
        try:
            for row in self._connection.execute(_query(table, " DESC")):
                if last is not None and _before(row[:keys], last[:keys]):
                    break
                high = _place(table, row)[0]
                yield row
        except sqlite3.DatabaseError:
            pass
        self._note(StoreFault(table.name, "rows", f"some cannot be read: {problem}", low))
        for (log,) in self._connection.execute("SELECT id FROM run WHERE id > ? AND id = log", (low,)):
            if high is None or log <= high:
                self._note(StoreFault(table.name, "rows", "", log))

    def _note(self, fault: StoreFault) -> None:
        key = (fault.what, fault.digest.hex() or f"{fault.log} {fault.name}")
        if fault.name == "rows":
            key = (fault.what, "rows")
        found = self._found.setdefault(key, _BreakPlaces(fault.what, fault.name, fault.problem))
        if fault.log:
            found.places.add((fault.log, fault.part, fault.number))

    # --- the runs of a break -----------------------------------------------------------------------------------

    def _touched(self, found: _BreakPlaces) -> tuple[TouchedRun, ...]:
        """The runs that a break touches: the runs of its log, and the runs that read its rows in this log."""
        places = found.places
        if found.what == "payload" and any(part is not None for _, part, _ in places):
            places = {each for each in places if each[1] is not None}
        events: dict[str, set[int]] = {}
        for log, part, number in places:
            event = number if part is LogPart.EVENTS else None
            for run in self._runs(log, part, event):
                events.setdefault(run, set()).update(() if event is None else (event,))
            if part is not None:
                for reader in self._readers(log, part, number):
                    for run in self._runs(reader, part, event):
                        events.setdefault(run, set()).update(() if event is None else (event,))
        return tuple(TouchedRun(run, tuple(sorted(events[run]))) for run in sorted(events))

    def _runs(self, log: int, part: LogPart | None, event: int | None) -> Iterable[str]:
        """The runs of a log. For an event: the run of the log, and the nested runs that have the event."""
        rows = _quiet(self._connection, "SELECT run_id, lane FROM run WHERE log = ?", log)
        if part is LogPart.EVENTS and event is not None:
            sql = "SELECT l.path FROM event e JOIN lane l ON l.id = e.strand WHERE e.id = ?"
            lanes = _quiet(self._connection, sql, log << SHIFT | event)
            path = str(lanes[0][0]) if lanes else ""
            rows = [
                row for row in rows if not row[1] or path == row[1] or path.startswith((f"{row[1]}/", f"{row[1]}>"))
            ]
        elif part is not None:
            rows = [row for row in rows if not row[1]] or rows
        return [str(row[0]) for row in rows] or [f"log {log}"]

    def _readers(self, log: int, part: LogPart, number: int | None) -> Iterator[int]:
        """The logs that read a number of a part in a base; if the number is None, any number of the part."""
        if not self._related.has("piece"):
            return
        sql = "SELECT log, data FROM piece WHERE base = ? AND kind = ?"
        for reader, data in _quiet(self._connection, sql, log, int(part)):
            try:
                ranges = unpack_ranges(data)
            except (TypeError, ValueError):
                continue
            if part is LogPart.ORDER and number is not None:  # the damaged row has this number and later ones
                if any(end > number for _, end in ranges):
                    yield int(reader)
            elif (number is None and ranges) or (number is not None and number in ranges):
                yield int(reader)


def _quiet(connection: sqlite3.Connection, sql: str, *values: Any) -> list[Any]:
    """Rows from which the runs of a break follow; empty if these rows cannot be read either."""
    try:
        return connection.execute(sql, values).fetchall()
    except (sqlite3.DatabaseError, OverflowError):
        return []


def _query(table: TableCheck, order: str) -> str:
    keys = ", ".join(table.keys)
    return f"SELECT {keys}, {table.columns} FROM {table.name} ORDER BY {', '.join(key + order for key in table.keys)}"


def _place(table: TableCheck, row: tuple[Any, ...]) -> Place:
    try:
        return table.place_of(row)
    except (TypeError, ValueError, IndexError):
        return 0, None, None


def _before(keys: tuple[Any, ...], last: tuple[Any, ...]) -> bool:
    try:
        return bool(keys <= last)
    except TypeError:
        return True


def _name(row: tuple[Any, ...]) -> str:
    """The displayed name of a row: its number in its log, if its key is an address."""
    key = row[0]
    return str(key & LOW if type(key) is int and key > LOW else key)
