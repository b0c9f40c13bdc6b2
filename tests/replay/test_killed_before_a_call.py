"""The replay of a run whose process was killed says that its recording ends there, before whichever call comes next."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.desk import Desk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="this system kills otherwise")

KILLED = """
import asyncio, os, signal
import reenact

@reenact.tool(effect="read")
def look(what):
    return what

async def ask():
    for what in WORDS:
        print(look(what))
    if not os.path.exists("go"):
        reenact.current_run().flush()
        os.kill(os.getpid(), signal.SIGKILL)
    look("behind")
    look("another")

async def main():
    await asyncio.create_task(ask(), name="ask")

asyncio.run(main())
"""


def recorded(tmp_path: Path, words: list[str]) -> Desk:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(KILLED.replace("WORDS", repr(words)))
    desk.record(["python", "agent.py"])
    (desk.folder / "go").touch()
    return desk


@pytest.mark.parametrize("words", [[], ["a"], ["a", "b"]], ids=len)
def test_the_recording_ends_before_the_next_call(tmp_path: Path, words: list[str]) -> None:
    desk = recorded(tmp_path, words)
    replayed = desk.replay()
    assert replayed.code == 1
    assert "reenact: the recording ends here, before tool look\n" in replayed.told
    assert "the recorded process died or was cut off at this point" in replayed.told
    assert "agent.py:15" in replayed.told and f"matched {len(words)} of {len(words)}" in replayed.told


def test_a_call_before_others_that_were_recorded_is_still_a_difference(tmp_path: Path) -> None:
    desk = recorded(tmp_path, ["a", "b"])
    (desk.folder / "agent.py").write_text(KILLED.replace("WORDS", "['a', 'new', 'b']"))
    assert "diverged at event 1: " in desk.replay().told
