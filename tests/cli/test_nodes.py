"""A divergence and a line of ``diff`` name the node of a graph (LangGraph) that makes the call, or had made it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import read_program

GRAPH = read_program("cli/graph_of_two_nodes.py")


@pytest.mark.timeout(300)
def test_the_node_is_named(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REENACT")}
    environment = {**kept, "HOME": str(tmp_path), "NO_COLOR": "1"}
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")

    def run(*words: str, status: int = 0) -> str:
        command = [sys.executable, "-m", "reenact", *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    agent = tmp_path / "agent.py"
    agent.write_text(GRAPH, encoding="utf-8")
    run("record", "--", sys.executable, "agent.py")
    agent.write_text(GRAPH.replace('"table", 1', '"table", 2'), encoding="utf-8")
    said = run("replay", "@", status=1)
    assert "\nreenact:   node      book\n" in said and "node      weather" not in said, said
    run("record", "--", sys.executable, "agent.py")
    told = run("diff", "@~1", "@", status=1).splitlines()
    assert told[0].endswith("tool look  node book") and told[1].endswith("tool look  node book"), told
