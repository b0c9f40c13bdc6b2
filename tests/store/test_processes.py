"""Several processes record into one store at once, make it together, and forget runs that share payloads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from reenact.facts.run import Status
from reenact.store.sqlite import SqliteStore
from tests.conftest import ROOT

PROCESSES = 4
EVENTS = 30

CODE = """
import sys
from pathlib import Path
from dataclasses import replace
from reenact.abc.sources import CLOCK, ENTROPY
from reenact.facts.ids import make_run_id
from reenact.facts.run import Run
from reenact.store.sqlite import SqliteStore
from tests.store.records import closing, issued, opening, settled

with SqliteStore(Path(sys.argv[1])) as store:
    for forgotten in (False, True, False):
        now = CLOCK.wall_us()
        run = Run(make_run_id(now, ENTROPY.bytes(8)), started_us=now)
        log = store.begin(run)
        log.write(opening(run))
        for n in range(int(sys.argv[2])):
            log.write([issued(n, b"shared %d" % n), settled(n, b"%d" % n)], durable=n % 10 == 0)
        log.write([closing(run)])
        log.close()
        if forgotten:
            store.delete(run)
"""


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
