"""Proves that which pipe a program found ready, or that its time was up, is had again where the two race."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.desk import Desk
from tests.programs import read_program

RACES = read_program("fresh/pipes_that_become_ready.py")


@pytest.mark.skipif(sys.platform == "win32", reason="only sockets can be waited for there")
def test_readiness_and_time_out_race_to_the_same_end(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(RACES)
    recorded = desk.record(["python", "agent.py"])
    assert recorded.code == 0 and b"[0, 0, 0]" in recorded.out, recorded.err
    assert b"\nValueError\n" in recorded.out, "what a closed one raises by itself"
    assert b" select " in desk.run("reenact", "show", "@", "--all").out
    for _ in range(2):
        assert desk.differs(recorded) == ""
