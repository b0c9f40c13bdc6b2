"""Each thing in which a first user's program once differed in a replay, as a program of a few lines."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from .desk import Desk, unlike

PROGRAMS = {
    "the age of a line of the log": """
        import logging, time
        logging.basicConfig(level="INFO", format="%(relativeCreated)d %(asctime)s %(message)s")
        time.sleep(0.01)
        logging.info("hello")
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_replays_exactly(tmp_path: Path, name: str) -> None:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(textwrap.dedent(PROGRAMS[name]))
    recorded = desk.record(["python", "agent.py"])
    assert recorded.code == 0, recorded.err
    assert unlike(recorded, desk.replay()) == ""
