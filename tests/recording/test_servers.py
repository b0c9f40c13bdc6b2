"""In a server each request is a run: what a run needed is gone when it has ended, although the loop runs on."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import reenact
from reenact.seams import lanes
from reenact.seams.gate import Gate
from reenact.seams.strands.uvloop_hooks import probe_of


@reenact.tool(effect="read")
async def look(what: int) -> int:
    """A tool that waits a little."""
    await asyncio.sleep(0.001)
    return what


async def _request(number: int, gates: list[weakref.ref[Gate]]) -> list[int]:
    async with reenact.record(store="memory:"):
        lane = lanes.current()
        assert lane is not None
        gates.append(weakref.ref(lane.gate))
        return list(await asyncio.gather(look(number), look(number + 1), asyncio.to_thread(int, number)))


async def _serve() -> tuple[list[weakref.ref[Gate]], int]:
    gates: list[weakref.ref[Gate]] = []
    for number in range(5):
        assert await _request(number, gates) == [number, number + 1, number]
        await asyncio.gather(*(_request(each, gates) for each in range(3)))
    loop: Any = asyncio.get_running_loop()
    asked = getattr(loop, "_selector", None) or probe_of(loop)
    await asyncio.sleep(0.01)
    return gates, len(getattr(asked, "gates", ()))


def _holders(gates: list[weakref.ref[Gate]]) -> list[str]:
    """What still holds a gate, and what holds that, and so on; empty as soon as all gates are gone."""
    end = time.monotonic() + 20
    while any(gate() is not None for gate in gates) and time.monotonic() < end:
        gc.collect()  # the watch may be looking at the last of them
        time.sleep(0.01)
    held = [gate for each in gates if (gate := each()) is not None]
    lines: list[str] = []
    seen = {id(held), id(lines), id(sys._getframe())}
    near: list[tuple[Any, int]] = [(gate, 0) for gate in held[:1]]
    for each, depth in near:
        for holder in gc.get_referrers(each):
            if depth < 8 and len(lines) < 300 and id(holder) not in seen and holder is not near:
                seen.add(id(holder))
                lines.append(f"{depth} {type(each).__name__} {id(each):x} <- {id(holder):x} {holder!r:.200}")
                near.append((holder, depth + 1))
    return lines


def test_a_loop_that_runs_on_asks_and_keeps_no_gate_of_a_run_that_has_ended() -> None:
    async def main() -> None:
        gates, asked = await _serve()
        assert asked == 0
        assert len(gates) == 20
        assert await asyncio.to_thread(_holders, gates) == []

    asyncio.run(main())


def test_a_pool_that_a_task_of_its_own_making_began_keeps_no_gate() -> None:
    async def body(pool: ThreadPoolExecutor) -> int:
        return await asyncio.wrap_future(pool.submit(int, "7"))

    async def request(pool: ThreadPoolExecutor, gates: list[weakref.ref[Gate]]) -> int:
        async with reenact.record(store="memory:"):
            lane = lanes.current()
            assert lane is not None
            gates.append(weakref.ref(lane.gate))
            return await asyncio.Task(body(pool))  # no hook sees such a task start

    async def main() -> None:
        gates: list[weakref.ref[Gate]] = []
        with ThreadPoolExecutor(1) as pool:
            assert await request(pool, gates) == 7
            assert _holders(gates) == []
            assert await asyncio.wrap_future(pool.submit(int, "8")) == 8

    asyncio.run(main())


@pytest.mark.skipif(sys.platform == "win32", reason="there is no uvloop on Windows")
def test_nor_does_uvloop() -> None:
    uvloop = pytest.importorskip("uvloop")

    async def main() -> None:
        gates, asked = await _serve()
        assert asked == 0
        assert await asyncio.to_thread(_holders, gates) == []

    uvloop.run(main())
