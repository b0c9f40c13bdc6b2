"""Proves that MCP sessions over HTTP replay exactly without their server: the endless stream of what the server begins,
sampling, elicitation, roots, logging and progress included."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.mcp.conftest import Agent
from tests.programs import read_program

AGENT = read_program("mcp/client_over_http.py")


@pytest.mark.parametrize("how", ["http", "sse"])
def test_everything_that_either_side_begins(agent: Agent, how: str) -> None:
    agent.write(AGENT)
    with agent.serving(how) as url:
        recorded = agent.record(WHERE=url).stdout
    # What the server begins comes over two streams: which of them is first is chance, and part of the recording.
    words = [line.split()[0] for line in recorded.splitlines()]
    assert {"log", "sampled", "elicited"} < set(words)
    assert words.count("progress") == 2 and words.count("message") == 3
    assert "I say so / accept {'ok': True} / ['file:///here']\n" in recorded
    assert agent.same(WHERE=url) == recorded
    shown = agent.run("show", "@", "--all").stdout
    assert "sampling/createMessage" in shown
    assert " http " not in shown, "the session answers, the exchanges below it are no part of the run"


def test_an_answer_to_the_server_that_differs_is_named(agent: Agent) -> None:
    agent.write(AGENT.replace('os.environ.get("SAYS", "I say so")', 'open("says").read()'))
    (agent.folder / "says").write_text("yes")
    with agent.serving("http") as url:
        agent.record(WHERE=url)
    (agent.folder / "says").write_text("maybe")
    replayed = agent.replay(WHERE=url)
    assert replayed.returncode == 1, replayed.stderr
    assert "sampling/createMessage" in replayed.stderr
    assert "maybe" in replayed.stderr


ENDING = """
try:
    asyncio.run(main())
except BaseExceptionGroup as group:
    print("group", [repr(each) for each in group.exceptions])
except Exception as error:
    print(repr(error))
"""


def test_a_server_that_is_not_there(agent: Agent) -> None:
    agent.write(AGENT.replace("asyncio.run(main())", ENDING))
    with agent.serving("http") as url:
        pass
    environment = {**os.environ, "WHERE": url}
    command = (sys.executable, "agent.py")
    plain = subprocess.run(command, cwd=agent.folder, env=environment, capture_output=True, text=True, timeout=60)
    recorded = agent.record(WHERE=url).stdout
    assert recorded == plain.stdout == "group [\"ConnectError('All connection attempts failed')\"]\n"
    assert agent.same(WHERE=url) == recorded


@pytest.mark.parametrize("how", ["http", "sse"])
def test_a_server_that_dies_in_a_call(agent: Agent, how: str) -> None:
    agent.write(
        AGENT.replace('"asks", {}', '"dies", {}, read_timeout_seconds=2').replace("asyncio.run(main())", ENDING)
    )
    with agent.serving(how) as url:
        recorded = agent.record(WHERE=url).stdout
    assert recorded.strip()
    assert agent.same(WHERE=url) == recorded
