"""Migrates an old store to today's format, in its own file: first the plan, then the work, log by log.

The work begins with a copy beside the store. Then one transaction gives the file today's format, and marks the logs
that are to be rewritten. The last step of each log removes its mark (``store.log_migration``). So a second call
continues after any interruption, and the store can be read, written and replayed at any time.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from reenact.errors import StoreError
from reenact.store.backup import OnProgress, back_up, free_name
from reenact.store.connection import ReadConnection, WriteConnection, connect_reading
from reenact.store.folding import ColumnFold
from reenact.store.keyed_hash import KeyedHash
from reenact.store.log_migration import MARK, Damage, LogMigration, is_folded
from reenact.store.pieces import is_there
from reenact.store.rewrite_estimate import WHOLE_BODIES, saved
from reenact.store.run_query import add_narrow, has_narrow, make_narrow
from reenact.store.schema import LOW, SHIFT
from reenact.store.speech_migration import as_said, reword
from reenact.store.versions import WRITTEN, bring_up, read_format

_BACKUP = "migrating_backup"
"""The key in ``meta`` for the name of the copy during a migration; the name is empty if no copy was wanted."""

_MARGIN = 64 << 20
"""The most bytes that the write-ahead log takes, if no reader keeps it from being checkpointed."""

_IN_PARTS = 2
"""The value of ``auto_vacuum`` in a file that can give free pages back some at a time."""


class MigrationPlan(NamedTuple):
    """The plan of a migration.

    Attributes:
        written: The format of the store.
        logs: The numbers and ids of the runs that would be rewritten, oldest first.
        live: The ids of runs that are being recorded now, and would be left unchanged.
        size: The bytes of the store now.
        after: The bytes of the store after the migration, about.
        needed: The free bytes that the migration needs.
        free: The free bytes of the disk.
        rewrites: Whether the file would be written again at the end, because it cannot give pages back.
        backup: The path of the copy; the copy of an interrupted migration is used if it exists.
        goes_on: Whether an interrupted migration would be continued.
        found: Whether the index for finding runs exists (``store.run_query``).
    """

    written: int
    logs: tuple[tuple[int, str], ...]
    live: tuple[str, ...]
    size: int
    after: int
    needed: int
    free: int
    rewrites: bool
    backup: Path | None
    goes_on: bool
    found: bool

    @property
    def is_new(self) -> bool:
        """Whether there is nothing to do."""
        return self.found and self.is_newest

    @property
    def is_newest(self) -> bool:
        """Whether there is nothing to do, except perhaps to make an index."""
        return self.written >= WRITTEN and not self.logs and not self.live and not self.rewrites and not self.goes_on


class MigrationResult(NamedTuple):
    """The result of a migration.

    Attributes:
        runs: Ids of the runs that were rewritten.
        live: The ids of runs that are being recorded, and were left unchanged.
        damaged: The damaged rows that were left unchanged: the id of the run, and the row.
        before: The bytes of the store before the migration.
        backup: The path of the copy; None if there is none.
        rewrites: False if the file was to be written again, and could not be, because a run was being recorded.
    """

    runs: tuple[str, ...]
    live: tuple[str, ...]
    damaged: tuple[tuple[str, str], ...]
    before: int
    backup: Path | None
    rewrites: bool


class Migration:
    """The migration of one store.

    Args:
        path: The file of the store.
        reading: The reading connection of the store.
        hasher: The hash of the store.
        lives: Whether a run is being recorded, given its id.
    """

    def __init__(self, path: Path, reading: ReadConnection, hasher: KeyedHash, lives: Callable[[str], bool]) -> None:
        self._path = path
        self._reading = reading
        self._hasher = hasher
        self._lives = lives

    def plan(self, *, backup: bool = True) -> MigrationPlan:
        """The plan for the present state of the store. Nothing is written.

        Args:
            backup: Whether a copy is to be made first.
        """
        with closing(connect_reading(self._path)) as connection:
            written = read_format(connection).written
            logs: list[tuple[int, str]] = []
            live: list[str] = []
            for log, run_id in self._old(connection):
                if self._lives(run_id):
                    live.append(run_id)
                else:
                    logs.append((log, run_id))
            pages, page = _number(connection, "page_count"), _number(connection, "page_size")
            used = (pages - _number(connection, "freelist_count")) * page
            (roots,) = connection.execute("SELECT count(*) FROM sqlite_master WHERE rootpage > 0").fetchone()
            after = max(used - saved(connection, [log for log, _ in logs]), roots * page)
            begun = connection.execute("SELECT value FROM meta WHERE name = ?", (_BACKUP,)).fetchone()
            rewrites = _number(connection, "auto_vacuum") != _IN_PARTS
            narrow = has_narrow(lambda sql, values: connection.execute(sql, values).fetchall())
        size = pages * page
        copy = self._path.with_name(begun[0]) if begun is not None and begun[0] else None
        made = copy is not None and copy.exists()
        if copy is None or not made:
            copy = free_name(self._path, written) if backup else None
        needed = min(size, _MARGIN) + (2 * after if rewrites else 0) + (size if copy is not None and not made else 0)
        free = shutil.disk_usage(self._path.parent).free
        return MigrationPlan(
            written, tuple(logs), tuple(live), size, after, needed, free, rewrites, copy, begun is not None, narrow
        )  # fmt: skip

    def _old(self, connection: sqlite3.Connection) -> Iterator[tuple[int, str]]:
        """The logs with rows of older formats, and the logs that are marked."""
        shares = is_there(connection)
        marked = {name for (name,) in connection.execute("SELECT name FROM meta WHERE name GLOB ?", (f"{MARK}*",))}
        owners = {log for (log,) in connection.execute(f"SELECT DISTINCT owner FROM payload WHERE {WHOLE_BODIES}")}
        owners |= as_said(connection)
        for log, run_id in connection.execute("SELECT id, run_id FROM run WHERE id = log ORDER BY id").fetchall():
            if f"{MARK}{log}" in marked or log in owners or _can_fold(connection, log, shares=shares):
                yield log, run_id

    def migrate(self, writing: WriteConnection, plan: MigrationPlan, told: OnProgress) -> MigrationResult:
        """Do the migration. One process at a time may do this.

        Args:
            writing: The store's writing connection.
            plan: The present plan.
            told: Called with the progress.

        Raises:
            StoreError: There is too little room, and nothing was written; or the disk is full or fails, and the
                finished steps stay.
        """
        if plan.free < plan.needed:
            raise StoreError(
                f"to migrate {self._path.name} takes {plan.needed:,} free bytes, and there are {plan.free:,}",
                cause="it needs room for the copy that is made first, and for rows that are written again",
                next_command="reenact gc",
            )
        if plan.backup is not None and not plan.backup.exists():
            back_up(self._path, plan.backup, told)
        with writing.transaction(durable=True) as connection:
            bring_up(connection)
            add_narrow(connection)
            connection.execute("DELETE FROM meta WHERE name GLOB ?", (f"{MARK}*",))  # marks of removed runs, too
            marks = [(f"{MARK}{log}", 0) for log, _ in plan.logs]
            name = plan.backup.name if plan.backup is not None else ""
            connection.executemany("INSERT OR REPLACE INTO meta(name, value) VALUES (?, ?)", [*marks, (_BACKUP, name)])
        damaged: list[Damage] = []
        sizes = _sizes(self._path, plan)
        done, total = 0, sum(sizes.values())
        damaged += self._reword(writing, plan, told)
        for log, _ in plan.logs:
            rewriting = LogMigration(log, self._hasher)
            for now in rewriting.steps(writing):
                told("KB rewritten", (done + min(now, sizes[log])) >> 10, total >> 10)
            done += sizes[log]
            damaged += rewriting.damaged
        with writing.transaction(durable=True) as connection:
            connection.execute("DELETE FROM meta WHERE name = ?", (_BACKUP,))
        names = dict(plan.logs)
        rewrites = plan.rewrites and not self._anything_lives()
        if rewrites:
            told("KB rewritten", total >> 10, total >> 10)
            writing.rewrite()
        rows = tuple([(names.get(log, f"log {log}"), what) for log, what in damaged])
        runs = tuple([run for _, run in plan.logs])
        return MigrationResult(runs, plan.live, rows, plan.size, plan.backup, rewrites or not plan.rewrites)

    def make_index(self, writing: WriteConnection) -> None:
        """Make the index by which runs are found, for a store that lacks only this index."""
        make_narrow(writing, self._reading.rows, any_size=True)

    def _reword(self, writing: WriteConnection, plan: MigrationPlan, told: OnProgress) -> list[Damage]:
        """Replace texts by their words, each once. This step comes first, because forks read passages of their parents'
        texts by number."""
        damaged: list[Damage] = []
        with closing(connect_reading(self._path)) as connection:
            said = as_said(connection)
        logs = [log for log, _ in plan.logs if log in said]
        for done, log in enumerate(reversed(logs)):
            with writing.transaction() as connection:
                damaged += [Damage(each, "words") for each in reword(connection, log)]
            writing.checkpoint(least_growth=WriteConnection.CHECKPOINT_BYTES)
            told("text rewritten", done + 1, len(logs))
        return damaged

    def size(self) -> int:
        """The number of bytes of the store."""
        with closing(connect_reading(self._path)) as connection:
            return _number(connection, "page_count") * _number(connection, "page_size")

    def _anything_lives(self) -> bool:
        rows = self._reading.rows("SELECT run_id FROM run WHERE status = 'recording' AND id = log")
        return any(self._lives(name) for (name,) in rows)


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _can_fold(connection: sqlite3.Connection, log: int, *, shares: bool) -> bool:
    """Whether rows of events of a log can be folded, while none is folded yet."""
    if shares and connection.execute("SELECT 1 FROM piece WHERE log = ? LIMIT 1", (log,)).fetchone() is not None:
        return False
    if is_folded(connection, log):
        return False
    for column in ("asked", "came"):
        folding = ColumnFold()
        for address, text in connection.execute(
            f"SELECT id, {column} FROM event WHERE id BETWEEN ? AND ?", (log << SHIFT, log << SHIFT | LOW)
        ):
            if type(text) is str and folding.fold(address & LOW, text, lambda _: True) != text:
                return True
    return False


def _sizes(path: Path, plan: MigrationPlan) -> dict[int, int]:
    """The amount of work for each log: bytes of bodies, and a constant for each event."""
    with closing(connect_reading(path)) as connection:
        found = {}
        for log, _ in plan.logs:
            events, bodies = connection.execute(
                "SELECT (SELECT events FROM log WHERE id = ?), "
                f"(SELECT sum(size) FROM payload WHERE owner = ? AND {WHOLE_BODIES})",
                (log, log),
            ).fetchone()
            found[log] = (bodies or 0) + 512 * (events or 0)
        return found
