"""Proves that what a dropped generator holds is closed in a recorded program, and in its replay, as without us."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from reenact.testing import scripted_model
from tests.process.test_exits import _run
from tests.programs import read_program
from tests.servers.conftest import Upstream

BEGIN = """
import asyncio, os
import httpx
from closed_in_order import run
URL = os.environ["UPSTREAM"]
"""

PROGRAMS = {
    "closed while the program goes on": BEGIN
    + """
async def lines(client):
    try:
        async with client.stream("GET", URL + "/stream") as response:
            async for line in response.aiter_raw(6):
                yield line
    finally:
        print("closed")

async def main():
    async with httpx.AsyncClient() as client:
        async for line in lines(client):
            print(line)
            break
        for _ in range(6):
            await asyncio.sleep(0)
        print("end")

run(main)
""",
    "left to the loop": read_program("process/generators_left_to_the_loop.py"),
    "found by the collector": read_program("process/generators_found_by_the_collector.py"),
    "left to the interpreter": BEGIN
    + """
async def numbers(n):
    try:
        yield n
    finally:
        print("never printed")

loop = asyncio.new_event_loop()

async def main():
    left = numbers(1)
    print(await anext(left))
    return left

left = loop.run_until_complete(main())
print("end")
""",
}

MODELS = {
    "openai": BEGIN
    + """
import openai

async def main():
    async with openai.AsyncOpenAI() as client:
        for n in range(2):
            stream = await client.chat.completions.create(
                model="m", stream=True, messages=[{"role": "user", "content": str(n)}])
            async for chunk in stream:
                print(chunk.choices[0].delta.content)
                break
    print("end")

run(main)
""",
    "openai, not closed": BEGIN
    + """
import openai

async def one(client, n):
    stream = await client.chat.completions.create(
        model="m", stream=True, messages=[{"role": "user", "content": str(n)}])
    async for chunk in stream:
        print(len(chunk.choices))
        break

async def main():
    client = openai.AsyncOpenAI()
    for n in range(2):
        await one(client, n)
    print("end")

run(main)
""",
    "anthropic": BEGIN
    + """
import anthropic

async def main():
    async with anthropic.AsyncAnthropic() as client:
        for n in range(2):
            stream = await client.messages.create(
                model="m", max_tokens=9, stream=True, messages=[{"role": "user", "content": str(n)}])
            async for event in stream:
                print(event.type)
                break
    print("end")

run(main)
""",
}


def _told(text: str) -> list[str]:
    """Standard error without our own lines, addresses and the frames of tracebacks."""
    lines = [re.sub(r"0x[0-9a-f]+", "0x", line) for line in text.splitlines()]
    return [line for line in lines if not line.startswith(("reenact: ", "  "))]


def _as_without_us(folder: Path, upstream: Upstream, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "closed_in_order.py").write_text(read_program("process/closed_in_order.py"))
    (folder / "agent.py").write_text(program)
    reenact = (sys.executable, "-m", "reenact")
    monkeypatch.setenv("IN_ORDER", "1")
    bare = _run(folder, upstream, sys.executable, "agent.py")
    assert "end\n" in bare.stdout, bare.stderr
    monkeypatch.delenv("IN_ORDER")
    recorded = _run(folder, upstream, *reenact, "record", "--", sys.executable, "agent.py")
    assert (recorded.stdout, _told(recorded.stderr)) == (bare.stdout, _told(bare.stderr))
    for _ in range(2):
        replayed = _run(folder, upstream, *reenact, "--json", "replay", "@")
        report = json.loads(replayed.stdout.splitlines()[-1])
        assert (replayed.returncode, report["verdict"]) == (0, "exact"), report


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_dropped_generator(program: str, tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    _as_without_us(tmp_path, upstream, PROGRAMS[program], monkeypatch)


@pytest.mark.parametrize("program", MODELS)
def test_an_early_break_out_of_the_stream_of_a_model(
    program: str, tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted_model(*["several words, said one by one"] * 4) as model:  # twice in the bare run, twice recorded
        for name, value in model.environment().items():
            monkeypatch.setenv(name, value)
        _as_without_us(tmp_path, upstream, MODELS[program], monkeypatch)
