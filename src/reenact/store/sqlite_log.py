"""Writes one run to a SQLite store: a batch of records becomes the rows of one transaction.

A batch changes copies of the state in memory, which replace the state only after the commit. So after a failure, the
next batch continues from the real content of the file. A call that a batch both issues and settles is written once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any
from zlib import crc32

from reenact.errors import StoreError
from reenact.facts.call import RETURN, Fidelity, Kind, Value
from reenact.facts.feature_collector import FeatureCollector
from reenact.facts.lazy_dataclass import replace
from reenact.facts.order import Delivery, pack
from reenact.facts.record import (
    AmbientRead,
    CallIssued,
    CallSettled,
    CheckpointTaken,
    EvidenceNoted,
    GapNoted,
    HeadArrived,
    LaneOpened,
    OutputPrinted,
    Record,
    RunClosed,
    RunOpened,
    SegmentArrived,
    StreamEnded,
    TurnsDelivered,
)
from reenact.facts.run import Run, Status
from reenact.store.base_output import BaseOutput, OutputBatch
from reenact.store.check_sums import sum_of
from reenact.store.codec import dump
from reenact.store.connection import WriteConnection, lose, lost
from reenact.store.event_batch import EventBatch
from reenact.store.feature_rows import put
from reenact.store.folding import ColumnFold
from reenact.store.full_text import TextGatherer, put_text
from reenact.store.keyed_hash import KeyedHash
from reenact.store.liveness import LiveLock
from reenact.store.passages import share_text
from reenact.store.payloads import LEAST_OF_A_STEP, LEAST_SPLICED, Payloads
from reenact.store.pieces import declare, is_there, place_of
from reenact.store.row_sharing import Heir, last_serial, stretches
from reenact.store.rows import head_row, settled_row
from reenact.store.runrows import insert_run, row_number, update_run
from reenact.store.schema import LOW, MENTIONED, SCOPE, SHIFT, STRAND
from reenact.store.state_batch import StateBatch
from reenact.store.stream_pieces import OpenStream, StreamBatch
from reenact.store.versions import has_folded, has_packed

NOTE_INLINE = 512
"""The longest evidence that is stored in its own row, in characters; longer evidence is a payload."""

_AT_ONCE = 512
"""The number of records that are written together if a run was recorded elsewhere."""

_MENTIONED_FROM = 1 << 30
"""The first number for paths of lanes that only the order names."""


class SqliteLog:
    """Appends the records of one run to a store.

    Args:
        run: The run at its beginning; its row is written at once.
        writing: The store's writing connection.
        hasher: The store's hash.
        lock: The lock that shows that the run is being recorded, held until ``close``.
        parent_of: Gives the number of the ended log that the run continues, to which equal rows are left. Called in the
            transaction in which the run begins, so that the parent cannot be deleted in between.

    Raises:
        StoreError: The run cannot be written, or exists already.
    """

    def __init__(
        self,
        run: Run,
        writing: WriteConnection,
        hasher: KeyedHash,
        lock: LiveLock,
        parent_of: Callable[[sqlite3.Connection], int | None],
    ) -> None:
        self._writing = writing
        self._lock: LiveLock | None = lock
        self._ended: Status | None = None
        with writing.transaction() as connection:
            parent = parent_of(connection)
            number = insert_run(connection, run)
            connection.execute("INSERT INTO log(id, events, last) VALUES (?, 0, -1)", (number,))
            bases: Sequence[int] = ()
            if parent is not None:
                declare(connection, number, parent)
                bases = Heir(connection, number).bases
            serial = last_serial(connection, bases)
            folds, packs = has_folded(connection), has_packed(connection)
        self._state = _State(run.id, number, hasher, bases, folds=folds, packs=packs)
        self._state.serial = serial

    def write(self, records: Sequence[Record], *, durable: bool = False) -> None:
        """See ``abc.store.Log``. A long write-ahead log is checkpointed afterwards, but not after a durable batch,
        because a caller waits for the end of that."""
        if self._lock is None:
            raise StoreError("the log is closed", cause="records came after the end of their recording")
        for record in records:
            if type(record) is RunClosed and record.run.id == self._state.run_id:
                self._ended = record.run.status
        if self._lock.is_lost():  # else SQLite would wait for locks, and write to wrong files
            lose(self._writing.path)
            raise lost()
        batch = _Batch(self._state)
        try:
            with self._writing.transaction(durable=durable) as connection:
                batch.write(connection, records)
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            batch.roll_back()
            raise _unstorable(error) from error
        except BaseException as error:
            batch.roll_back()
            if isinstance(error, StoreError) and self._lock.is_lost():  # SQLite blames the disk
                lose(self._writing.path)
                raise lost() from error
            raise
        batch.commit()
        self._ended = None
        if not durable:
            self._writing.checkpoint(least_growth=WriteConnection.CHECKPOINT_BYTES)

    def close(self) -> None:
        """See ``abc.store.Log``. A second call does nothing. If the end of the run could not be written, the name of
        the lock file states the end."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release(self._ended)
            self._state.payloads.forget()
            self._writing.checkpoint(least_growth=WriteConnection.CHECKPOINT_BYTES)


def write_whole(connection: sqlite3.Connection, run: Run, records: Iterable[Record], hasher: KeyedHash) -> None:
    """Write a run that was recorded elsewhere, with all of its log. Only some records are in memory at a time.

    Args:
        connection: In a transaction, which is the caller's to end.
        run: The run; its row is written first.
        records: Its log.
        hasher: The store's hash.

    Raises:
        StoreError: There is already a run with this id, or a record cannot be stored.
    """
    number = insert_run(connection, run)
    connection.execute("INSERT INTO log(id, events, last) VALUES (?, 0, -1)", (number,))
    state = _State(run.id, number, hasher, folds=has_folded(connection), packs=has_packed(connection))
    source = iter(records)
    try:
        while some := list(islice(source, _AT_ONCE)):
            batch = _Batch(state)
            batch.write(connection, some)
            batch.commit()
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise _unstorable(error) from error


def _unstorable(error: Exception) -> StoreError:
    return StoreError(f"a record cannot be stored: {error}", cause="a fact that is not JSON-able, or out of range")


class _State:
    """The state of a log in memory, between its batches."""

    def __init__(
        self,
        run_id: str,
        number: int,
        hasher: KeyedHash,
        bases: Sequence[int] = (),
        *,
        folds: bool = False,
        packs: bool = False,
    ) -> None:
        self.run_id = run_id
        self.log = number
        self.origin = number << SHIFT
        self.hasher = hasher
        self.payloads = Payloads(number, hasher, bases)
        self.asked = ColumnFold()
        self.came = ColumnFold()
        self.folds = folds and not bases
        self.packs = packs
        self.shares = bool(bases)
        self.spoken: dict[int, int] = {}
        self.bases_spoken = BaseOutput()
        self.words = TextGatherer()
        self.noticing = FeatureCollector()
        self.returned: int | None = None
        self.result = ""
        self.paths: dict[str, int] = {}
        self.shapes: dict[tuple[str, ...], int] = {}
        self.steps: dict[int, str] = {}  # the channels of open steps
        self.named: set[int] = set()
        self.mentioned = 0
        self.streams: dict[int, OpenStream] = {}
        self.events = 0
        self.last = -1
        self.serial = 0


class _Batch:
    """The records of one transaction."""

    def __init__(self, state: _State) -> None:
        self._state = state
        self._origin = state.origin
        self._events = EventBatch(state.origin, state.asked, state.came, folds=state.folds)
        self._streams = StreamBatch(state.origin, state.hasher, state.streams)
        self._output = OutputBatch(state.origin, state.spoken)
        self._paths: dict[str, int] = {}
        self._lanes: list[tuple[int, str, int | None, int]] = []
        self._mentioned = state.mentioned
        self._serial = state.serial
        self._named: set[int] = set()
        self._ambient: list[tuple[int, int, int, str, bytes, int]] = []
        self._deliveries: list[Delivery] = []
        self._notes: list[tuple[int, str, int, str, str | None, bytes | None, int]] = []
        self._heir: Heir | None = None
        self._closes = False
        self._touched: set[int] = set()
        self._places: set[int] = set()
        self._connection: sqlite3.Connection = None  # type: ignore[assignment]  # given by write()
        self._states: StateBatch = None  # type: ignore[assignment]  # likewise

    def write(self, connection: sqlite3.Connection, records: Sequence[Record]) -> None:
        """Write all records inside a transaction."""
        state, self._connection = self._state, connection
        self._states = StateBatch(connection, state.origin, state.payloads, state.hasher, state.shapes)
        if state.shares:
            self._take_back(records)
        for record in records:
            state.words.see(record)
            state.noticing.take(record)
            _WRITERS[type(record)](self, record)
        self._events.write(connection, state.events, state.last)
        self._streams.write(connection)
        self._write_order()
        own = None if self._heir is None else partial(self._heir.own_output, state.bases_spoken)
        self._output.write(connection, own)
        if self._ambient:
            connection.executemany("INSERT INTO ambient VALUES (?, ?, ?, ?, ?, ?)", self._ambient)
        if self._notes:
            connection.executemany(
                "INSERT INTO note(owner, name, n, fidelity, value, digest, crc) VALUES (?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT(owner, name) DO UPDATE SET fidelity = excluded.fidelity, value = excluded.value, "
                "digest = excluded.digest, crc = excluded.crc",
                self._notes,
            )
        if self._lanes:
            connection.executemany("INSERT INTO lane(id, path, parent, kind) VALUES (?, ?, ?, ?)", self._lanes)
        if self._heir is not None:
            self._heir.share(self._touched)
            self._heir.share_reads(self._places)
            self._heir.share_lanes({address & LOW for address, *_ in self._lanes}, state.named | self._named)
            self._heir.save()
        finish = state.payloads.seal if self._closes else state.payloads.finish
        finish(connection)

    def _take_back(self, records: Sequence[Record]) -> None:
        """Take back the shared rows to which the records add. Once the records are written, the rows are compared with
        the bases again."""
        self._heir = Heir(self._connection, self._state.log)
        self._state.payloads.bases = self._heir.bases
        self._touched = {number for each in records if (number := getattr(each, "event", None)) is not None}
        self._places = {place_of(each.lane, each.position) for each in records if type(each) is AmbientRead}
        self._heir.take_back(self._touched)
        self._heir.take_reads_back(self._places)
        self._heir.take_lanes_back({each.lane for each in records if isinstance(each, (CallIssued, AmbientRead))})

    def commit(self) -> None:
        """Called when the transaction is committed."""
        state = self._state
        state.noticing.kept()
        state.payloads.commit()
        state.paths.update(self._paths)
        for each in (self._events, self._streams, self._output, self._states):
            each.commit()
        state.named |= self._named
        state.mentioned = self._mentioned
        state.serial = self._serial
        state.events += len(self._events)
        state.last = max(state.last, self._events.last)

    def roll_back(self) -> None:
        """Called when the transaction has failed."""
        self._state.payloads.roll_back()
        self._events.roll_back()

    # --- one method a record ---------------------------------------------------------------------------------------

    def _run_opened(self, record: RunOpened) -> None:
        number = row_number(self._connection, record.run.id)
        if number is None:
            insert_run(self._connection, record.run, log=self._state.log)
        else:
            update_run(self._connection, number, record.run)

    def _run_closed(self, record: RunClosed) -> None:
        number, run = row_number(self._connection, record.run.id), record.run
        if run.id == self._state.run_id and run.result != self._state.result:
            run = replace(run, result=self._state.result)
        if number is None:
            number = insert_run(self._connection, run, log=self._state.log)
        else:
            update_run(self._connection, number, run)
        for name, value in record.extra.items():
            self._note(-number, name, value, Fidelity.EXACT)
        put(self._connection, number, run, self._state.noticing.features(run))
        if number == self._state.log:
            self._closes = True
            text = self._state.words.text()
            if is_there(self._connection):
                share_text(self._connection, number, text, self._heir.bases if self._heir is not None else ())
            else:
                put_text(self._connection, number, text)

    def _lane_opened(self, record: LaneOpened) -> None:
        address = self._origin | record.number
        self._paths[record.path] = record.number
        self._lanes.append((address, record.path, record.parent, SCOPE if record.scope else STRAND))

    def _call_issued(self, record: CallIssued) -> None:
        call = record.call
        channel = call.channel or f"{call.kind.value} {call.name}"
        least = LEAST_SPLICED
        if call.kind is Kind.STEP:
            self._state.steps[record.event], least = channel, LEAST_OF_A_STEP
        self._events.issue(record, *self._state.payloads.keep(self._connection, call.body, channel, least))
        if call.kind is Kind.OUTPUT and call.name == RETURN:
            self._state.returned = record.event

    def _call_settled(self, record: CallSettled) -> None:
        outcome = record.outcome
        body = outcome.body if isinstance(outcome, Value) else b""
        step = self._state.steps.pop(record.event, None)
        if step is None:
            where, digest = self._state.payloads.keep(self._connection, body)
        else:
            where, digest = self._state.payloads.keep(self._connection, body, step, LEAST_OF_A_STEP)
        self._events.settle(self._connection, record.event, settled_row(record, digest, len(body)), where)
        if record.event == self._state.returned:
            self._state.result = digest.hex()

    def _head_arrived(self, record: HeadArrived) -> None:
        self._events.settle(self._connection, record.event, head_row(record), None)

    def _segment_arrived(self, record: SegmentArrived) -> None:
        self._streams.add(record)

    def _stream_ended(self, record: StreamEnded) -> None:
        self._streams.end(record)

    def _noted(self, record: EvidenceNoted) -> None:
        owner = -self._state.log if record.event is None else self._origin | record.event
        self._note(owner, record.key, record.value, record.fidelity)

    def _note(self, owner: int, name: str, value: Any, fidelity: Fidelity) -> None:
        text: str | None = dump(value)
        digest = None
        assert text is not None
        crc = sum_of(owner & LOW, text)
        if len(text) > NOTE_INLINE:
            _, digest = self._state.payloads.keep(self._connection, text.encode(), f"note:{name}")
            text = None
        self._serial += 1
        self._notes.append((owner, name, self._serial, fidelity.value, text, digest, crc))

    def _ambient_read(self, record: AmbientRead) -> None:
        self._serial += 1
        strand = self._origin | record.lane
        crc = crc32(record.data, strand & LOW)
        self._ambient.append((strand, record.position, self._serial, record.source, record.data, crc))

    def _delivered(self, record: TurnsDelivered) -> None:
        self._deliveries.extend(record.deliveries)

    def _print(self, record: OutputPrinted) -> None:
        self._output.add(record)

    def _checkpoint_taken(self, record: CheckpointTaken) -> None:
        self._states.write(record, packs=self._state.packs)

    def _gap_noted(self, record: GapNoted) -> None:
        self._connection.execute(
            "INSERT INTO gap(log, what, place, count) VALUES (?, ?, ?, ?) "
            "ON CONFLICT(log, what, place) DO UPDATE SET count = count + excluded.count",
            (self._state.log, record.what, record.place, record.count),
        )

    # --- what is written at the end of a batch ----------------------------------------------------------------------

    def _write_order(self) -> None:
        numbers = {tag.lane: self._number_of(tag.lane) for _, tag, *_ in self._deliveries if tag.lane}
        deliveries: Sequence[Delivery] = self._deliveries
        if self._heir is not None:
            deliveries = self._heir.own_order(deliveries)
            self._named = {numbers[tag.lane] for _, tag, *_ in deliveries if tag.lane}
            self._heir.take_lanes_back(self._named)
        for stretch in stretches(deliveries):
            data = pack(stretch, numbers)
            address = self._origin | stretch[0].number
            self._connection.execute(
                "INSERT INTO turns(id, count, data, crc) VALUES (?, ?, ?, ?)",
                (address, len(stretch), data, crc32(data, address & LOW)),
            )

    def _number_of(self, path: str) -> int:
        """The number of a lane. A path that the order names, but whose lane has not been opened, gets a new number."""
        number = self._paths.get(path)
        if number is None:
            number = self._state.paths.get(path)
        if number is None:
            number = self._paths[path] = _MENTIONED_FROM + self._mentioned
            self._mentioned += 1
            self._lanes.append((self._origin | number, path, None, MENTIONED))
        return number


_WRITERS: dict[type, Callable[[_Batch, Any], None]] = {
    RunOpened: _Batch._run_opened,
    LaneOpened: _Batch._lane_opened,
    CallIssued: _Batch._call_issued,
    CallSettled: _Batch._call_settled,
    HeadArrived: _Batch._head_arrived,
    SegmentArrived: _Batch._segment_arrived,
    StreamEnded: _Batch._stream_ended,
    EvidenceNoted: _Batch._noted,
    AmbientRead: _Batch._ambient_read,
    TurnsDelivered: _Batch._delivered,
    OutputPrinted: _Batch._print,
    CheckpointTaken: _Batch._checkpoint_taken,
    GapNoted: _Batch._gap_noted,
    RunClosed: _Batch._run_closed,
}
