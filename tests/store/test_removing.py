"""Proves that a large run goes in steps: nobody reads half of it, a kill between two costs nothing, and the write-ahead
log stays small."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing as closed
from pathlib import Path

import pytest

from reenact.errors import RunNotFound
from reenact.facts.run import Run
from reenact.store import payloads, stepwise_removal
from reenact.store.connection import WriteConnection
from reenact.store.sqlite_store import SqliteStore
from reenact.store.stepwise_removal import MARK
from reenact.store.store_check import check_store
from tests.store.records import closing, issued, new_run, opening, settled, streamed

SIZE = 1 << 20
BODIES = 24
TABLES = ("payload", "chunk", "text", "frame", "held")

KILLED = """
import os, signal, sys
from pathlib import Path
from reenact.store.connection import WriteConnection
from reenact.store.sqlite_store import SqliteStore

checkpoint, steps = WriteConnection.checkpoint, []

def kill(self, **options):
    steps.append(1)
    if len(steps) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    checkpoint(self, **options)

WriteConnection.checkpoint = kill
SqliteStore(Path(sys.argv[1])).delete(sys.argv[2])
"""


def _body(number: int) -> bytes:
    return random.Random(number).randbytes(SIZE)


def _large(store: SqliteStore) -> Run:
    """A run of bodies that cannot be packed, of versions of one body, and of a stream."""
    run = new_run()
    log = store.begin(run)
    log.write(opening(run))
    said = b""
    for number in range(BODIES):
        said += b"%d, and so on. " % number * 200
        log.write([issued(number, said), settled(number, _body(number))])
    log.write([issued(BODIES), *streamed(BODIES, [_body(90 + number) for number in range(4)]), closing(run)])
    log.close()
    return run


def _left(path: Path) -> dict[str, int]:
    with closed(sqlite3.connect(path)) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        counts = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in TABLES
            if table in names
        }
        counts["marks"] = connection.execute("SELECT count(*) FROM meta WHERE name LIKE ?", (MARK + "%",)).fetchone()[0]
    return {name: count for name, count in counts.items() if count}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store of the test's own."""
    with closed(SqliteStore(tmp_path / "store.db")) as own:
        yield own


@pytest.fixture(params=["kept whole", "kept as changes"])
def kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the large bodies are kept: those beyond 16 MiB are kept whole."""
    if request.param == "kept whole":
        monkeypatch.setattr(payloads, "MOST_SPLICED", SIZE - 1)
    return str(request.param)


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("way", ["delete", "discard"])
def test_a_large_run_goes_in_steps(store: SqliteStore, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    run = _large(store)
    sizes = []
    checkpoint = WriteConnection.checkpoint

    def watched(self: WriteConnection, *, least_growth: int = 0) -> None:
        sizes.append((store.path.parent / "store.db-wal").stat().st_size)
        checkpoint(self, least_growth=least_growth)

    monkeypatch.setattr(WriteConnection, "checkpoint", watched)
    getattr(store, way)(run.id)
    assert len(sizes) >= BODIES * SIZE // stepwise_removal.STEP_BYTES, "one after each step"
    assert max(sizes) < 5 * stepwise_removal.STEP_BYTES, "of which none waits for the last"
    assert _left(store.path) == {}
    assert not check_store(store.path).breaks


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system kills otherwise")
def test_a_kill_between_two_steps_leaves_a_sound_store_and_the_next_removal_goes_on(
    store: SqliteStore, kept: str
) -> None:
    run, other = _large(store), new_run()
    before = _left(store.path)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(store.path), run.id], cwd=os.getcwd(), check=False, timeout=100
    )
    assert killed.returncode == -signal.SIGKILL
    rows = "payload" if kept == "kept whole" else "frame"
    assert 0 < _left(store.path)[rows] < before[rows], "some have gone"
    with pytest.raises(RunNotFound):
        store.open(run.id)
    assert [*store.runs()] == []
    assert not check_store(store.path).breaks
    # A run that says the same has its own of it, whatever goes after that.
    log = store.begin(other)
    log.write([*opening(other), *(r for n in range(BODIES) for r in (issued(n), settled(n, _body(n)))), closing(other)])
    log.close()
    for _ in store.give_back():
        pass
    recording = store.open(other.id)
    bodies = [recording.body(event.answer) for event in recording.events() if event.answer is not None]
    assert bodies == [_body(number) for number in range(BODIES)]
    assert not check_store(store.path).breaks
    left = _left(store.path)
    assert "marks" not in left and "chunk" not in left and left["payload"] == BODIES + 1
    store.delete(other.id)
    assert _left(store.path) == {}
