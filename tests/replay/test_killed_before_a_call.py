"""The replay of a run whose process was killed says that its recording ends there, before whichever call comes next."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.desk import Desk
from tests.programs import read_program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="this system kills otherwise")

PROGRAM = read_program("replay/killed_before_a_call.py")
BEHIND = PROGRAM[: PROGRAM.index('look("behind")')].count("\n") + 1
"""The line of the first call behind the kill."""


def killed(words: list[str]) -> str:
    """The program with some words."""
    return PROGRAM.replace("WORDS: list[str] = []", f"WORDS: list[str] = {words!r}")


def recorded(tmp_path: Path, words: list[str]) -> Desk:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(killed(words))
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
    assert f"agent.py:{BEHIND}" in replayed.told and f"matched {len(words)} of {len(words)}" in replayed.told


def test_a_call_before_others_that_were_recorded_is_still_a_difference(tmp_path: Path) -> None:
    desk = recorded(tmp_path, ["a", "b"])
    (desk.folder / "agent.py").write_text(killed(["a", "new", "b"]))
    assert "diverged at event 1: " in desk.replay().told
