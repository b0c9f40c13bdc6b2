"""Where a signal came inside a call, or just before it, a divergence there names the signal as a likely cause."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.desk import Desk
from tests.programs import read_program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no alarms there")

RUNG = read_program("replay/alarm_in_a_loop.py")
NAMED = "likely cause: SIGALRM came there: a handler that raises may leave the code at another place than it did"


def told_of_replay(tmp_path: Path, after: str, changed: str) -> str:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(RUNG + after)
    assert desk.record(["python", "agent.py"]).code == 0
    (desk.folder / "agent.py").write_text(RUNG + changed)
    replayed = desk.replay()
    assert replayed.code == 1, replayed.told
    return replayed.told


def test_code_that_did_not_change_has_a_signal_to_blame(tmp_path: Path) -> None:
    told = told_of_replay(tmp_path, "tell(len(counted))", "tell(len(counted))")
    assert "diverged at event 0" in told and NAMED in told


def test_a_signal_of_before_is_not_blamed(tmp_path: Path) -> None:
    told = told_of_replay(tmp_path, "tell(1); tell(2); tell(3)", "tell(1); tell(2); tell(4)")
    assert "diverged at event 2" in told and "SIGALRM" not in told
