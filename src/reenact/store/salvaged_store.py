"""Copies the readable part of a damaged store into a new store: run by run, with a list of all losses.

A run is read twice: once to find its losses, and once to write the rest, with the losses noted in the run itself. The
new store gets its name when it is complete. Until then it is a draft; if the process dies, the next salvage removes the
draft.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from reenact.abc.body_access import body_or_size
from reenact.errors import EventNotFound, ReenactError, StoreError, UsageError
from reenact.facts.call import Failure, Fidelity, Stream, Value
from reenact.facts.effects import Claim
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import replace
from reenact.facts.record import (
    CallIssued,
    CallSettled,
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
from reenact.store.codec import joined
from reenact.store.connection import connect_reading
from reenact.store.mark_rows import sound_marks
from reenact.store.run_records import TURNS, as_begun, contents_of, state_of
from reenact.store.sharing_recording import SharingRecording
from reenact.store.sqlite_recording import SqliteRecording
from reenact.store.sqlite_store import SqliteStore

T = TypeVar("T")
Rows = SqliteRecording | SharingRecording

_LOST = "was lost in a damaged store"
_SAID = 5
"""The most losses that are named in the run itself."""
_OPEN = (Status.RECORDING, Status.INTERRUPTED)
_END = -1


class Loss(NamedTuple):
    """One thing that could not be read.

    Attributes:
        run: Id of the run.
        event: The number of the event; None where the loss is one of the run itself.
        what: The lost part.
    """

    run: str
    event: int | None
    what: str

    def __str__(self) -> str:
        return f"{self.what} of event {self.event}" if self.event is not None else self.what


class SalvageResult(NamedTuple):
    """The result of a salvage.

    Attributes:
        whole: Runs that lost nothing.
        partly: Runs that lost something.
        lost: Runs that could not be read at all.
        losses: All losses.
    """

    whole: tuple[str, ...]
    partly: tuple[str, ...]
    lost: tuple[str, ...]
    losses: tuple[Loss, ...]


OnProgress = Callable[[str, int, int], None]
"""Called with the current work, the number of runs saved, and the number of all runs."""


def salvage(source: Path, target: Path, told: OnProgress, *, own_directory: bool) -> SalvageResult:
    """Save the readable part of a store.

    Args:
        source: The file of the store, which is only read.
        target: File of the new store; with ``own_directory`` its folder belongs to the store alone, and must not exist.
        told: Called with the progress.
        own_directory: See ``SqliteStore``.

    Raises:
        UsageError: There is something at the target.
        StoreError: Nothing can be read, or the new store cannot be written. No part of it is left.
    """
    place = target.parent if own_directory else target
    if place.exists():
        raise UsageError(
            f"{place} is there already",
            cause="salvage writes a new store, and overwrites nothing",
            next_command="reenact salvage -o saved",
        )
    draft = place.with_name(f".{place.name}.salvage.{os.getpid()}")
    _remove_left_ones(place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        file = draft / target.name if own_directory else draft
        with SqliteStore(source) as damaged, SqliteStore(file, own_directory=own_directory) as saved:
            found = _save(source, damaged, saved, told)
        _settle(draft, place)
    except OSError as error:
        raise StoreError(
            f"{place} cannot be made: {error.strerror or error}",
            cause="the disk is full, or its folder cannot be written",
            next_command="df -h",
        ) from error
    finally:
        _remove(draft)
    return found


def _save(source: Path, damaged: SqliteStore, saved: SqliteStore, told: OnProgress) -> SalvageResult:
    logs, gone = _logs(source)
    whole: list[str] = []
    partly: list[str] = []
    lost: list[str] = []
    losses = [Loss(f"log {log}", None, "the run, with its id") for log in gone]
    lost += [each.run for each in losses]
    for done, (run_id, inner) in enumerate(logs.items()):
        told("run", done, len(logs))
        missing: list[Loss] = []
        run = _saved(damaged, saved, run_id, inner, missing)
        losses += missing
        (lost if run is None else partly if missing else whole).append(run_id)
    saved.note_claims(_claims(source))
    for mark in sound_marks(_both_ways(source, "mark", "id, body, crc")):
        saved.mark(mark)
    return SalvageResult(tuple(whole), tuple(partly), tuple(lost), tuple(losses))


def _saved(
    damaged: SqliteStore, saved: SqliteStore, run_id: str, inner: Iterable[str], missing: list[Loss]
) -> Run | None:
    """Copy one run with its log into the new store. None where the run cannot be read."""
    try:
        recording = damaged.open(run_id)
    except ReenactError as error:
        missing.append(Loss(run_id, None, f"the run ({error.message})"))
        missing += [Loss(each, None, "the run, which lies in that") for each in inner]
        return None
    children: list[Rows] = []
    for each in inner:
        try:
            children.append(damaged.open(each))
        except ReenactError as error:
            missing.append(Loss(each, None, f"the run ({error.message})"))
    for _ in _Readable(recording, missing).records():
        pass
    run = recording.run
    if missing:
        said = [f"{each} {_LOST}" for each in missing[:_SAID]]
        more = len(missing) - _SAID
        said += [f"{more} more {'parts were' if more > 1 else 'part was'} lost in a damaged store"] if more > 0 else []
        run = replace(run, degraded=(*run.degraded, *said))
    saved.adopt([(as_begun(run), _all(run, recording, children))])
    return run


def _all(run: Run, recording: Rows, children: list[Rows]) -> Iterator[Record]:
    """All records of a log that can be read."""
    children = sorted(children, key=lambda each: (each.run.started_us, each.run.id))
    yield RunOpened(as_begun(run))
    yield from (RunOpened(as_begun(each.run)) for each in children)
    yield from _Readable(recording, []).records()
    for each in children:
        if each.run.status not in _OPEN:
            yield RunClosed(replace(each.run, result=""), _Readable(each, []).notes())
    if run.status not in _OPEN:
        yield RunClosed(replace(run, result=""))


class _Readable:
    """Reads the readable part of a run, as records, and adds the rest to the losses."""

    def __init__(self, recording: Rows, losses: list[Loss]) -> None:
        self._recording = recording
        self._losses = losses
        self._lanes: dict[str, int] = {}

    def records(self) -> Iterator[Record]:
        """All records except the run's own opening and end."""
        recording = self._recording
        for fact in self._each(None, "lanes", recording.lanes):
            self._lanes[fact.path] = fact.number
            yield LaneOpened(fact.number, fact.path, fact.parent, fact.scope)
        turns = [*self._each(None, "the order from some turn on", recording.deliveries)]
        ends = {each.tag.number: each.number for each in turns if each.tag.kind == "e" and each.tag.n == _END}
        yield from self._events(ends)
        yield from self._each(None, "some reads of the surroundings", recording.reads)
        for at in range(0, len(turns), TURNS):
            yield TurnsDelivered(tuple(turns[at : at + TURNS]))
        for stream, name in ((1, "some of the standard output"), (2, "some of the standard error")):
            for data in self._each(None, name, partial(recording.printed, stream)):
                yield OutputPrinted(stream, 0, data)
        for gap in self._each(None, "some gaps", recording.gaps):
            yield GapNoted(*gap)
        notes = self.notes()
        yield from (EvidenceNoted(None, key, value) for key, value in notes.items())
        yield from self._each(None, "what files held before", lambda: contents_of(recording, notes))

    def notes(self) -> dict[str, object]:
        """The run's evidence."""
        return self._one(None, "the evidence", lambda: dict(self._recording.notes(None))) or {}

    def _events(self, ends: Mapping[int, int]) -> Iterator[Record]:
        """The records of all events. If the log has fewer events than it once had, the missing events count as lost."""
        recording = self._recording
        count = self._one(None, "the number of events", recording.count) or 0
        last = self._one(None, "the number of the last event", recording.last)
        numbers = range(max(-1 if last is None else last, count - 1) + 1)
        absent: list[int] = []
        for number in numbers:
            try:
                found = self._one(number, "the row", partial(recording.event, number))
            except EventNotFound:
                absent.append(number)
            else:
                if found is not None:
                    yield from self._event(found, ends.get(number))
        if len(numbers) - len(absent) < count:
            self._losses += [Loss(recording.run.id, number, "all") for number in absent]

    def _event(self, event: Event, end: int | None) -> Iterator[Record]:
        number = event.number
        lane = self._lanes.get(event.lane)
        if lane is None:
            lane = int(event.lane[1:]) if event.lane.startswith("?") and event.lane[1:].isdigit() else 0
        body = self._one(number, "the request", lambda: self._recording.body(event.request))
        outcome = [*self._outcome(event, end)]
        fidelity, said = event.fidelity, event.fidelity_note
        if body is None:
            fidelity, said = Fidelity.WITHHELD, joined(said, f"its request {_LOST}")
        elif not outcome and event.outcome is not None:
            fidelity, said = Fidelity.WITHHELD, joined(said, f"its answer {_LOST}")
        yield CallIssued(
            number, lane, event.position, event.parent, event.issued_us, replace(event.call, body=body or b""),
            fidelity, said,
        )  # fmt: skip
        yield from outcome
        evidence = self._one(number, "the evidence", lambda: dict(event.attributes)) or {}
        yield from (EvidenceNoted(number, key, value) for key, value in evidence.items())
        for phase in self._phases(number):
            taken = self._one(number, f"the state ({phase})", partial(state_of, self._recording, number, phase))
            if taken is not None:
                yield taken

    def _phases(self, number: int) -> Sequence[str]:
        """The phases of an event's states; if one of these states is damaged, all phases that a step may have."""
        try:
            return [each.phase for each in self._recording.snapshots(after=number - 1, before=number + 1)]
        except ReenactError:
            return ("in", "out")

    def _outcome(self, event: Event, end: int | None) -> Iterator[Record]:
        outcome, number, ended_us = event.outcome, event.number, event.ended_us or 0
        if isinstance(outcome, Value):
            body = self._one(number, "the answer", lambda: body_or_size(self._recording, event.answer))
            if body is not None:
                yield CallSettled(number, ended_us, replace(outcome, body=body), event.delivery)
        elif isinstance(outcome, Failure):
            yield CallSettled(number, ended_us, outcome, event.delivery)
        elif isinstance(outcome, Stream):
            if event.first_us is not None:
                yield HeadArrived(number, event.first_us, outcome.head, event.delivery)
            before = len(self._losses)
            for delivery, at_us, data in self._each(
                number, "the answer from some part on", lambda: self._recording.parts(number)
            ):
                yield SegmentArrived(number, at_us, data, delivery)
            if outcome.end is not None and len(self._losses) == before:
                yield StreamEnded(number, ended_us, outcome.end, end)

    def _one(self, event: int | None, what: str, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except EventNotFound:
            raise
        except ReenactError:
            self._losses.append(Loss(self._recording.run.id, event, what))
        return None

    def _each(self, event: int | None, what: str, read: Callable[[], Iterable[T]]) -> Iterator[T]:
        try:
            yield from read()
        except ReenactError:
            self._losses.append(Loss(self._recording.run.id, event, what))


def _logs(source: Path) -> tuple[dict[str, list[str]], list[int]]:
    """The runs with a log of their own, oldest first, each with the runs in its log; and the logs without a run."""
    rows = _both_ways(source, "run", "id, run_id, log")
    owners = {number: run_id for number, run_id, log in rows if number == log}
    found: dict[str, list[str]] = {run_id: [] for run_id in owners.values()}
    for number, run_id, log in rows:
        if number != log and log in owners:
            found[owners[log]].append(run_id)
    return found, [log for log, _ in _both_ways(source, "log", "id, events") if log not in owners]


def _claims(source: Path) -> list[Claim]:
    return [
        Claim(address, run, event)
        for address, run, event in _both_ways(source, "effect", "address, run, event")
        if type(address) is str and type(run) is str and type(event) is int
    ]


def _both_ways(source: Path, table: str, columns: str) -> list[tuple]:  # type: ignore[type-arg]  # of three
    """Short rows of a table, read from its beginning and from its end, each as far as possible."""
    problem: Exception | None = None
    found: dict[object, tuple] = {}  # type: ignore[type-arg]
    first = columns.partition(",")[0]
    with closing(connect_reading(source)) as connection:
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        for order in ("", " DESC"):
            try:
                for row in connection.execute(f"SELECT {columns} FROM {table} ORDER BY {first}{order}"):
                    found.setdefault(row[0], row)
            except sqlite3.DatabaseError as error:
                problem = error
    if problem is not None and not found and table == "run":
        raise StoreError(
            f"nothing of {source.name} can be saved: {problem}",
            cause="it is no store, or its table of runs is gone",
            next_command="reenact fsck",
        ) from problem
    return [found[key] for key in sorted(found, key=lambda key: (str(type(key)), key))]


def _settle(draft: Path, place: Path) -> None:
    """Give the finished store its name, without replacing a file that has appeared there."""
    if draft.is_dir():
        os.rename(draft, place)
    else:
        os.link(draft, place)


def _remove(draft: Path) -> None:
    if draft.is_dir():
        shutil.rmtree(draft, ignore_errors=True)
    for each in (draft, *(draft.with_name(draft.name + end) for end in ("-wal", "-shm"))):
        with suppress(OSError):
            each.unlink()


def _remove_left_ones(place: Path) -> None:
    """Remove the drafts of processes that died."""
    if not place.parent.is_dir():
        return
    head = f".{place.name}.salvage."
    for each in place.parent.iterdir():
        pid = each.name.removeprefix(head)
        if each.name.startswith(head) and pid.isdigit() and not _lives(int(pid)):
            _remove(each)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
