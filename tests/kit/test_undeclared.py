"""Proves that a result which a replay cannot make again is told when it is recorded, with the tool and the cure."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.recorded import Workbench
from tests.programs import read_program

PROGRAM = read_program("kit/results_of_every_declaration.py")
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
    desk = Workbench(tmp_path)
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
