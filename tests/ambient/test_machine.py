"""Proves that process id, parent's id and host name are the recorded ones, and that nothing is mistaken by them."""

from __future__ import annotations

import logging
import os
import platform
import signal
import socket
import threading
from collections.abc import Iterator

import pytest

import reenact
from reenact.seams import machine

ELSEWHERE = {"pid": 999_999_999, "ppid": 7, "host": "far-away"}


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Recordings of this test are made by another process on another machine."""
    monkeypatch.setattr("reenact.recording.process_facts.machine_facts", lambda: ELSEWHERE)
    yield


def test_a_program_is_told_what_it_was_told(elsewhere: None) -> None:
    real = os.getpid()
    with reenact.record(store="memory:"):
        assert (os.getpid(), os.getppid(), socket.gethostname()) == (999_999_999, 7, "far-away")
        assert os.uname().nodename == "far-away" and os.uname().sysname == platform.system()
        seen: list[int] = []
        thread = threading.Thread(target=lambda: seen.append(os.getpid()))
        thread.start()
        thread.join()
        assert seen == [999_999_999]
        assert logging.LogRecord("n", 20, "p", 1, "m", (), None).process == 999_999_999
    assert os.getpid() == real


def test_a_replay_tells_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store = reenact.open_store("memory:machine-replay")

    def main() -> tuple[int, str]:
        return os.getpid(), socket.gethostname()

    with monkeypatch.context() as patch:
        patch.setattr("reenact.recording.process_facts.machine_facts", lambda: ELSEWHERE)
        recorded = reenact.record(main, store=store)()
    assert recorded == (999_999_999, "far-away")
    result = reenact.replay(next(iter(store.runs())).id, entry=main, store=store)
    assert (result.output, result.verdict) == (recorded, "exact")


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="signals of POSIX")
def test_a_signal_to_oneself_arrives(elsewhere: None) -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: came.append(number))
    try:
        with reenact.record(store="memory:"):
            os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert came == [signal.SIGUSR1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_whoever_looks_for_a_fork_is_told_the_truth(elsewhere: None) -> None:
    """The standard library compares ids to find out whether it was forked."""
    with reenact.record(store="memory:"):
        code = compile("import os\nseen = os.getpid()", "<multiprocessing>", "exec")
        inside: dict[str, object] = {"__name__": "multiprocessing.util"}
        exec(code, inside)
        assert inside["seen"] == machine._getpid()


def test_what_is_kept() -> None:
    kept = machine.facts()
    assert (kept["pid"], kept["host"]) == (os.getpid(), socket.gethostname())
    assert kept["ppid"] == os.getppid()
