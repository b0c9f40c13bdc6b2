"""Proves that a result which a replay cannot make again is told when it is recorded, with the tool and the cure."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.recorded import Desk

PROGRAM = """
import asyncio, dataclasses, sys, typing
import reenact

@dataclasses.dataclass
class Found:
    name: str

class Handle:
    pass

@reenact.tool(effect="read")
def bare(q):
    return Found(q)

@reenact.tool(effect="read")
def many(q) -> list:
    return [Found(q), Found(q)]

@reenact.tool(effect="read")
def anything(q) -> typing.Any:
    return {"found": Found(q)}

@reenact.tool(effect="read")
def declared(q) -> Found:
    return Found(q)

@reenact.tool(effect="read")
def listed(q) -> list[Found]:
    return [Found(q)]

@reenact.tool(effect="read")
def around(q):
    return bare(q).name

@reenact.tool(effect="read")
def odd(q):
    return Handle()

@reenact.tool(effect="read")
def items(q):
    yield Found(q)

@reenact.tool(effect="read")
async def later(q) -> typing.AsyncIterator:
    yield Found(q)

@reenact.tool(effect="read")
def told(q) -> typing.Iterator[Found]:
    yield Found(q)

@reenact.tool(effect="read")
def handles(q):
    yield Handle()

async def every(found):
    return [each async for each in found]

found = globals()[sys.argv[1]]("a")
if hasattr(found, "__aiter__"):
    found = asyncio.run(every(found))
elif hasattr(found, "__next__"):
    found = list(found)
print(type(found).__name__)
"""
CURES = {
    "bare": "__main__.Found from bare at #0; annotate what it returns, as def bare(…) -> Found",
    "many": "__main__.Found from many at #0; annotate what it returns",
    "anything": "__main__.Found from anything at #0; annotate what it returns",
    "items": "__main__.Found from items at #0; annotate what it returns, as def items(…) -> Iterator[Found]",
    "later": "__main__.Found from later at #0; annotate what it returns, as def later(…) -> Iterator[Found]",
    "handles": "returned what cannot be stored: handles at #0; let handles return data",
    "odd": "returned what cannot be stored: odd at #0; let odd return data",
}


@pytest.mark.parametrize("tool", [*CURES, "declared", "listed", "around", "told"])
def test_a_recording_says_which_tool_stops_its_replay_and_what_helps(tmp_path: Path, tool: str) -> None:
    desk = Desk(tmp_path)
    desk.script(PROGRAM)
    said = desk.record("agent.py", tool).stderr
    replayed = desk.run("replay", "@", status=None)
    assert replayed.returncode == (3 if tool in CURES else 0), replayed.stderr
    assert ("its code cannot be replayed" in said) is (tool in CURES), said
    assert CURES.get(tool, "") in said, said
    assert "replay @" not in replayed.stderr and "through TOOL" not in replayed.stderr
    assert tool not in ("odd", "handles") or f" --through {tool}\n" in replayed.stderr
    cured = "cold case" if tool in ("odd", "handles") else "replays as events"
    assert desk.kit().whole["verdict"] == (cured if tool in CURES else "replays as code")
