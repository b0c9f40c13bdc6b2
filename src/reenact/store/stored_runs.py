"""Finds the runs of a store by filters and references, in their present state, and opens them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NoReturn

from reenact.facts.ids import TIME_LENGTH, is_run_id, tail
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Run, Status
from reenact.store.connection import ReadConnection
from reenact.store.run_query import RunQuery, Text
from reenact.store.runrows import COLUMNS, run_of
from reenact.store.span import Owner
from reenact.store.sqlite_recording import SqliteRecording
from reenact.store.store_file import StoreFile

if TYPE_CHECKING:
    from reenact.store.hits import text_of
    from reenact.store.liveness import ended_as, is_live
    from reenact.store.reference_lookup import Latest, parse_run, refuse_run
    from reenact.store.sharing_recording import SharingRecording
    from reenact.store.tombstones import find, refuse_expired
else:
    text_of = late("reenact.store.hits", "text_of")
    SharingRecording = late("reenact.store.sharing_recording", "SharingRecording")
    ended_as = late("reenact.store.liveness", "ended_as")
    is_live = late("reenact.store.liveness", "is_live")
    find = late("reenact.store.tombstones", "find")
    refuse_expired = late("reenact.store.tombstones", "refuse_expired")
    Latest = late("reenact.store.reference_lookup", "Latest")
    parse_run = late("reenact.store.reference_lookup", "parse_run")
    refuse_run = late("reenact.store.reference_lookup", "refuse_run")


_FAILED = (Status.FAILED, Status.TIMEOUT, Status.INTERRUPTED)
_SHARES = "EXISTS(SELECT 1 FROM piece p WHERE p.log = r.log)"
"""A SQL expression: whether the log of a run ``r`` reads rows of other logs."""
UNKEPT = "it has ended, and its last events, output and error could not be written"
"""The note on a run whose end could not be written."""


class StoredRuns:
    """Finds runs in the file of a store, with their present state.

    Args:
        file: The file.
    """

    def __init__(self, file: StoreFile) -> None:
        self._file = file

    def filtered(self, filters: Mapping[str, Any], *, own: bool = False) -> Iterator[Run]:
        """The runs that match, newest first: by the time in their ids and, within one millisecond, by the numbers of
        their rows. (The start time in a kept replay is that of its recording.)"""
        reading, _ = self._file.read()
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
        """The search for a text; None if the text is empty."""
        if not text:
            return None
        return text_of(reading.rows, text, indexed=self._file.indexed, shares=self._file.has_shared(reading))

    def run(self, ref: str) -> Run:
        """The run that a reference names."""
        wanted = parse_run(ref)
        reading, _ = self._file.read()
        if isinstance(wanted, Latest):
            filters = {"failed": True} if wanted.failed else {}
            own = wanted.counted(self.filtered(filters, own=True), self.run)
            there = 0
            for there, run in enumerate(own, 1):
                if there > wanted.back:
                    return run
            refuse_run(ref, there=there)
        row = self._row(reading, wanted.text) if is_run_id(wanted.text) else None
        if row is None:
            end = wanted.text + "{"
            found: list[Any] = []
            for column in ("tail", "run_id"):  # a match in the displayed part of an id (its tail) comes first
                found = found or reading.rows(
                    f"SELECT run_id FROM run WHERE {column} >= ? AND {column} < ? ORDER BY run_id DESC LIMIT 100",
                    (wanted.text, end),
                )
            if len(found) != 1:
                self.refuse(ref, wanted.text, reading, [each[0] for each in found])
            row = self._row(reading, found[0][0])
        return self._run_of(reading, row)

    def refuse(self, ref: str, text: str, reading: ReadConnection, candidates: Sequence[str]) -> NoReturn:
        """Raise the error for a reference that matches no run, more than one run, or an expired run."""
        gone = [] if candidates else find(reading.rows, text)
        if len(gone) == 1:
            refuse_expired(ref, gone[0])
        refuse_run(ref, candidates)

    def _row(self, reading: ReadConnection, run_id: str) -> Any:
        return reading.row(f"SELECT {COLUMNS} FROM run r WHERE r.run_id = ?", (run_id,))

    def _run_of(self, reading: ReadConnection, row: tuple[Any, ...]) -> Run:
        """The run of a row, in its present state."""
        number, log, body, amended, crc = row
        run = run_of(body, amended, crc)
        if run.status is not Status.RECORDING:
            return run
        live = is_live(self._file.sign(self._log_name(reading, log, run)))
        # Read again: the run may have been closed before its lock file was removed.
        row = reading.row(f"SELECT {COLUMNS} FROM run r WHERE r.id = ?", (number,))
        if row is not None:
            run = run_of(row[2], row[3], row[4])
        if run.status is not Status.RECORDING:
            return run
        shares = self._file.has_shared(reading) and reading.row(f"SELECT {_SHARES} FROM run r WHERE id = ?", (number,))
        recording = self._recording(run, Owner(number, log), reading, shares=bool(shares and shares[0]))
        run = replace(run, totals=recording.totals())
        if live:
            return run
        ended = ended_as(self._file.sign(self._log_name(reading, log, run)))
        if ended is not None and not run.lane:
            return replace(run, status=ended[0], ended_us=ended[1], degraded=(*run.degraded, UNKEPT))
        return replace(run, status=Status.INTERRUPTED, interrupted_at=recording.last())

    def _log_name(self, reading: ReadConnection, log: int, run: Run) -> str:
        """Id of the run that owns the log."""
        if not run.lane:
            return run.id
        row = reading.row("SELECT run_id FROM run WHERE id = ?", (log,))
        return run.id if row is None else str(row[0])

    def open(self, run: Run | str) -> SqliteRecording | SharingRecording:
        """The recording of a run, found by three look-ups."""
        reading, _ = self._file.read()
        found = self.run(run) if isinstance(run, str) else run
        shares = _SHARES if self._file.has_shared(reading) else "0"
        row = reading.row(f"SELECT id, log, {shares} FROM run r WHERE run_id = ?", (found.id,))
        if row is None:
            self.refuse(tail(found.id), found.id, reading, ())
        if isinstance(run, Run) and run.status is Status.RECORDING:
            found = self.run(run.id)
        return self._recording(found, Owner(*row[:2]), reading, shares=bool(row[2]))

    def _recording(
        self, run: Run, owner: Owner, reading: ReadConnection, *, shares: bool
    ) -> SqliteRecording | SharingRecording:
        """The recording of a run; for a fork, one that also reads its parent's rows."""
        own = SqliteRecording(run, owner, reading, self._file.hasher())
        return SharingRecording(own, owner.log, reading) if shares else own


def _agrees(run: Run, filters: Mapping[str, Any]) -> bool:
    """Whether a run agrees with the filters that depend on whether its recorder lives."""
    status = filters.get("status")
    failed = filters.get("failed")
    return (status is None or run.status == status) and (failed is None or failed == (run.status in _FAILED))
