"""Expired runs of a SQLite store: finds them, removes them while other processes read and write, and gives the space
back to the file system.

A run may change before it is removed: a person may flag it, or a fork of it may begin. So each removal checks the run
again, in its own transaction, and leaves a changed run alone. The large parts of a run are removed afterwards, in
steps. A kill between two steps leaves a consistent store, and the next removal continues.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from reenact.errors import ReenactError, RunNotFound
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.retention import Kin, expiry_of, settled
from reenact.facts.run import Status, belongs_to
from reenact.store.connection import WriteConnection
from reenact.store.run_query import make_narrow
from reenact.store.schema import LOW, SHIFT
from reenact.store.tombstones import ARRIVAL, Tombstone, has

if TYPE_CHECKING:
    from reenact.abc.store import Store
    from reenact.facts.retention import Expiry
    from reenact.facts.run import Run
    from reenact.store.connection import ReadConnection
    from reenact.store.full_text import erase_some
    from reenact.store.run_removal import forget
    from reenact.store.stepwise_removal import remove_rest
    from reenact.store.tombstones import bury
else:
    forget = late("reenact.store.run_removal", "forget")
    remove_rest = late("reenact.store.stepwise_removal", "remove_rest")
    bury = late("reenact.store.tombstones", "bury")
    erase_some = late("reenact.store.full_text", "erase_some")

STEP_PAGES = 256
"""The number of pages that one transaction gives back. It bounds how long writers wait."""

REWRITE_BYTES = 1 << 30
"""The largest file that is rewritten to give its space back. The rewrite serves files of older versions, which cannot
give space back in parts."""

_SIZES = (
    "SELECT total(length(data)) FROM payload WHERE owner = :log",
    "SELECT total(length(f.data)) FROM text t JOIN frame f ON f.id BETWEEN t.id << 32 AND t.id << 32 | 4294967295 "
    "WHERE t.owner = :log",
    "SELECT total(length(data) + length(segments)) FROM chunk WHERE event BETWEEN :first AND :end",
    "SELECT total(length(asked) + length(coalesce(came, '')) + 40) FROM event WHERE id BETWEEN :first AND :end",
    "SELECT total(length(data)) FROM ambient WHERE strand BETWEEN :first AND :end",
    "SELECT total(length(data)) FROM printed WHERE owner BETWEEN :first AND :end",
    "SELECT total(length(data)) FROM turns WHERE id BETWEEN :first AND :end",
    "SELECT total(length(body)) FROM run WHERE log = :log",
)
"""Queries for the size of a log's own data, about: indexes and free space are left out."""

_GLANCE = 200
"""The number of the oldest runs that are checked to decide whether to search the whole store."""
_LOOKED = "looked_us"
"""The key in ``meta`` for the time of the last search in the background."""
_RUN_US = 4_000
_BYTE_US = 0.03
"""The time that a removal takes, about: microseconds for each log, and for each byte."""


@dataclass(frozen=True, slots=True)
class ExpiredRun:
    """An expired run with its parts, which are removed together.

    Attributes:
        run: The run.
        logs: The numbers of its log, and of the logs of its parts.
        rows: The row of each run in these logs at the time of the search, by the id of the run.
        expiry: When the run expires, and why.
        size: The number of bytes of its logs, about.
    """

    run: Run
    logs: tuple[int, ...]
    rows: Mapping[str, tuple[Any, ...]]
    expiry: Expiry
    size: int


def spent_us(going: list[ExpiredRun]) -> int:
    """How many microseconds the removal of some runs takes, about."""
    return round(sum(_RUN_US * len(each.logs) + each.size * _BYTE_US for each in going))


class Housekeeping:
    """The maintenance of a store: the removal of expired runs, and the return of free space.

    Args:
        store: The store.
        reading: The reading connection of the store.
        lives: Whether the recorder of a run, by its id, still lives.
    """

    def __init__(self, store: Store, reading: ReadConnection, lives: Callable[[str], bool]) -> None:
        self._store = store
        self._reading = reading
        self._lives = lives
        self._came: dict[str, int] | None = None

    def expiries(
        self, terms: Mapping[str, str], now_us: int, cold: Callable[[Run], bool] = lambda run: False
    ) -> dict[str, tuple[Run, Expiry]]:
        """The moment at which each run expires, by its id.

        Args:
            terms: See ``expiry_of``.
            now_us: The present time.
            cold: Whether a run cannot be replayed. It is called only for runs that would expire now; a run that cannot
                be replayed stays.
        """
        runs: dict[str, Run] = {}
        kin: list[Kin] = []
        for run in self._store.runs():
            own = self.own(run, terms)
            if run.status is Status.OK and own.due(now_us):
                kept = self.own(run, terms, cold=True)
                if not kept.due(now_us) and cold(run):
                    own = kept
            runs[run.id] = run
            kin.append(_kin(run, own))
        found = settled(kin)
        return {name: (runs[name], found[name]) for name in runs}

    def own(self, run: Run, terms: Mapping[str, str], *, cold: bool = False) -> Expiry:
        """When a run would expire if no other run needed it. For most runs the answer takes a few microseconds."""
        if self._came is None:
            self._came = self._arrivals()
        return expiry_of(run, terms, cold=cold, since_us=max(self._came.get(run.id, 0), self._last_seen(run)))

    def expiry(self, run: Run, terms: Mapping[str, str]) -> Expiry:
        """When one run expires. Of other runs, only those that contain it and those that continue it are read."""
        top, seen = run, {run.id}
        while top.parent is not None and top.parent not in seen and (belongs_to(top) or top.lane):
            try:
                top = self._store.run(top.parent)
            except RunNotFound:
                break
            seen.add(top.id)
        found = {top.id: top}
        waiting = [top.id]
        for name in waiting:  # the list grows
            for (child,) in self._reading.rows("SELECT run_id FROM run WHERE parent = ?", (name,)):
                if child not in found:
                    found[child] = self._store.run(child)
                    waiting.append(child)
        return settled(_kin(each, self.own(each, terms)) for each in found.values())[run.id]

    def due(
        self, terms: Mapping[str, str], now_us: int, cold: Callable[[Run], bool] = lambda run: False
    ) -> list[ExpiredRun]:
        """The runs that have expired; a run that continues another run comes before that run. See ``expiries``."""
        rows = {
            row[0]: tuple(row)
            for row in self._reading.rows("SELECT run_id, log, parent, crc, amended, status FROM run")
        }
        expiries = {name: found for name, found in self.expiries(terms, now_us, cold).items() if name in rows}
        gone = [name for name, (_, expiry) in expiries.items() if expiry.due(now_us)]
        wholes: dict[str, list[str]] = {}
        for name in gone:
            wholes.setdefault(_whole(name, expiries), []).append(name)
        found = [self._going(whole, names, rows, expiries) for whole, names in wholes.items() if whole in gone]
        return _children_first(found)

    def _going(
        self,
        whole: str,
        names: list[str],
        rows: Mapping[str, tuple[Any, ...]],
        expiries: Mapping[str, tuple[Run, Expiry]],
    ) -> ExpiredRun:
        run, expiry = expiries[whole]
        logs = tuple(dict.fromkeys(int(rows[name][1]) for name in [whole, *names]))
        return ExpiredRun(run, logs, {name: rows[name] for name in names}, expiry, sum(map(self._size, logs)))

    def _size(self, log: int) -> int:
        values = {"log": log, "first": log << SHIFT, "end": log << SHIFT | LOW}
        known = {name for (name,) in self._reading.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        sizes = [sql for sql in _SIZES if "FROM text" not in sql or "text" in known]
        return round(sum(self._reading.rows(sql, values)[0][0] for sql in sizes))  # type: ignore[arg-type]

    def _arrivals(self) -> dict[str, int]:
        if not has(self._reading.rows, ARRIVAL):
            return {}
        return dict(self._reading.rows("SELECT r.run_id, a.at_us FROM arrival a JOIN run r ON r.id = a.run"))

    def _last_seen(self, run: Run) -> int:
        """The time of the last event of a killed run (0 for other runs), because it may have been a server for
        months."""
        if run.status is not Status.INTERRUPTED or run.interrupted_at is None:
            return 0
        try:
            return run.started_us + self._store.open(run).event(run.interrupted_at).issued_us
        except ReenactError:  # the run is damaged: its start counts
            return 0

    # --- in the background -------------------------------------------------------------------------------------

    def old(self, terms: Mapping[str, str], now_us: int, before_us: int) -> bool:
        """Whether a full search of the store may find expired runs: one of the oldest runs has expired by itself, or
        there are more old runs than this method checks. It reads some rows, and writes nothing.

        Args:
            terms: See ``expiry_of``.
            now_us: The present time.
            before_us: A run that began later has not expired.
        """
        sql = "SELECT run_id FROM run WHERE started_us < ? ORDER BY started_us LIMIT ?"
        rows = self._reading.rows(sql, (before_us, _GLANCE))
        if len(rows) == _GLANCE:
            return True
        return any(self.own(self._store.run(name), terms).due(now_us) for (name,) in rows)

    def turn(self, writing: WriteConnection, now_us: int, every_us: int) -> bool | None:
        """Whether the caller is to remove expired runs in the background. Of all processes, one does so once in
        ``every_us``. None: the caller is not to do so. True: the caller is to do so, for the first time in this store.
        False: the caller is to do so, and a process did so before. The call waits for no other process.

        Raises:
            StoreBusy: Another process writes.
        """
        rows = self._reading.rows("SELECT value FROM meta WHERE name = ?", (_LOOKED,))
        if rows and now_us - every_us < int(rows[0][0]) <= now_us:
            return None
        with writing.transaction(waits=False) as connection:
            row = connection.execute("SELECT value FROM meta WHERE name = ?", (_LOOKED,)).fetchone()
            if row is not None and now_us - every_us < int(row[0]) <= now_us:
                return None
            connection.execute("INSERT OR REPLACE INTO meta(name, value) VALUES (?, ?)", (_LOOKED, now_us))
        return row is None

    # --- removing ----------------------------------------------------------------------------------------------

    def remove(self, writing: WriteConnection, going: ExpiredRun, now_us: int) -> bool:
        """Remove a run, if it has not changed. Returns whether it was removed. One transaction removes the run; its
        large parts are deleted in steps afterwards.

        Args:
            writing: The store's writing connection.
            going: The run.
            now_us: The present time.
        """
        with writing.transaction() as connection:
            if not self._as_it_was(connection, going):
                return False
            bury(connection, [Tombstone(name, now_us, going.expiry.why) for name in going.rows])
            for log in reversed(going.logs):
                forget(connection, log)
        writing.checkpoint(least_growth=WriteConnection.CHECKPOINT_BYTES)
        for _ in remove_rest(writing):
            pass
        return True

    def _as_it_was(self, connection: sqlite3.Connection, going: ExpiredRun) -> bool:
        marks = ", ".join("?" * len(going.logs))
        rows = connection.execute(
            f"SELECT run_id, log, parent, crc, amended, status FROM run WHERE log IN ({marks})", going.logs
        )
        now = {row[0]: tuple(row) for row in rows}
        if now != dict(going.rows):
            return False
        if any(row[5] == Status.RECORDING and self._lives(name) for name, row in now.items()):
            return False
        for name in now:
            for (log,) in connection.execute("SELECT log FROM run WHERE parent = ?", (name,)):
                if log not in going.logs:
                    return False
        return True

    def give_back(self, writing: WriteConnection, *, rewrite: bool = True) -> Iterator[int]:
        """Remove the rest of removed runs, delete their words from the index, and give free pages back to the file
        system, some pages at a time; yields the number of pages that are left.

        With ``rewrite``, the file of a store that an older version made is written again once, if it is not large and
        no run is being recorded. Such a store also gets the index by which runs are found.
        """
        if rewrite:
            make_narrow(writing, self._reading.rows, any_size=True)
        for _ in remove_rest(writing):
            yield _free(writing)
        while _has_words_left(writing):
            yield _free(writing)
        writing.checkpoint()
        left = _free(writing)
        if left and not _in_parts(writing):
            if not rewrite or not self._nothing_records() or self._bytes(writing) > REWRITE_BYTES:
                yield left
                return
            writing.rewrite()
            left = 0
        while left:
            yield left
            writing.give_back(STEP_PAGES)
            before, left = left, _free(writing)
            if left >= before:  # another process frees pages at the same time: the next call goes on
                break
        writing.checkpoint()
        yield left

    def _nothing_records(self) -> bool:
        rows = self._reading.rows("SELECT run_id FROM run WHERE status = ? AND lane = ''", (str(Status.RECORDING),))
        return not any(self._lives(name) for (name,) in rows)

    def _bytes(self, writing: WriteConnection) -> int:
        return writing.pragma("page_count") * writing.pragma("page_size")


def _kin(run: Run, own: Expiry) -> Kin:
    return Kin(run.id, run.parent, belongs_to(run) or bool(run.lane), own)


def _has_words_left(writing: WriteConnection) -> bool:
    with writing.transaction() as connection:
        return erase_some(connection)


def _free(writing: WriteConnection) -> int:
    return writing.pragma("freelist_count")


def _in_parts(writing: WriteConnection) -> bool:
    return writing.pragma("auto_vacuum") == 2


def _whole(name: str, expiries: Mapping[str, tuple[Run, Expiry]]) -> str:
    """The outermost run that contains a run."""
    seen = {name}
    while True:
        run = expiries[name][0]
        parent = run.parent
        if parent is None or parent in seen or parent not in expiries or not (belongs_to(run) or run.lane):
            return name
        seen.add(parent)
        name = parent


def _children_first(found: list[ExpiredRun]) -> list[ExpiredRun]:
    """The runs in the order of their removal: a run before the run that it continues; apart from that, the oldest
    first."""
    of = {name: each.run.id for each in found for name in each.rows}
    by = {each.run.id: each for each in found}
    order: dict[str, ExpiredRun] = {}
    for each in sorted(found, key=lambda going: going.run.id, reverse=True):
        chain: dict[str, ExpiredRun] = {}
        at = each.run.id
        while at in by and at not in chain and at not in order:
            chain[at] = by[at]
            parent = by[at].run.parent
            at = of.get(parent, "") if parent is not None else ""
        order.update(dict(reversed(chain.items())))
    return list(reversed(order.values()))
