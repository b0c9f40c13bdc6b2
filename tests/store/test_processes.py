"""Several processes record into one store at once, make it together, and forget runs that share payloads."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from reenact.facts.run import Status
from reenact.store.connection import RESETS_SAFELY, WriteConnection
from reenact.store.sqlite_store import SqliteStore
from tests.conftest import ROOT
from tests.programs import read_program
from tests.store.records import new_run

PROCESSES = 4
EVENTS = 30

CODE = read_program("store/writer_of_shared_bodies.py")


def test_processes_share_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    command = [sys.executable, "-c", CODE, str(path), str(EVENTS)]
    processes = [subprocess.Popen(command, cwd=ROOT) for _ in range(PROCESSES)]
    assert [process.wait(60) for process in processes] == [0] * PROCESSES
    with SqliteStore(path) as store:
        runs = [*store.runs()]
        assert [run.status for run in runs] == [Status.OK] * PROCESSES * 2
        for run in runs:
            recording = store.open(run)
            assert [event.number for event in recording.events()] == list(range(EVENTS))
            for event in recording.events():
                assert recording.body(event.request) == b"shared %d" % event.number
                assert recording.body(event.answer) == b"%d" % event.number
    drafts = [each.name for each in tmp_path.iterdir() if each.is_file() and not each.name.startswith("store.db")]
    assert drafts == [], "whoever lost the race to make the file cleared its draft away"


@pytest.mark.skipif(sqlite3.sqlite_version_info >= RESETS_SAFELY, reason="this SQLite needs no such care")
def test_no_other_writer_commits_while_an_old_sqlite_makes_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with SqliteStore(path) as store:
        store.begin(new_run()).close()
        writing, _ = store._file.write()
        refused: list[str] = []
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:

            def meanwhile(statement: str) -> None:
                if "wal_checkpoint" in statement:
                    try:
                        other.execute("BEGIN IMMEDIATE")
                    except sqlite3.OperationalError as error:
                        refused.append(str(error))

            assert writing._connection is not None
            writing._connection.set_trace_callback(meanwhile)
            writing.checkpoint()
            writing._connection.set_trace_callback(None)
            assert refused == ["database is locked"]
            other.execute("BEGIN IMMEDIATE")
            writing.checkpoint(least_growth=WriteConnection.CHECKPOINT_BYTES)
            writing.checkpoint()  # it does not wait
            other.execute("COMMIT")
        assert len(list(store.runs())) == 1
