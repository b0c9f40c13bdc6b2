"""Proves that the requests of a program that handles one after the other replay in their rounds, and that its own run
goes through as many, whatever ended them."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.programs import read_program
from tests.servers.conftest import Project, Upstream

ROUNDS = read_program("servers/one_request_a_round.py")


def test_each_request_is_answered_in_its_round(tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path / "rounds", upstream)
    project.write(ROUNDS)
    with project.serving(sys.executable, "app.py", stop=0) as server:
        said = [server.ask("/").body.decode().partition(",")[0] for _ in range(2)]
    assert said == ["round 1", "round 2"], server.said
    assert server.process.returncode == 0, server.said
    runs = [run["run"] for run in project.runs()]
    assert len(runs) == 3
    for run in runs:  # its own too: it is interrupted in its last round
        project.exact(run)
