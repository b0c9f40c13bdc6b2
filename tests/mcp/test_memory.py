"""Proves that MCP sessions with a server in the same process replay exactly, and that the server does not run again."""

from __future__ import annotations

import pytest

from tests.mcp.conftest import Agent
from tests.programs import read_program

AGENT = read_program("mcp/client_in_memory.py")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_server_runs_once(agent: Agent, mode: str) -> None:
    agent.write(AGENT.replace('mode = "auto"', f"mode = {mode!r}"))
    recorded = agent.record().stdout
    assert recorded.startswith("['shout', 'fails', 'dies', 'in_steps', 'asks']\n['A ")
    assert recorded.count("\nprogress ") == 2
    assert ("sampled n=" in recorded) == (mode == "legacy")
    before = agent.marks
    assert sorted(before) == ["shout a", "shout b", "shout c"]
    replayed = agent.replay()
    assert replayed.returncode == 0, replayed.stderr
    assert "verdict: same (exact)" in replayed.stderr
    assert replayed.stdout == recorded
    assert agent.marks == before
