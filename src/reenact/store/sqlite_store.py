"""A store in one SQLite file: its runs, references to them, amending and forgetting them.

The file is made when the first run begins. Reading and writing use connections of their own; both are opened when
they are first needed.
"""

from __future__ import annotations

import sqlite3
from _thread import allocate_lock
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.errors import RunNotFound, StoreBusy, StoreError, UsageError
from reenact.facts.ids import TIME_LENGTH, is_run_id, tail
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Run, Status, kept_in
from reenact.store.connection import ReadConnection, WriteConnection
from reenact.store.derived_reads import Views, check_filters
from reenact.store.finding import RunQuery, Text, has_narrow, make_narrow
from reenact.store.keyed_hash import KeyedHash
from reenact.store.runrows import COLUMNS, row_number, run_of
from reenact.store.schema import LOW
from reenact.store.span import Owner
from reenact.store.sqlite_recording import SqliteRecording
from reenact.store.versions import Format, check_readable

if TYPE_CHECKING:
    from reenact.abc.sources import Clock, Entropy
    from reenact.facts.effects import Claim
    from reenact.facts.event import Payload
    from reenact.facts.marks import Mark
    from reenact.facts.record import Record
    from reenact.store import effect_rows, inheriting, mark_rows, thinning
    from reenact.store.expiring import ExpiredRun, Housekeeping
    from reenact.store.feature_rows import FeatureRows
    from reenact.store.forgetting import forget, unneeded
    from reenact.store.hits import text_of
    from reenact.store.inherited import SharingRecording
    from reenact.store.liveness import LiveLock, ended_as, forget_mark, is_live
    from reenact.store.making import make_file
    from reenact.store.migrating import Migration
    from reenact.store.payload_contents import Contents
    from reenact.store.payloads import address_of, unknown
    from reenact.store.reference_lookup import Latest, parse_run, refuse_run
    from reenact.store.removing import remove_rest
    from reenact.store.runrows import amend_run, update_run
    from reenact.store.slot_rows import short_value
    from reenact.store.sqlite_log import SqliteLog, write_whole
    from reenact.store.tombstones import arrived, find, refuse_expired, unbury
    from reenact.store.usage import Usage
    from reenact.store.versions import check_writable
else:
    Payload = late("reenact.facts.event", "Payload")
    effect_rows = late("reenact.store.effect_rows")
    thinning = late("reenact.store.thinning")
    Contents = late("reenact.store.payload_contents", "Contents")
    Housekeeping = late("reenact.store.expiring", "Housekeeping")
    FeatureRows = late("reenact.store.feature_rows", "FeatureRows")
    forget = late("reenact.store.forgetting", "forget")
    unneeded = late("reenact.store.forgetting", "unneeded")
    text_of = late("reenact.store.hits", "text_of")
    SharingRecording = late("reenact.store.inherited", "SharingRecording")
    LiveLock = late("reenact.store.liveness", "LiveLock")
    ended_as = late("reenact.store.liveness", "ended_as")
    forget_mark = late("reenact.store.liveness", "forget_mark")
    is_live = late("reenact.store.liveness", "is_live")
    make_file = late("reenact.store.making", "make_file")
    Migration = late("reenact.store.migrating", "Migration")
    remove_rest = late("reenact.store.removing", "remove_rest")
    amend_run = late("reenact.store.runrows", "amend_run")
    update_run = late("reenact.store.runrows", "update_run")
    short_value = late("reenact.store.slot_rows", "short_value")
    arrived = late("reenact.store.tombstones", "arrived")
    find = late("reenact.store.tombstones", "find")
    refuse_expired = late("reenact.store.tombstones", "refuse_expired")
    unbury = late("reenact.store.tombstones", "unbury")
    Usage = late("reenact.store.usage", "Usage")
    check_writable = late("reenact.store.versions", "check_writable")
    SqliteLog = late("reenact.store.sqlite_log", "SqliteLog")
    write_whole = late("reenact.store.sqlite_log", "write_whole")
    inheriting = late("reenact.store.inheriting")
    Claim = late("reenact.facts.effects", "Claim")
    address_of = late("reenact.store.payloads", "address_of")
    unknown = late("reenact.store.payloads", "unknown")
    Latest = late("reenact.store.reference_lookup", "Latest")
    parse_run = late("reenact.store.reference_lookup", "parse_run")
    refuse_run = late("reenact.store.reference_lookup", "refuse_run")
    mark_rows = late("reenact.store.mark_rows")

_FAILED = (Status.FAILED, Status.TIMEOUT, Status.INTERRUPTED)
_SHARES = "EXISTS(SELECT 1 FROM piece p WHERE p.log = r.log)"
"""Whether the log of a run ``r`` reads rows of others."""
UNKEPT = "it has ended, and its last events, output and error could not be written"
"""The note on a run whose end could not be written."""


class SqliteStore(Views):
    """Runs in one SQLite file.

    Args:
        path: The file; it and its directory are made, readable by the owner only, when the first run begins.
        url: The name of the store; the file's URL when empty.
        own_directory: Whether the file's directory is the store's own: then it is closed to others and kept out of
            version control.
        entropy: The source of a new store's secret.
        clock: Gives the time at which a run came here from elsewhere.
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
        self._own_directory = own_directory
        self.url = url or f"sqlite:///{path}"
        self._entropy = entropy
        self._clock = clock
        self._lock = allocate_lock()
        self._reading: ReadConnection | None = None
        self._writing: WriteConnection | None = None
        self._hasher: KeyedHash | None = None
        self._format = Format(0, 0)
        self._indexed = False
        self._shares = False
        self._closed = False

    # --- runs ----------------------------------------------------------------------------------------------------

    def runs(self, **filters: Any) -> Iterator[Run]:
        """See ``abc.store.Store``."""
        check_filters(filters)
        reading, _ = self._read()
        return self._filtered(reading, filters)

    def _filtered(self, reading: ReadConnection, filters: Mapping[str, Any], *, own: bool = False) -> Iterator[Run]:
        """Runs, newest first: by when their ids were made, those of one millisecond by their rows. The start that a
        kept replay names is its recording's."""
        limit = filters.get("limit")
        found = 0
        rows = RunQuery(reading.rows, filters, self._text(reading, filters.get("text") or ""), own=own)
        for _, group in groupby(rows, key=lambda row: row[5][:TIME_LENGTH]):
            for row in sorted(group, key=lambda row: -int(row[0])):
                if limit is not None and found >= limit:
                    return
                run = self._run_of(reading, row[:5])
                if _agrees(run, filters):
                    found += 1
                    yield run

    def _text(self, reading: ReadConnection, text: str) -> Text | None:
        """How a text is looked for."""
        if not text:
            return None
        return text_of(reading.rows, text, indexed=self._indexed, shares=self._has_shared(reading))

    def indexed(self) -> tuple[bool, bool]:
        """Whether there is an index of what filters ask of a run, and one of words."""
        reading, _ = self._read()
        return has_narrow(reading.rows), self._indexed

    def run(self, ref: str) -> Run:
        """See ``abc.store.Store``."""
        wanted = parse_run(ref)
        reading, _ = self._read()
        if isinstance(wanted, Latest):
            filters = {"failed": True} if wanted.failed else {}
            own = wanted.counted(self._filtered(reading, filters, own=True), self.run)
            there = 0
            for there, run in enumerate(own, 1):
                if there > wanted.back:
                    return run
            refuse_run(ref, there=there)
        row = self._row(reading, wanted.text) if is_run_id(wanted.text) else None
        if row is None:
            end = wanted.text + "{"
            found: list[Any] = []
            for column in ("tail", "run_id"):  # what is displayed goes before the part of an id that is not
                found = found or reading.rows(
                    f"SELECT run_id FROM run WHERE {column} >= ? AND {column} < ? ORDER BY run_id DESC LIMIT 100",
                    (wanted.text, end),
                )
            if len(found) != 1:
                self._refuse(ref, wanted.text, reading, [each[0] for each in found])
            row = self._row(reading, found[0][0])
        return self._run_of(reading, row)

    def _refuse(self, ref: str, text: str, reading: ReadConnection, candidates: Sequence[str]) -> NoReturn:
        """Say that no run, or more than one, answers to a reference, or that the run has expired."""
        gone = [] if candidates else find(reading.rows, text)
        if len(gone) == 1:
            refuse_expired(ref, gone[0])
        refuse_run(ref, candidates)

    def _row(self, reading: ReadConnection, run_id: str) -> Any:
        return reading.row(f"SELECT {COLUMNS} FROM run r WHERE r.run_id = ?", (run_id,))

    def _run_of(self, reading: ReadConnection, row: tuple[Any, ...]) -> Run:
        """The run of a row, as it stands now; it knows that it is kept here."""
        return kept_in(self._stands(reading, row), self)

    def _stands(self, reading: ReadConnection, row: tuple[Any, ...]) -> Run:
        number, log, body, amended, crc = row
        run = run_of(body, amended, crc)
        if run.status is not Status.RECORDING:
            return run
        live = is_live(self._sign(self._log_name(reading, log, run)))
        # Looked at again: it may have been closed before its sign of life went.
        row = reading.row(f"SELECT {COLUMNS} FROM run r WHERE r.id = ?", (number,))
        if row is not None:
            run = run_of(row[2], row[3], row[4])
        if run.status is not Status.RECORDING:
            return run
        shares = self._has_shared(reading) and reading.row(f"SELECT {_SHARES} FROM run r WHERE id = ?", (number,))
        recording = self._recording(run, Owner(number, log), reading, shares=bool(shares and shares[0]))
        run = replace(run, totals=recording.totals())
        if live:
            return run
        ended = ended_as(self._sign(self._log_name(reading, log, run)))
        if ended is not None and not run.lane:
            return replace(run, status=ended[0], ended_us=ended[1], degraded=(*run.degraded, UNKEPT))
        return replace(run, status=Status.INTERRUPTED, interrupted_at=recording.last())

    def _log_name(self, reading: ReadConnection, log: int, run: Run) -> str:
        """Id of the run that owns the log."""
        if not run.lane:
            return run.id
        row = reading.row("SELECT run_id FROM run WHERE id = ?", (log,))
        return run.id if row is None else str(row[0])

    def _sign(self, run_id: str) -> Path:
        """The file that is locked while a run is recorded."""
        directory = "live" if self._own_directory else f"{self.path.name}-live"
        return self.path.parent / directory / f"{run_id}.lock"

    # --- one run -------------------------------------------------------------------------------------------------

    def open(self, run: Run | str) -> SqliteRecording | SharingRecording:
        """See ``abc.store.Store``. Three look-ups."""
        reading, _ = self._read()
        found = self.run(run) if isinstance(run, str) else run
        shares = _SHARES if self._has_shared(reading) else "0"
        row = reading.row(f"SELECT id, log, {shares} FROM run r WHERE run_id = ?", (found.id,))
        if row is None:
            self._refuse(tail(found.id), found.id, reading, ())
        if isinstance(run, Run) and run.status is Status.RECORDING:
            found = self.run(run.id)
        return self._recording(found, Owner(*row[:2]), reading, shares=bool(row[2]))

    def _recording(
        self, run: Run, owner: Owner, reading: ReadConnection, *, shares: bool
    ) -> SqliteRecording | SharingRecording:
        """The run's views; those of a fork also look where its parent's rows are."""
        own = SqliteRecording(run, owner, reading, self._hash())
        return SharingRecording(own, owner.log, reading) if shares else own

    def _has_shared(self, reading: ReadConnection) -> bool:
        """Whether any fork of this store has ever shared rows with its parent."""
        if not self._shares:
            self._shares = bool(reading.rows("SELECT 1 FROM sqlite_master WHERE name = 'piece'"))
        return self._shares

    def payload(self, digest: Payload | str) -> bytes:
        """See ``abc.store.Store``."""
        reading, hasher = self._read()
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
        writing, hasher = self._write()
        try:
            lock = LiveLock(self._sign(run.id))
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
        """Number of the log that a run goes on from; None where it does not, or where that is still written."""
        if run.parent is None or run.relation not in inheriting.GOES_ON:
            return None
        row = connection.execute(
            "SELECT r.log, o.run_id, o.status FROM run r JOIN run o ON o.id = r.log WHERE r.run_id = ?", (run.parent,)
        ).fetchone()
        if row is None or (row[2] == Status.RECORDING and is_live(self._sign(row[1]))):
            return None
        return int(row[0])

    def adopt(self, logs: Sequence[tuple[Run, Iterable[Record]]]) -> None:
        """See ``abc.store.Store``. One transaction, which a power loss does not undo either."""
        writing, hasher = self._write()
        with writing.transaction(durable=True) as connection:
            for run, records in logs:
                write_whole(connection, run, records, hasher)
                unbury(connection, run.id)
                arrived(connection, row_number(connection, run.id) or 0, self._clock.wall_us())
        writing.checkpoint(least_growth=WriteConnection.CHECKPOINT_BYTES)

    def amend(self, run: Run | str, *, flag: str | None = None, tags: Mapping[str, str] | None = None) -> Run:
        """See ``abc.store.Store``. Of a run that is being recorded too: what people say is kept apart."""
        found = self.open(run).run
        with self._write()[0].transaction() as connection:
            number = row_number(connection, found.id)
            if number is None:
                refuse_run(tail(found.id))
            amend_run(connection, number, flag=flag, tags=tags)
        return self.run(found.id)

    def mark(self, mark: Mark) -> None:
        """See ``abc.store.Store``. The file is made when there is none."""
        with self._write()[0].transaction(durable=True) as connection:
            mark_rows.insert_mark(connection, mark)

    def unmark(self, mark_id: str) -> None:
        """See ``abc.store.Store``."""
        with self._write()[0].transaction() as connection:
            mark_rows.delete_mark(connection, mark_id)

    def marks(self) -> Sequence[Mark]:
        """See ``abc.store.Store``."""
        return mark_rows.read_marks(self._read()[0].rows)

    def conclude(self, run: Run) -> Run:
        """See ``abc.store.Store``."""
        with self._write()[0].transaction() as connection:
            number = row_number(connection, run.id)
            if number is None:
                refuse_run(tail(run.id))
            update_run(connection, number, run)
        forget_mark(self._sign(run.id))
        return self.run(run.id)

    # --- the ledger ----------------------------------------------------------------------------------------------

    def claimed(self, address: str) -> Claim | None:
        """See ``abc.store.Store``."""
        row = self._read()[0].row("SELECT run, event FROM effect WHERE address = ?", (address,))
        return None if row is None else Claim(address, *row)

    def claim(self, claim: Claim, *, over: Claim | None = None) -> bool:
        """See ``abc.store.Store``."""
        with self._write()[0].transaction(durable=True) as connection:
            return effect_rows.claim(connection, claim, over)

    def note_claims(self, claims: Iterable[Claim]) -> None:
        """See ``abc.store.Store``."""
        with self._write()[0].transaction(durable=True) as connection:
            effect_rows.note(connection, claims)

    def exchange(self, left: Run, right: Run) -> Run:
        """See ``abc.store.Store``."""
        with self._write()[0].transaction(durable=True) as connection:
            effect_rows.exchange(connection, left, right)
        return self.run(left.id)

    def delete(self, run: Run | str) -> None:
        """See ``abc.store.Store``.

        Raises:
            UsageError: The run lies in another run's log.
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
        writing, _ = self._write()
        with writing.transaction() as connection:
            log = row_number(connection, found.id)
            if log is not None:
                forget(connection, log)
        forget_mark(self._sign(found.id))
        for _ in self.give_back(anew=False):
            pass

    def discard(self, run_id: str) -> bool:
        """See ``abc.store.Store``. One transaction takes it away, and what is large of it goes in steps; the file keeps
        its size, and later runs fill what is free."""
        writing, _ = self._write()
        with writing.transaction() as connection:
            log = row_number(connection, run_id)
            logs = [] if log is None else unneeded(connection, log)
            for each in reversed(logs):
                forget(connection, each)
        forget_mark(self._sign(run_id))
        for _ in remove_rest(writing) if logs else ():
            pass
        return bool(logs)

    def thin(self, run_id: str, why: str) -> bool:
        """See ``abc.store.Store``. One transaction; the file keeps its size, and later runs fill what is free."""
        writing, _ = self._write()
        with writing.transaction() as connection:
            log = row_number(connection, run_id)
            return log is not None and bool(thinning.thin(connection, log, why, self._fetched))

    def _fetched(self, digest: bytes) -> bytes:
        return self.payload(Payload(digest.hex(), 0))

    def usage(self) -> Usage:
        """The bytes of runs in the file, and their model calls, for many runs at once."""
        return Usage(self._read()[0], self.payload)

    def features(self) -> FeatureRows:
        """The features of its runs, for many at once."""
        return FeatureRows(self._read()[0], lambda: self._write()[0])

    # --- expired runs --------------------------------------------------------------------------------------------

    def housekeeping(self) -> Housekeeping:
        """The expired runs; nothing is written."""
        return Housekeeping(self, self._read()[0], lambda run_id: is_live(self._sign(run_id)))

    def expire(self, going: ExpiredRun, now_us: int) -> bool:
        """Remove an expired run, if it is as it was when it was looked at; whether it was. One transaction."""
        gone = self.housekeeping().remove(self._write()[0], going, now_us)
        for name in going.rows if gone else ():
            forget_mark(self._sign(name))
        return gone

    def give_back(self, *, anew: bool = True) -> Iterator[int]:
        """Give free pages of the file back to the file system, some at a time; yields how many are left. See
        ``Housekeeping.give_back``."""
        return self.housekeeping().give_back(self._write()[0], anew=anew)

    def writing(self) -> WriteConnection:
        """The writing connection, for ``housekeeping``."""
        return self._write()[0]

    def migration(self) -> Migration:
        """The parts in an older format, to be looked at, and rewritten in today's."""
        reading, hasher = self._read()
        return Migration(self.path, reading, hasher, lambda run_id: is_live(self._sign(run_id)))

    def alone(self, doing: str = "gc") -> LiveLock | None:
        """The lock that one process at a time has, for removing in the background or for another named task; None where
        another process has it."""
        try:
            return LiveLock(self._sign(doing))
        except OSError:
            return None

    def close(self) -> None:
        """See ``abc.store.Store``. Again: nothing."""
        with self._lock:
            self._closed = True
            reading, self._reading = self._reading, None
            writing, self._writing = self._writing, None
        if reading is not None:
            reading.close()
        if writing is not None:
            writing.close()

    # --- the file ------------------------------------------------------------------------------------------------

    def _hash(self) -> KeyedHash:
        assert self._hasher is not None
        return self._hasher

    def _read(self) -> tuple[ReadConnection, KeyedHash]:
        """The reading connection, opened when first needed.

        Raises:
            StoreError: There is no store, it is damaged, or closed.
            FormatTooNew: It is of a newer version.
        """
        reading = self._reading
        if reading is not None:
            return reading, self._hash()
        with self._lock:
            self._check_open()
            if self._reading is None:
                if not self.path.exists():
                    raise no_store(self.url)
                reading = ReadConnection(self.path)
                try:
                    self._look(reading)
                except BaseException:
                    reading.close()
                    raise
                self._reading = reading
            return self._reading, self._hash()

    def _look(self, reading: ReadConnection) -> None:
        """Read what a store says about itself."""
        names = {name for (name,) in reading.rows("SELECT name FROM sqlite_master")}
        if "meta" not in names:
            raise StoreError(
                f"{self.path.name} is not a store of reenact",
                cause="another program made the file",
                next_command="reenact config",
            )
        meta = dict(reading.rows("SELECT name, value FROM meta"))
        try:
            self._format = Format(int(meta["written"]), int(meta["oldest_reader"]))
            check_readable(self._format, self.path.name)
            self._hasher = KeyedHash(meta["key"])
        except (KeyError, TypeError, ValueError):
            raise StoreError(
                f"{self.path.name} does not say what it is",
                cause="it is damaged, or another program made the file",
                next_command="reenact config",
            ) from None
        self._indexed = False
        if "words_index" in names:
            try:
                reading.rows("SELECT rowid FROM words_index LIMIT 1")
                self._indexed = True
            except StoreError:
                # This SQLite was built without the index: the plain scan does it.
                pass

    def _write(self) -> tuple[WriteConnection, KeyedHash]:
        """The writing connection, opened when first needed; the file is made when there is none.

        Raises:
            StoreError: It cannot be written, or is of another version.
        """
        if self._writing is None:
            with self._lock:
                self._check_open()
            if not self.path.exists():
                make_file(self.path, self._entropy, own_directory=self._own_directory)
            reading, _ = self._read()
            check_writable(self._format, self.path.name)
            with self._lock:
                if self._writing is None:
                    writing = WriteConnection(self.path)
                    make_narrow(writing, reading.rows)
                    self._writing = writing
        return self._writing, self._hash()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the store is closed", cause="it was used after its with block, or after close()")


def _agrees(run: Run, filters: Mapping[str, Any]) -> bool:
    """The filters that depend on whether a recorder lives."""
    status = filters.get("status")
    failed = filters.get("failed")
    return (status is None or run.status == status) and (failed is None or failed == (run.status in _FAILED))


def no_store(url: str) -> RunNotFound:
    """The error for reading where nothing was ever recorded; its ``reason`` is ``absent``."""
    return RunNotFound(
        f"no store here ({url})",
        cause="nothing has been recorded in this directory or above it",
        next_command="reenact record -- python agent.py",
        url=url,
        reason="absent",
    )
