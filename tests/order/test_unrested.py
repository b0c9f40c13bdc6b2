"""Proves that recording brings in no order that the agent could not have taken: where a coroutine does not wait,
nobody else runs, recorded in whatever order, replayed and forked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import reenact

from .driver import record, replay

ORDERS = ("exact", "arrival", "off")


@reenact.tool(effect="read")
async def look(log: str) -> str:
    return log.upper()


@reenact.tool
async def put(log: str) -> str:
    return log.upper()


@reenact.tool(effect="read")
async def outer(log: str) -> str:
    return await look(log)


@reenact.tool(effect="read")
async def fails(log: str) -> str:
    raise LookupError(log)


@reenact.retriever
async def find(log: str) -> list[str]:
    return [log]


async def tolerant(log: str) -> str:
    try:
        return await fails(log)
    except LookupError as error:
        return str(error)


async def strands(call: Callable[[str], Awaitable[Any]]) -> list[str]:
    """Two tasks that never wait: unrecorded, the first ends before the second begins."""
    said: list[str] = []

    async def strand(name: str) -> None:
        for turn in range(3):
            said.append(f"ask {name}{turn}")
            await call(f"{name}{turn}")
            said.append(f"has {name}{turn}")

    await asyncio.gather(strand("a"), strand("b"))
    return said


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("call", [look, put, outer, tolerant, find], ids=lambda call: getattr(call, "__name__", ""))
def test_tasks_that_never_wait_run_one_after_the_other(call: Any, order: str) -> None:
    def program(world: Any) -> object:
        return asyncio.run(strands(call))

    unrecorded = asyncio.run(strands(call))
    recorded = record(program, policy=reenact.Policy(order=order))
    assert recorded.output == unrecorded
    replayed = replay(recorded, program)
    assert (replayed.replay.output, replayed.replay.live_calls) == (unrecorded, 0)
    if order != "off":
        assert replayed.replay.verdict == "exact"


@pytest.mark.parametrize("order", ORDERS)
def test_the_body_of_a_writing_tool_begins_where_it_is_called(order: str) -> None:
    def program(world: Any) -> object:
        begun: list[str] = []

        @reenact.tool
        async def act(name: str) -> None:
            begun.append(name)
            await asyncio.sleep(0)

        async def main() -> list[str]:
            task = asyncio.create_task(act("a"))
            await asyncio.sleep(0)
            seen = list(begun)
            await task
            return seen

        return asyncio.run(main())

    assert record(program, policy=reenact.Policy(order=order)).output == ["a"]


@pytest.mark.parametrize("order", ORDERS)
def test_a_call_that_is_checked_before_and_acted_upon_after_is_still_one_stretch(order: str) -> None:
    """A lock that is none: safe in asyncio as long as nobody waits between the look and the act."""

    def program(world: Any) -> object:
        seats = ["1A"]

        async def book(name: str) -> str:
            if seats:
                await look(name)
                return f"{name} {seats.pop()}"
            return f"{name} none"

        async def main() -> list[str]:
            return await asyncio.gather(*map(book, "abc"))

        return asyncio.run(main())

    recorded = record(program, policy=reenact.Policy(order=order))
    assert recorded.output == ["a 1A", "b none", "c none"]
    assert replay(recorded, program).replay.output == recorded.output
