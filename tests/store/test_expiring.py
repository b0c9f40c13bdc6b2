"""Expired runs go, one by one and whole, beside writers and readers and in spite of a kill; what others need stays;
the file becomes smaller; a reference to what went says so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing as closed
from pathlib import Path
from typing import Any

import pytest

from reenact.errors import RunNotFound, StoreBusy
from reenact.facts.ids import tail
from reenact.facts.retention import DAY_US
from reenact.facts.run import Run, Status
from reenact.store.connection import connect_writing
from reenact.store.schema import SHIFT
from reenact.store.sqlite_store import SqliteStore
from tests.conftest import ROOT
from tests.store.records import closing, issued, new_run, opening, settled
from tests.store.test_machine import everything

LATER = 1_700_000_000_000_000 + 8 * DAY_US
"""When runs that ended well have expired, and failed ones have not."""


def noise(size: int) -> bytes:
    """So many bytes that nothing makes smaller, as text in which no word is found."""
    return b64encode(os.urandom(size * 3 // 4))


def kept(store: SqliteStore, body: bytes = b"answer", status: Status = Status.OK, **fields: Any) -> Run:
    """A run that has asked for something, and ended."""
    run = new_run(**fields)
    log = store.begin(run)
    log.write([*opening(run), issued(0), settled(0, body), closing(run, status)])
    log.close()
    return store.run(run.id)


def gone(store: SqliteStore, now_us: int = LATER) -> set[str]:
    """Removes what has expired."""
    going = store.housekeeping().due({}, now_us)
    return {name for each in going if store.expire(each, now_us) for name in each.rows}


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "kept" / "store.db", own_directory=True) as found:
        yield found


def test_what_has_expired_goes_and_says_so(sqlite: SqliteStore) -> None:
    well, badly = kept(sqlite), kept(sqlite, status=Status.FAILED)
    flagged, always = sqlite.amend(kept(sqlite), flag="odd"), sqlite.amend(kept(sqlite), tags={"keep": "always"})
    assert gone(sqlite, LATER - 2 * DAY_US) == set()
    assert gone(sqlite) == {well.id}
    assert {run.id for run in sqlite.runs()} == {badly.id, flagged.id, always.id}
    for ref in (well.id, tail(well.id)):
        with pytest.raises(RunNotFound, match=rf"run {tail(well.id)} expired on 2023-11-22") as refused:
            sqlite.run(ref)
        assert "ok runs are kept 7 days" in refused.value.cause
    with pytest.raises(RunNotFound, match="expired on"):
        sqlite.open(well)
    with pytest.raises(RunNotFound, match="expired on"):
        sqlite.event(f"{tail(well.id)}:0")
    assert gone(sqlite, LATER + 30 * DAY_US) == {badly.id}
    assert gone(sqlite, LATER + 999 * DAY_US) == {flagged.id}


def test_what_a_fork_or_a_resumption_needs_stays_as_long_as_it(sqlite: SqliteStore) -> None:
    root = kept(sqlite)
    fork = kept(sqlite, parent=root.id, relation="fork")
    resumed = kept(sqlite, status=Status.FAILED, parent=fork.id, relation="resume")
    before = [everything(sqlite, run) for run in (root, fork, resumed)]
    assert gone(sqlite) == set()
    assert [everything(sqlite, run) for run in (root, fork, resumed)] == before
    assert gone(sqlite, LATER + 30 * DAY_US) == {root.id, fork.id, resumed.id}
    assert [*sqlite.runs()] == []


def test_parts_go_with_the_whole(sqlite: SqliteStore) -> None:
    whole = kept(sqlite, status=Status.FAILED)
    part = kept(sqlite, parent=whole.id, relation="child")
    assert gone(sqlite) == set()
    (going,) = sqlite.housekeeping().due({}, LATER + 30 * DAY_US)
    assert set(going.rows) == {whole.id, part.id} and len(going.logs) == 2


def test_the_mark_of_an_end_goes_with_its_run(sqlite: SqliteStore) -> None:
    run = kept(sqlite)
    live = sqlite.path.parent / "live"
    live.mkdir(exist_ok=True)
    (live / f"{run.id}.ok").touch()
    assert gone(sqlite) == {run.id}
    assert not [each for each in live.iterdir() if run.id in each.name]


def test_what_happens_meanwhile_is_seen(sqlite: SqliteStore) -> None:
    flagged, forked, alone = kept(sqlite), kept(sqlite), kept(sqlite)
    going = {each.run.id: each for each in sqlite.housekeeping().due({}, LATER)}
    assert going.keys() == {flagged.id, forked.id, alone.id}
    sqlite.amend(flagged, flag="look at this")
    fork = new_run(parent=forked.id, relation="fork")
    log = sqlite.begin(fork)
    log.write([*opening(fork), issued(0)])
    assert {name for name, each in going.items() if sqlite.expire(each, LATER)} == {alone.id}
    log.write([settled(0), closing(fork)])
    log.close()
    assert sqlite.open(fork.id).count() == 1
    assert not sqlite.expire(going[alone.id], LATER), "it is gone already"


def test_what_is_being_recorded_stays(sqlite: SqliteStore) -> None:
    run = new_run()
    log = sqlite.begin(run)
    log.write([*opening(run), issued(0)])
    assert gone(sqlite, LATER + 999 * DAY_US) == set()
    log.close()
    assert sqlite.run(run.id).status is Status.INTERRUPTED
    assert gone(sqlite) == set() and gone(sqlite, LATER + 30 * DAY_US) == {run.id}


def test_the_number_of_a_run_is_never_given_again(sqlite: SqliteStore) -> None:
    first = kept(sqlite)
    opened = sqlite.open(first.id)
    sqlite.delete(first)
    kept(sqlite, b"of another run")
    assert [*opened.events()] == [], "a reader of a run that goes never reads another's rows"


def test_what_came_from_elsewhere_counts_from_then_on(tmp_path: Path) -> None:
    class Then:
        def wall_us(self) -> int:
            return LATER

        mono_us = wall_us

    with SqliteStore(tmp_path / "store.db", clock=Then()) as store:
        run = new_run()
        store.adopt([(run, [*opening(run), closing(run)])])
        assert gone(store) == set() and gone(store, LATER + 7 * DAY_US) == {run.id}
        store.adopt([(run, [*opening(run), closing(run)])])
        assert store.run(run.id).status is Status.OK, "unpacked again"


def test_the_file_becomes_smaller_beside_a_reader_and_a_writer(sqlite: SqliteStore) -> None:
    for _ in range(40):
        kept(sqlite, noise(200_000))
    stays = kept(sqlite, b"stays", Status.FAILED)
    writing = new_run(started_us=LATER)
    log = sqlite.begin(writing)
    log.write([*opening(writing), issued(0)])
    sqlite._file.write()[0].checkpoint()
    before = sqlite.path.stat().st_size
    with SqliteStore(sqlite.path) as beside:
        read = everything(beside, stays)
        walk = beside.events(stays.id)
        assert next(walk).number == 0
        assert len(gone(beside)) == 40
        log.write([settled(0)])
        steps = [*beside.give_back()]
        log.write([issued(1), settled(1), closing(writing)])
        log.close()
        assert 2 < len(steps) < 30 and steps[-1] == 0
        assert everything(beside, stays) == read and [*walk] == []
        assert beside.open(writing.id).count() == 2
    assert before > 6_000_000 and sqlite.path.stat().st_size < before / 10


def test_a_store_of_an_older_version_is_written_anew_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with SqliteStore(path) as store:
        kept(store, b"x")
    with closed(connect_writing(path)) as connection:
        connection.execute("PRAGMA auto_vacuum = NONE")
        connection.execute("VACUUM")
        assert connection.execute("PRAGMA auto_vacuum").fetchone()[0] == 0
    with SqliteStore(path) as store:
        for _ in range(10):
            kept(store, noise(200_000))
        under_way = new_run(started_us=LATER)
        log = store.begin(under_way)
        log.write(opening(under_way))
        gone(store)
        assert [*store.give_back()][-1] > 0, "not while something is recorded"
        log.close()
        before = path.stat().st_size
        assert [*store.give_back()][-1] == 0
        assert path.stat().st_size < before / 2
        assert store._file.write()[0].pragma("auto_vacuum") == 2


def test_whoever_asks_for_the_turn_waits_for_no_other_process(sqlite: SqliteStore) -> None:
    kept(sqlite)
    keeper, writing = sqlite.housekeeping(), sqlite.writing()
    with closed(connect_writing(writing.path)) as beside:
        beside.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy):
            keeper.turn(writing, LATER, DAY_US)
        beside.execute("ROLLBACK")
        assert keeper.turn(writing, LATER, DAY_US) is True
        beside.execute("BEGIN IMMEDIATE")
        assert keeper.turn(writing, LATER + 1, DAY_US) is None, "it is read before anything is locked"
        beside.execute("ROLLBACK")
    assert keeper.turn(writing, LATER + DAY_US, DAY_US) is False


def test_no_text_of_what_went_is_left_in_the_file(sqlite: SqliteStore) -> None:
    kept(sqlite, b"a word that nobody else says: xylophagous")
    gone(sqlite)
    assert [*sqlite.give_back()]
    sqlite.close()
    for each in sqlite.path.parent.rglob("*"):
        assert not each.is_file() or b"xylophagous" not in each.read_bytes()


KILLED = """
import sys
from pathlib import Path
from reenact.store.sqlite_store import SqliteStore
with SqliteStore(Path(sys.argv[1])) as store:
    due = store.housekeeping().due({}, int(sys.argv[2]))
    print(len(due), flush=True)
    for going in due:
        print(store.expire(going, int(sys.argv[2])), flush=True)
    for left in store.give_back():
        print("left", left, flush=True)
"""


@pytest.mark.parametrize("after", [1, 4, 9, 13])
def test_kill_9_and_the_next_one_goes_on(tmp_path: Path, after: int) -> None:
    path = tmp_path / "store.db"
    with SqliteStore(path) as store:
        for _ in range(12):
            kept(store, noise(400_000))
        stays = kept(store, noise(400_000), Status.FAILED)
        said = everything(store, stays)
    size = path.stat().st_size
    command = [sys.executable, "-c", KILLED, str(path), str(LATER)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        for _ in range(after):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    with SqliteStore(path) as store:
        assert everything(store, stays) == said
        left = [run for run in store.runs() if run.id != stays.id]
        assert len(left) <= 12 - (after - 1)
        for run in left:
            assert store.open(run).count() == 1 and everything(store, run)
        gone(store)
        assert [*store.give_back()][-1] == 0
        assert [run.id for run in store.runs()] == [stays.id] and everything(store, stays) == said
        with store._file.write()[0].transaction() as connection:
            owners = {owner for (owner,) in connection.execute("SELECT DISTINCT owner FROM payload")}
            events = {number >> SHIFT for (number,) in connection.execute("SELECT id FROM event")}
            assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert len(owners) == len(events) == 1
    assert path.stat().st_size < size / 5
