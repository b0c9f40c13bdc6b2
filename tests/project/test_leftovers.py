"""The guard of every test: what a test leaves behind in its process is found and named."""

from __future__ import annotations

import builtins
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import reenact
from reenact.facts import value_writer
from reenact.seams import clock, lanes
from tests import leftovers
from tests.leftovers import Picture


def _thread() -> Callable[[], None]:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="left")
    thread.start()

    def end() -> None:
        stop.set()
        thread.join()

    return end


def _session() -> Callable[[], None]:
    recording = reenact.record(store="memory:left behind")
    recording.__enter__()
    return lambda: recording.__exit__(None, None, None)


def _clocks() -> Callable[[], None]:
    clock.rebinding.join()
    return clock.rebinding.leave


def _patch() -> Callable[[], None]:
    real = builtins.input
    builtins.input = lambda prompt="": ""
    return lambda: setattr(builtins, "input", real)


def _variable() -> Callable[[], None]:
    os.environ["REENACT_LEFT_BEHIND"] = "1"

    def undo() -> None:
        del os.environ["REENACT_LEFT_BEHIND"]

    return undo


def _folder() -> Callable[[], None]:
    before = Path.cwd()
    os.chdir(before.parent)
    return lambda: os.chdir(before)


def _codec() -> Callable[[], None]:
    before = dict(value_writer.codecs)
    value_writer.codecs.clear()
    return lambda: value_writer.codecs.update(before)


LEFT = {
    "values without the codec of a.Class": _codec,
    "the thread 'left'": _thread,
    "a session that still listens": _session,
    "time.monotonic is": _clocks,
    "builtins.input is": _patch,
    "the environment variable REENACT_LEFT_BEHIND": _variable,
    "the working directory": _folder,
}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads that are to be found need not be waited for."""
    monkeypatch.setattr(leftovers, "_GRACE_S", 0.05)
    yield


@pytest.mark.parametrize("words", LEFT)
def test_what_is_left_behind_is_named(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(value_writer.codecs, "a.Class", None)
    before = Picture.taken()
    clean = LEFT[words]()
    try:
        assert any(words in difference for difference in before.differences())
    finally:
        clean()
    assert list(before.differences()) == [] and not lanes.anybody()
