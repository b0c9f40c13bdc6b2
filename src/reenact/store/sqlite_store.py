"""A store in one SQLite file: finds, records, amends and removes runs.

The file is made when the first run begins. Reads and writes have a connection each, which is opened on first use.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.errors import StoreBusy, StoreError, UsageError
from reenact.facts.ids import tail
from reenact.facts.late import late
from reenact.facts.run import Run, Status, kept_in
from reenact.store.connection import WriteConnection
from reenact.store.derived_reads import Views, check_filters
from reenact.store.run_query import has_narrow
from reenact.store.runrows import row_number
from reenact.store.schema import LOW
from reenact.store.store_file import StoreFile
from reenact.store.stored_runs import StoredRuns

if TYPE_CHECKING:
    from reenact.abc.sources import Clock, Entropy
    from reenact.facts.effects import Claim
    from reenact.facts.event import Payload
    from reenact.facts.marks import Mark
    from reenact.facts.record import Record
    from reenact.store import effect_rows, mark_rows, row_sharing, thinning
    from reenact.store.feature_rows import FeatureRows
    from reenact.store.housekeeping import ExpiredRun, Housekeeping
    from reenact.store.liveness import LiveLock, forget_mark, is_live
    from reenact.store.payload_contents import Contents
    from reenact.store.payloads import address_of, unknown
    from reenact.store.reference_lookup import refuse_run
    from reenact.store.run_removal import forget, unneeded
    from reenact.store.runrows import amend_run, update_run
    from reenact.store.sharing_recording import SharingRecording
    from reenact.store.slot_rows import short_value
    from reenact.store.sqlite_log import SqliteLog, write_whole
    from reenact.store.sqlite_recording import SqliteRecording
    from reenact.store.stepwise_removal import remove_rest
    from reenact.store.store_migration import Migration
    from reenact.store.tombstones import arrived, unbury
    from reenact.store.usage import Usage
else:
    Payload = late("reenact.facts.event", "Payload")
    effect_rows = late("reenact.store.effect_rows")
    thinning = late("reenact.store.thinning")
    Contents = late("reenact.store.payload_contents", "Contents")
    Housekeeping = late("reenact.store.housekeeping", "Housekeeping")
    FeatureRows = late("reenact.store.feature_rows", "FeatureRows")
    forget = late("reenact.store.run_removal", "forget")
    unneeded = late("reenact.store.run_removal", "unneeded")
    LiveLock = late("reenact.store.liveness", "LiveLock")
    forget_mark = late("reenact.store.liveness", "forget_mark")
    is_live = late("reenact.store.liveness", "is_live")
    Migration = late("reenact.store.store_migration", "Migration")
    remove_rest = late("reenact.store.stepwise_removal", "remove_rest")
    amend_run = late("reenact.store.runrows", "amend_run")
    update_run = late("reenact.store.runrows", "update_run")
    short_value = late("reenact.store.slot_rows", "short_value")
    arrived = late("reenact.store.tombstones", "arrived")
    unbury = late("reenact.store.tombstones", "unbury")
    Usage = late("reenact.store.usage", "Usage")
    SqliteLog = late("reenact.store.sqlite_log", "SqliteLog")
    write_whole = late("reenact.store.sqlite_log", "write_whole")
    row_sharing = late("reenact.store.row_sharing")
    Claim = late("reenact.facts.effects", "Claim")
    address_of = late("reenact.store.payloads", "address_of")
    unknown = late("reenact.store.payloads", "unknown")
    refuse_run = late("reenact.store.reference_lookup", "refuse_run")
    mark_rows = late("reenact.store.mark_rows")


class SqliteStore(Views):
    """A store of runs in one SQLite file.

    Args:
        path: The file; it and its directory are made, readable by the owner only, when the first run begins.
        url: The name of the store; the file's URL when empty.
        own_directory: Whether the file's directory is the store's own: then it is closed to others and kept out of
            version control.
        entropy: The source of a new store's secret.
        clock: Gives the time, for runs that come from elsewhere.
    """

    def __init__(
        self,
        path: Path,
        *,
        url: str = "",
        own_directory: bool = False,
        entropy: Entropy = ENTROPY,
        clock: Clock = CLOCK,
    ) -> None:
        self.path = path
        self.url = url or f"sqlite:///{path}"
        self._clock = clock
        self._file = StoreFile(path, self.url, own_directory, entropy)
        self._runs = StoredRuns(self._file)

    # --- runs ----------------------------------------------------------------------------------------------------

    def runs(self, **filters: Any) -> Iterator[Run]:
        check_filters(filters)
        self._file.read()
        return (kept_in(run, self) for run in self._runs.filtered(filters))

    def indexed(self) -> tuple[bool, bool]:
        """Whether the store has the index of the fields that filters need, and the index of words."""
        reading, _ = self._file.read()
        return has_narrow(reading.rows), self._file.indexed

    def run(self, ref: str) -> Run:
        return kept_in(self._runs.run(ref), self)

    def open(self, run: Run | str) -> SqliteRecording | SharingRecording:
        opened = self._runs.open(run)
        if opened.run is not run:
            kept_in(opened.run, self)
        return opened

    def payload(self, digest: Payload | str) -> bytes:
        reading, hasher = self._file.read()
        address = address_of(digest)
        found = Contents(hasher, reading.rows).find(address)
        if found is not None:
            return found
        row = reading.row(
            "SELECT s.id, r.run_id FROM stream s JOIN run r ON r.id = s.id >> 32 WHERE s.digest = ?", (address,)
        )
        if row is None:
            short = short_value(reading.rows, hasher, address, 0, 1 << 62)
            if short is None:
                raise unknown(address)
            return short
        return b"".join(data for _, _, data in self.open(row[1]).parts(row[0] & LOW))

    def begin(self, run: Run) -> SqliteLog:
        """See ``abc.store.Store``. The file is made when there is none."""
        writing, hasher = self._file.write()
        try:
            lock = LiveLock(self._file.sign(run.id))
        except OSError as error:
            raise StoreError(
                f"run {tail(run.id)} cannot be marked as being recorded: {error}",
                cause="another process records it, or the directory cannot be written",
                next_command="reenact ls",
            ) from error
        try:
            return SqliteLog(run, writing, hasher, lock, partial(self._parent_of, run))
        except BaseException:
            lock.release()
            raise

    def _parent_of(self, run: Run, connection: sqlite3.Connection) -> int | None:
        """The number of the log that a run continues; None where it continues none, or where its parent is still being
        written."""
        if run.parent is None or run.relation not in row_sharing.GOES_ON:
            return None
        row = connection.execute(
            "SELECT r.log, o.run_id, o.status FROM run r JOIN run o ON o.id = r.log WHERE r.run_id = ?", (run.parent,)
        ).fetchone()
        if row is None or (row[2] == Status.RECORDING and is_live(self._file.sign(row[1]))):
            return None
        return int(row[0])

    def adopt(self, logs: Sequence[tuple[Run, Iterable[Record]]]) -> None:
        """See ``abc.store.Store``. The runs are written in one transaction, which also survives a power loss."""
        writing, hasher = self._file.write()
        with writing.transaction(durable=True) as connection:
            for run, records in logs:
                write_whole(connection, run, records, hasher)
                unbury(connection, run.id)
                arrived(connection, row_number(connection, run.id) or 0, self._clock.wall_us())
        writing.checkpoint(least_growth=WriteConnection.CHECKPOINT_BYTES)

    def amend(self, run: Run | str, *, flag: str | None = None, tags: Mapping[str, str] | None = None) -> Run:
        """See ``abc.store.Store``. A run that is being recorded can be amended, too, because people's changes are
        stored separately."""
        found = self.open(run).run
        with self._file.write()[0].transaction() as connection:
            number = row_number(connection, found.id)
            if number is None:
                refuse_run(tail(found.id))
            amend_run(connection, number, flag=flag, tags=tags)
        return self.run(found.id)

    def mark(self, mark: Mark) -> None:
        """See ``abc.store.Store``. The file is made when there is none."""
        with self._file.write()[0].transaction(durable=True) as connection:
            mark_rows.insert_mark(connection, mark)

    def unmark(self, mark_id: str) -> None:
        with self._file.write()[0].transaction() as connection:
            mark_rows.delete_mark(connection, mark_id)

    def marks(self) -> Sequence[Mark]:
        return mark_rows.read_marks(self._file.read()[0].rows)

    def conclude(self, run: Run) -> Run:
        with self._file.write()[0].transaction() as connection:
            number = row_number(connection, run.id)
            if number is None:
                refuse_run(tail(run.id))
            update_run(connection, number, run)
        forget_mark(self._file.sign(run.id))
        return self.run(run.id)

    # --- the ledger ----------------------------------------------------------------------------------------------

    def claimed(self, address: str) -> Claim | None:
        row = self._file.read()[0].row("SELECT run, event FROM effect WHERE address = ?", (address,))
        return None if row is None else Claim(address, *row)

    def claim(self, claim: Claim, *, over: Claim | None = None) -> bool:
        with self._file.write()[0].transaction(durable=True) as connection:
            return effect_rows.claim(connection, claim, over)

    def note_claims(self, claims: Iterable[Claim]) -> None:
        with self._file.write()[0].transaction(durable=True) as connection:
            effect_rows.note(connection, claims)

    def exchange(self, left: Run, right: Run) -> Run:
        with self._file.write()[0].transaction(durable=True) as connection:
            effect_rows.exchange(connection, left, right)
        return self.run(left.id)

    def delete(self, run: Run | str) -> None:
        """See ``abc.store.Store``.

        Raises:
            UsageError: The run was recorded inside another run.
            StoreBusy: The run is being recorded.
        """
        found = self.open(run).run
        if found.lane:
            raise UsageError(
                f"run {tail(found.id)} lies in the log of another run",
                cause="a nested recording is part of the run around it",
                next_command=f"reenact show {tail(found.parent or found.id)}",
            )
        if found.status is Status.RECORDING:
            raise StoreBusy(
                f"run {tail(found.id)} is being recorded",
                cause="its process still lives",
                next_command=f"reenact show {tail(found.id)}",
            )
        writing, _ = self._file.write()
        with writing.transaction() as connection:
            log = row_number(connection, found.id)
            if log is not None:
                forget(connection, log)
        forget_mark(self._file.sign(found.id))
        for _ in self.give_back(rewrite=False):
            pass

    def discard(self, run_id: str) -> bool:
        """See ``abc.store.Store``. One transaction removes the run; its large parts are deleted in steps afterwards.
        The file keeps its size, and later runs fill the free space."""
        writing, _ = self._file.write()
        with writing.transaction() as connection:
            log = row_number(connection, run_id)
            logs = [] if log is None else unneeded(connection, log)
            for each in reversed(logs):
                forget(connection, each)
        forget_mark(self._file.sign(run_id))
        for _ in remove_rest(writing) if logs else ():
            pass
        return bool(logs)

    def thin(self, run_id: str, why: str) -> bool:
        """See ``abc.store.Store``. One transaction thins the run. The file keeps its size, and later runs fill the free
        space."""
        writing, _ = self._file.write()
        with writing.transaction() as connection:
            log = row_number(connection, run_id)
            return log is not None and bool(thinning.thin(connection, log, why, self._fetched))

    def _fetched(self, digest: bytes) -> bytes:
        return self.payload(Payload(digest.hex(), 0))

    def usage(self) -> Usage:
        """Reads the bytes of runs in the file, and their model calls, for many runs at once."""
        return Usage(self._file.read()[0], self.payload)

    def features(self) -> FeatureRows:
        """Reads and writes the features of runs, for many runs at once."""
        return FeatureRows(self._file.read()[0], lambda: self._file.write()[0])

    # --- expired runs --------------------------------------------------------------------------------------------

    def housekeeping(self) -> Housekeeping:
        """Finds and removes expired runs. The call itself writes nothing."""
        return Housekeeping(self, self._file.read()[0], lambda run_id: is_live(self._file.sign(run_id)))

    def expire(self, going: ExpiredRun, now_us: int) -> bool:
        """Remove an expired run, if it has not changed since it was found. Returns whether it was removed. One
        transaction does all of this."""
        gone = self.housekeeping().remove(self._file.write()[0], going, now_us)
        for name in going.rows if gone else ():
            forget_mark(self._file.sign(name))
        return gone

    def give_back(self, *, rewrite: bool = True) -> Iterator[int]:
        """Give free pages of the file back to the file system, some at a time; yields how many free pages are left. See
        ``Housekeeping.give_back``."""
        return self.housekeeping().give_back(self._file.write()[0], rewrite=rewrite)

    def writing(self) -> WriteConnection:
        """The writing connection, which the methods of ``housekeeping`` take."""
        return self._file.write()[0]

    def migration(self) -> Migration:
        """Finds the parts of the store in an older format, and rewrites them in today's format."""
        reading, hasher = self._file.read()
        return Migration(self.path, reading, hasher, lambda run_id: is_live(self._file.sign(run_id)))

    def alone(self, doing: str = "gc") -> LiveLock | None:
        """A lock for a task that one process at a time may do, such as the removal in the background. None if another
        process holds it."""
        try:
            return LiveLock(self._file.sign(doing))
        except OSError:
            return None

    def close(self) -> None:
        """See ``abc.store.Store``. A second call does nothing."""
        self._file.close()
