"""However many recorders are killed: the store is sound, nothing acknowledged is lost, and no state is wrong."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from reenact.abc.store import Recording
from reenact.errors import BlobMissing, RunNotFound
from reenact.facts.run import Status
from reenact.store import open_store
from reenact.store.store_check import check_store
from tests.conftest import ROOT
from tests.programs import read_program

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="recorders are forked here, for there are many")

KILLS, MANY = 25, 500
"""How many recorders are killed, outside of a sweep and in one."""
IN_ONE_STORE = 10

RECORDERS = read_program("store/recorder_of_growing_state.py")
"""Forks a recorder for each line, which is the store that it records into, and waits for its end."""


def message(number: int) -> dict[str, object]:
    """What an agent's history has at one place."""
    words = random.Random(number).choices(["order", "refund", "customer", "of", "which", "1008292230", "né"], k=60)
    return {"role": "user", "n": number, "content": " ".join(words)}


class Recorders:
    """Processes that record until they are killed, one after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", RECORDERS],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def kill(self, store: Path, acknowledged: int, delay_s: float) -> tuple[str, int]:
        """Kill one that records into a store, some time after it has acknowledged so often: the id of its run, empty
        where it was too early for that, and the last turn that it has acknowledged, or -1."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{store}\n")
        self._process.stdin.flush()
        said: dict[str, str] = {}
        count = 0
        while "pid" not in said or count < acknowledged:
            word, value = self._next()
            said[word] = value
            count += word == "ack"
        time.sleep(delay_s)  # the moment is meant to be any
        os.kill(int(said["pid"]), signal.SIGKILL)
        while "gone" not in said:
            word, value = self._next()
            said[word] = value
        return said.get("run", ""), int(said.get("ack", -1))

    def _next(self) -> tuple[str, str]:
        assert self._process.stdout is not None
        word, value = self._process.stdout.readline().split()
        return word, value

    def end(self) -> None:
        """No more are wanted."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


@pytest.fixture
def recorders() -> Iterator[Recorders]:
    found = Recorders()
    try:
        yield found
    finally:
        found.end()


@pytest.mark.timeout(3600)
def test_the_store_is_sound_after_every_kill(tmp_path: Path, recorders: Recorders, sweep: bool) -> None:
    chance = random.Random(15)
    known: dict[str, int] = {}
    for number in range(MANY if sweep else KILLS):
        if number % IN_ONE_STORE == 0:
            known.clear()
            store = tmp_path / f"{number}.db"
        run, acknowledged = recorders.kill(store, chance.choice([0, 0, 1, 2, 5, 12]), chance.random() * 0.06)
        if run:
            known[run] = acknowledged
        if (store / "store.db").exists():
            assert check_store(store / "store.db").breaks == (), f"after kill {number}"
        if number % IN_ONE_STORE == IN_ONE_STORE - 1:
            _reads_as_it_was(store, known)


def _reads_as_it_was(store: Path, known: dict[str, int]) -> None:
    """Each run reads interrupted, with all that was acknowledged; a state is as it was, or not known."""
    with open_store(str(store)) as kept:
        for name, acknowledged in known.items():
            try:
                recording = kept.open(name)
            except RunNotFound:
                assert acknowledged < 0
                continue
            assert recording.run.status is Status.INTERRUPTED
            events = [event for event in recording.events() if event.name == "grows"]
            assert len(events) > acknowledged
            for turn, event in enumerate(events):
                _is_right(recording, event.number, turn)


def _is_right(recording: Recording, event: int, turn: int) -> None:
    for phase, count in (("in", 2 * turn), ("out", 2 * turn + 2)):
        with suppress(BlobMissing):  # a list that was not proven any more
            slots = recording.checkpoint_slots(event, phase)
            if slots is not None:
                assert json.loads(slots["messages"]) == [message(n) for n in range(count)]
