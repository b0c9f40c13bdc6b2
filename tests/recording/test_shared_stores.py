"""A store is opened once a process: later runs find it open, a loop is not held up, and nothing is lost by it."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.store import borrow_store, connection, give_back, open_stores
from reenact.store.store_check import check_store


@reenact.tool(effect="read")
def look(what: Any) -> Any:
    """A tool."""
    return what


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """The files that were opened for writing, in order."""
    files: list[Path] = []
    real = connection.connect_writing

    def counted(path: Path) -> sqlite3.Connection:
        files.append(path)
        return real(path)

    monkeypatch.setattr(connection, "connect_writing", counted)
    yield files
    open_stores.close_idle()


def _record(url: str, what: Any = 1) -> reenact.Run:
    with reenact.record(store=url) as run:
        look(what)
    return run


def test_one_connection_serves_every_run(tmp_path: Path, opened: list[Path]) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    runs = [_record(url, n) for n in range(5)]
    with reenact.record(store=url), reenact.open_store(url) as store:
        assert [run.status for run in store.runs()] == ["recording", *["ok"] * 5]
    assert opened == [tmp_path / "runs.db"]
    with reenact.open_store(url) as store:
        for run in runs:
            assert [event.name for event in store.events(run.id)] == ["look"]
    open_stores.close_idle()
    assert not (tmp_path / "runs.db-wal").exists(), "the last one out brings everything into the file"


def test_threads_that_record_at_once_share_it(tmp_path: Path, opened: list[Path]) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    _record(url)
    threads = [threading.Thread(target=_record, args=(url, n)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with reenact.open_store(url) as store:
        assert [run.status for run in store.runs()] == ["ok"] * 13
    assert len(opened) == 1


@pytest.mark.parametrize("how", ["removed", "replaced", "moved"])
def test_a_store_whose_file_is_gone_is_made_anew(tmp_path: Path, opened: list[Path], how: str) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    url = f"sqlite:///{folder}/runs.db"
    first = _record(url)
    before = len(opened)
    kept = {}
    if how == "removed":
        shutil.rmtree(folder)
    elif how == "replaced":
        other = _record(f"sqlite:///{tmp_path}/other.db")
        open_stores.close_idle()
        _record(url)
        os.replace(tmp_path / "other.db", folder / "runs.db")
        kept = {first.id: False, other.id: True}
    else:
        folder.rename(tmp_path / "elsewhere")
    second = _record(url)
    assert len(opened) > before
    with reenact.open_store(url) as store:
        found = [run.id for run in store.runs()]
        assert second.id in found and store.run(second.id).status == "ok"
        assert {run: run in found for run in kept} == kept
        assert not check_store(folder / "runs.db").breaks


def test_only_few_that_nobody_uses_stay_open(tmp_path: Path, opened: list[Path]) -> None:
    for n in range(open_stores.IDLE + 3):
        _record(f"sqlite:///{tmp_path}/{n}.db")
    held = borrow_store(f"sqlite:///{tmp_path}/0.db")
    assert len([each for each in open_stores._shared.values() if not each.users]) <= open_stores.IDLE
    give_back(held)
    assert not (tmp_path / "1.db-wal").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_opens_its_own(tmp_path: Path, opened: list[Path]) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    _record(url)
    child = os.fork()
    if not child:
        try:
            _record(url, "in the child")
            os._exit(0 if len(opened) == 2 else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    _record(url, "in the parent")
    with reenact.open_store(url) as store:
        assert [run.status for run in store.runs()] == ["ok"] * 3
    assert len(opened) == 1


def test_a_loop_goes_on_while_the_end_is_written(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    _record(url)

    async def served() -> tuple[float, float]:
        """How long the end took, and the longest time for which the loop did nothing else meanwhile."""
        recording = reenact.record(store=url)
        await recording.__aenter__()
        look(1)
        other = sqlite3.connect(tmp_path / "runs.db", isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.5, lambda: other.execute("COMMIT"))
        timer.start()
        began = last = time.perf_counter()
        ending = asyncio.ensure_future(recording.__aexit__(None, None, None))
        longest = 0.0
        while not ending.done():
            await asyncio.sleep(0.001)
            longest, last = max(longest, time.perf_counter() - last), time.perf_counter()
        await ending
        timer.join()
        other.close()
        return time.perf_counter() - began, longest

    took, longest = asyncio.run(served())
    assert took >= 0.4, "the end waits for its writing"
    assert longest < 0.3, "and the loop does not"
    with reenact.open_store(url) as store:
        assert store.run("@").status == "ok"


def test_a_coroutine_that_is_closed_or_driven_by_hand_ends_its_run(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"

    class Once:
        def __await__(self) -> Generator[None, None, None]:
            yield

    @reenact.record(store=url)
    async def agent() -> Any:
        await Once()
        return look(7)

    closed = agent()
    closed.send(None)
    closed.close()
    driven = agent()
    driven.send(None)
    with pytest.raises(StopIteration) as ended:
        driven.send(None)
    assert ended.value.value == 7
    with reenact.open_store(url) as store:
        assert [run.status for run in store.runs()] == ["ok", "ok"]


def test_a_cancelled_coroutine_is_cancelled_and_its_run_ends(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"

    @reenact.record(store=url)
    async def agent() -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        task = asyncio.create_task(agent())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    until = time.monotonic() + 60
    with reenact.open_store(url) as store:
        while store.run("@").status == "recording" and time.monotonic() < until:
            time.sleep(0.02)  # who is cancelled waits for what is written a while, and a busy machine takes longer
        assert store.run("@").status == "failed"
