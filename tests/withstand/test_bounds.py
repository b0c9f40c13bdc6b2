"""Proves the gate's bounds in a recorded server: busy neighbours neither hang it nor slow it beyond the budget.

Each request is handled in a recorded run of its own, at once with others, while a hundred tasks keep the loop busy or
one spins on ``sleep(0)``. What holding deliveries cost is read from the gate's own counters.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

import reenact
from reenact.facts.run import Status
from reenact.recording import arrival_schedule, blocks, recording_session
from reenact.recording.holds import Holds, budget_us
from reenact.store import open_store

REQUESTS = 12
CALLS = 5


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = f"answer to {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    """What the handlers ask."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


class Watched(arrival_schedule.ArrivalSchedule):
    """A schedule that knows what its last hold without proof has cost, and how many there were."""

    _holds: Holds
    last_us = 0
    in_vain = 0

    @property
    def holds(self) -> Holds:
        """The length of the next hold, and the cost of those before it."""
        return self._holds

    @holds.setter
    def holds(self, holds: Holds) -> None:
        cost_us = holds.spent_us - self._holds.spent_us if hasattr(self, "_holds") else 0
        if cost_us:
            self.last_us = cost_us
            self.in_vain += 1
        self._holds = holds

    @property
    def overdrawn_us(self) -> int:
        """By how much the budget was already overdrawn when the last hold began: none may begin then. How long a hold
        lasts is up to the machine, which may not come back to it for seconds."""
        return self._holds.spent_us - self.last_us - budget_us(self.now_us())


@pytest.fixture
def schedules(monkeypatch: pytest.MonkeyPatch) -> list[Watched]:
    """The schedule of every run that is recorded."""
    made: list[Watched] = []

    def make(*args: Any, **options: Any) -> Watched:
        made.append(Watched(*args, **options))
        return made[-1]

    monkeypatch.setattr(recording_session, "ArrivalSchedule", make)
    return made


@reenact.tool(effect="read")
async def think(words: str) -> str:
    await asyncio.sleep(0.001)
    return words.upper()


async def _handle(client: httpx.AsyncClient, url: str, number: int, store: Any) -> list[str]:
    """One request of the server: a run of its own."""
    async with reenact.record(agent="handler", session=f"s{number}", store=store) as run:
        assert reenact.current_run() is not None and run.session == f"s{number}"
        said = []
        for call in range(CALLS):
            text, thought = await asyncio.gather(client.get(f"{url}/{number}/{call}"), think(f"{number}.{call}"))
            said.append(f"{text.text} {thought}")
            current = reenact.current_run()
            assert current is not None and current.id == run.id
        return said


async def _spin(stop: asyncio.Event) -> int:
    turns = 0
    while not stop.is_set():
        turns += 1
        await asyncio.sleep(0)
    return turns


async def _busy(stop: asyncio.Event) -> int:
    turns = 0
    while not stop.is_set():
        turns += sum(range(200))
        await asyncio.sleep(0.0001)
    return turns


async def _serve(url: str, store: Any, neighbours: int, spinning: bool) -> list[list[str]]:
    stop = asyncio.Event()
    others = [asyncio.create_task(_spin(stop) if spinning else _busy(stop)) for _ in range(neighbours)]
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        handled = await asyncio.gather(*(_handle(client, url, number, store) for number in range(REQUESTS)))
    stop.set()
    assert all(await asyncio.gather(*others)), "the neighbours have run"
    return handled


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("neighbours", "spinning"), [(100, False), (1, True), (100, True)])
def test_a_recorded_server_with_busy_neighbours(
    upstream: str, schedules: list[Watched], tmp_path: Path, neighbours: int, spinning: bool
) -> None:
    with open_store(str(tmp_path / "store")) as store:
        handled = asyncio.run(_serve(upstream, store, neighbours, spinning))
        blocks._write_out()
        for number, said in enumerate(handled):
            assert said == [f"answer to /{number}/{call} {number}.{call}" for call in range(CALLS)]
        runs = store.runs()
        assert {run.session for run in runs} == {f"s{number}" for number in range(REQUESTS)}
        for run in runs:
            assert run.status is Status.OK and not run.degraded
            own = str(run.session)[1:]
            events = [*store.events(run)]
            assert len(events) == 2 * CALLS, "its own calls and nobody else's"
            for event in events:
                assert event.lane.startswith("root"), event.lane
                asked = str(event.call.head.get("url", "")) + store.open(run).body(event.request).decode()
                assert f"/{own}/" in asked or f'"{own}.' in asked
    assert len(schedules) == REQUESTS
    for schedule in schedules:
        assert schedule.overdrawn_us < 0, "no run pays more for holds than its budget and one hold"
        assert not schedule.gate.waiting and schedule.gate.closed


@pytest.mark.timeout(120)
def test_a_run_that_spins_itself_ends(upstream: str, schedules: list[Watched], tmp_path: Path) -> None:
    """The spinning task is the run's own: holds are given up within the budget."""

    async def main() -> list[str]:
        stop = asyncio.Event()
        spinning = asyncio.create_task(_spin(stop))
        async with httpx.AsyncClient(trust_env=False) as client:
            said = [(await client.get(f"{upstream}/{number}")).text for number in range(40)]
        stop.set()
        assert await spinning
        return said

    with reenact.record(store=str(tmp_path / "store")):
        assert asyncio.run(main()) == [f"answer to /{number}" for number in range(40)]
    (schedule,) = schedules
    assert schedule.in_vain and schedule.overdrawn_us < 0
