"""Whatever fails in SQLite's files, and whatever a power loss takes: the store stays sound and has what it promised."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import pytest

from reenact.errors import StoreError
from reenact.facts.call import Kind
from reenact.facts.record import CallIssued, CheckpointTaken, Record
from reenact.facts.run import Run
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_check import check_store
from tests.store.failing_files import Disk, over
from tests.store.records import closing, issued, new_run, opening, settled, streamed, turns

SAMPLE = 24
"""Of so many places of a fault, or a power loss, each kind is tried in the suite; in a sweep at every one."""
KINDS = ("write", "sync", "open", "truncate", "read")


def history(size: int) -> bytes:
    """A conversation that is sent again with each call."""
    return b"[" + b",".join(b'{"said": "%d"}' % n * 30 for n in range(size)) + b"]"


@dataclass
class Story:
    """What is written into a store, and what that has acknowledged.

    Attributes:
        store: Where.
        marks: Is told of each acknowledgement whether it is to outlast a power loss.
        kept: Calls of each run that were acknowledged, by number.
        lost: Those whose batch was refused.
        gone: Runs whose removal was acknowledged.
        perhaps_gone: The run whose removal was refused.
    """

    store: SqliteStore
    marks: Callable[[bool], object] = lambda durable: None
    kept: dict[str, dict[int, bytes]] = field(default_factory=dict)
    lost: dict[str, set[int]] = field(default_factory=dict)
    gone: list[Run] = field(default_factory=list)
    perhaps_gone: str = ""

    def tell(self) -> None:
        """Two runs, a fork, and the removal of the first."""
        first = self.run(new_run())
        second = self.run(new_run())
        self.run(new_run(parent=second.id, relation="fork"))
        try:
            self.store.delete(first)
        except StoreError:
            self.perhaps_gone = first.id  # it goes in steps, and the first of them takes it out of sight
            return
        self.gone.append(first)
        self.marks(False)

    def run(self, run: Run) -> Run:
        """A run of some calls, in batches; what is refused is not offered again."""
        self.kept[run.id], self.lost[run.id] = {}, set()
        try:
            log = self.store.begin(run)
            log.write(opening(run), durable=True)
        except StoreError:
            return run
        self.marks(True)
        for number in range(8):
            kind = Kind.STEP if number == 5 else Kind.TOOL
            records: list[Record] = [issued(number, history(number * 4), kind=kind)]
            records += streamed(number, [b"w" * 300, history(9)]) if number == 3 else [settled(number, history(number))]
            records += [turns(number * 4, 4)] if number % 2 else []
            records += [CheckpointTaken(number, "in", {"messages": history(7)})] if number == 5 else []
            self.write(log, run, records, durable=number % 3 == 0)
        self.write(log, run, [closing(run)], durable=True)
        try:
            log.close()
        except StoreError:
            pass
        return run

    def write(self, log: Any, run: Run, records: list[Record], *, durable: bool) -> None:
        """One batch."""
        calls = {each.event: each.call.body for each in records if isinstance(each, CallIssued)}
        try:
            log.write(records, durable=durable)
        except StoreError:
            self.lost[run.id] |= {*calls}
            return
        self.kept[run.id] |= calls
        self.marks(durable)


def begun(folder: Path) -> Path:
    """A store with one run."""
    folder.mkdir()
    path = folder / "store.db"
    goes_on(path)
    return path


def goes_on(path: Path) -> None:
    """A store takes the next run."""
    with SqliteStore(path) as store:
        story = Story(store)
        run = story.run(new_run())
        assert len(story.kept[run.id]) == 8


def is_sound(path: Path) -> None:
    """A store opens, and its check finds nothing."""
    SqliteStore(path).close()
    assert check_store(path).breaks == ()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("for_good", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_fails_takes_only_what_was_refused(kind: str, for_good: bool, tmp_path: Path, sweep: bool) -> None:
    error = apsw.FullError if kind == "write" and for_good else apsw.IOError
    places = range(1, 100_000) if sweep else [1, 2, 3, 5, 8, *range(11, 100_000, 29)]
    fired = 0
    for number in places:
        disk = Disk(fails=(kind, number), for_good=for_good, error=error)
        path = begun(tmp_path / str(number))
        story = None
        with over(disk):
            try:
                with SqliteStore(path) as store:
                    story = Story(store)
                    story.tell()
            except StoreError:
                pass  # it could not be opened, or not be closed
        disk.mended()
        is_sound(path)
        if story is not None:
            has_what_was_acknowledged(path, story)
        goes_on(path)
        if not disk.fired:
            break
        fired += 1
    assert fired or kind == "truncate"


def has_what_was_acknowledged(path: Path, story: Story) -> None:
    """Every acknowledged call has its body, nothing refused is there, what was removed is gone."""
    with SqliteStore(path) as store:
        gone = {run.id for run in story.gone}
        there = {run.id for run in store.runs()}
        assert not gone & there
        for run, calls in story.kept.items():
            if run not in there and (run in gone or run == story.perhaps_gone or not calls):
                continue
            recording = store.open(run)
            found = {event.number: recording.body(event.request) for event in recording.events()}
            assert found.items() >= calls.items()
            assert not story.lost[run] & found.keys()


@pytest.mark.timeout(600)
def test_a_power_loss_takes_nothing_that_was_to_outlast_it(tmp_path: Path, sweep: bool) -> None:
    path = begun(tmp_path / "before")
    disk = Disk(before={"store.db": path.read_bytes()})
    promised: list[tuple[int, dict[str, dict[int, bytes]]]] = []
    with over(disk), SqliteStore(path) as store:
        story = Story(store)

        def mark(durable: bool) -> None:
            if durable:
                promised.append((len(disk.acts), {run: dict(calls) for run, calls in story.kept.items()}))

        story.marks = mark
        story.tell()
    removed = {run.id for run in story.gone}
    chance = random.Random(7)
    every = range(1, len(disk.acts) + 1)
    for acts in every if sweep else sorted(chance.sample(every, SAMPLE)):
        image = tmp_path / str(acts)
        image.mkdir()
        disk.after_power_loss(image, acts, chance)
        is_sound(image / "store.db")
        due = [calls for moment, calls in promised if moment <= acts]
        with SqliteStore(image / "store.db") as store:
            there = {run.id for run in store.runs()}
            for run, calls in (due[-1] if due else {}).items():
                if run in removed and run not in there:
                    continue
                recording = store.open(run)
                found = {event.number: recording.body(event.request) for event in recording.events()}
                assert found.items() >= calls.items(), f"after {acts} acts"
        goes_on(image / "store.db")
