"""A fork that is killed at any moment leaves its parent as it was, reads interrupted, and has done no write twice."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import reenact
from reenact.abc.store import Recording
from tests.forks.conftest import Forks
from tests.forks.counting import Counting, counting
from tests.programs import read_program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL, and no process group")

PAYER = read_program("forks/payer.py")
KILLS, MANY = 3, 200
"""How many forks are killed, outside of a sweep and in one."""


@pytest.fixture
def world(forks: Forks) -> Iterator[Counting]:
    """The world, which the recorded parent has written to."""
    with counting() as server:
        forks.desk.environ = {"WORLD_URL": server.url}
        forks.record(PAYER)
        yield server


def everything(recording: Recording) -> list[Any]:
    """A whole run as it can be read, every payload of it."""
    events = [
        [
            repr(event),
            recording.body(event.request),
            recording.body(event.answer),
            list(recording.parts(event.number)),
            [recording.checkpoint_slots(event.number, phase) for phase in ("in", "out")],
            dict(recording.notes(event.number)),
        ]
        for event in recording.events()
    ]
    printed = [b"".join(recording.printed(stream)) for stream in (1, 2)]
    return [repr(recording.run), events, printed, list(recording.deliveries()), list(recording.lanes())]


def start(forks: Forks, words: str) -> subprocess.Popen[str]:
    """A fork that pays with words of its own from the third look on, in a process group of its own."""
    environment = {**os.environ, **forks.desk.environ, "REENACT_STORE": str(forks.desk.folder / ".reenact")}
    command = [sys.executable, "-m", "reenact", "--json", "fork", f"{forks.parent}:look#3"]
    command += ["--result", f"look#3={json.dumps({'words': words})}", "--allow-write", "pay"]
    return subprocess.Popen(
        command,
        cwd=forks.desk.folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(process: subprocess.Popen[str]) -> None:
    """Kill the fork and the process that started it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def children_of(forks: Forks, store: Any) -> list[reenact.Run]:
    """The forks of the parent, once the system has buried all who wrote them."""
    until_s = time.monotonic() + 30
    while True:
        found = [run for run in store.runs(parent=forks.parent) if run.relation == "fork"]
        if all(run.status.value != "recording" for run in found) or time.monotonic() > until_s:
            return found


def until(world: Counting, process: subprocess.Popen[str], words: str, number: int) -> None:
    """Wait for a write to have reached the world."""
    while {"number": number, "words": words} not in world.seen():
        assert process.poll() is None, process.communicate()


def test_killed_at_any_moment(forks: Forks, world: Counting, sweep: bool) -> None:
    url = str(forks.desk.folder / ".reenact")
    with reenact.open_store(url) as store:
        before = everything(store.open(forks.parent))
    began = time.monotonic()
    out, err = start(forks, "whole").communicate(timeout=60)
    took_s = time.monotonic() - began
    assert json.loads(out)["status"] == "ok", json.loads(out)["message"] + err
    chance = random.Random(20)
    for number in range(MANY if sweep else KILLS):
        held = chance.randrange(2, 12)
        words = f"killed {number} hold at {held}" if number % 2 == 0 else f"killed {number}"
        with start(forks, words) as process:
            if number % 2 == 0:
                until(world, process, words, held)
            else:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(chance.uniform(0.2, 1.0) * took_s)
            end(process)
    writes = Counter((write["words"], write["number"]) for write in world.seen())
    assert set(writes.values()) == {1}, writes
    assert {number for words, number in writes if words == "whole"} == set(range(2, 12))
    with reenact.open_store(url) as store:
        assert everything(store.open(forks.parent)) == before
        children = children_of(forks, store)
        assert {run.status.value for run in children} == {"ok", "interrupted"}
        for run in children:
            assert everything(store.open(run))
    forks.replays_exactly(forks.parent)


def test_a_write_in_doubt_is_seen_in_the_killed_fork(forks: Forks, world: Counting) -> None:
    """What reached the world before the kill stands in the fork, the last of it without an outcome."""
    words = "killed hold at 7"
    with start(forks, words) as process:
        until(world, process, words, 7)
        end(process)
    reached = {write["number"] for write in world.seen() if write["words"] == words}
    with reenact.open_store(str(forks.desk.folder / ".reenact")) as store:
        [child] = children_of(forks, store)
        assert child.status.value == "interrupted"
        recording = store.open(child)
        pays = [event for event in recording.events() if event.name == "pay"]
        noted = {json.loads(recording.body(event.request))["number"]: event.outcome for event in pays}
    assert reached == set(range(2, 8))
    assert set(noted) == set(range(8))
    assert [number for number, outcome in noted.items() if outcome is None] == [7]
