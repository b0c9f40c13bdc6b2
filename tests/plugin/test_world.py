"""A test of a frozen golden reaches nothing, and says so; nothing stays closed behind it, and no time limit leaves a
process behind."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from reenact.testing import ProviderProcess
from tests.plugin.desk import Project, results
from tests.programs import read_program

BODIES = read_program("plugin/bodies_that_reach_the_world.py")
REACHES = BODIES[: BODIES.index("socket.create_connection(")].count("\n") + 1
"""The line that connects."""
ONE = """
import pytest

@pytest.mark.reenact("refund-loop")
def test_it():
    pass
"""


def test_the_body_of_a_test_is_kept_from_the_network_and_nothing_stays_closed(
    desk: Project, world: ProviderProcess
) -> None:
    desk.edit("shop.py", "SEARCHES = 5", "SEARCHES = 1")
    desk.write("tests/test_it.py", BODIES)
    ended = desk.pytest("--junitxml=junit.xml", more={"WORLD": world.url})
    found = results(desk.folder / "junit.xml")
    assert {name: how for name, (how, _) in found.items()} == {
        "test_reaches": "failure",
        "test_reaches_and_does_not_tell": "failure",
        "test_reaches_nothing": "passed",
        "test_afterwards": "passed",
    }, ended.out
    host = world.url.removeprefix("http://")
    for name in ("test_reaches", "test_reaches_and_does_not_tell"):
        assert found[name][1].startswith("golden refund-loop was refused contact with the world (exit code 5)\n")
        assert f"refused: connection to {host} at tests/test_it.py:{REACHES}\n" in found[name][1]
        assert "  next: python -m pytest --reenact=missing" in found[name][1]


def test_an_agent_that_tries_the_world_is_refused_in_words(desk: Project, world: ProviderProcess) -> None:
    host, port = world.url.removeprefix("http://").split(":")
    reaching = f"    import socket\n    socket.create_connection(({host!r}, {port})).close()\n"
    desk.edit("shop.py", '    """One search too many', f'{reaching}    """One search too many')
    desk.edit("shop.py", "SEARCHES = 5", "SEARCHES = 1")
    desk.write("tests/test_it.py", ONE)
    before = world.counts
    ended = desk.pytest()
    assert ended.counts == {"failed": 1}, ended.out
    assert "golden refund-loop was refused contact with the world (exit code 5)\n" in ended.out
    assert f"connection to {host}:{port} at shop.py:" in ended.out
    assert world.counts == before


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_time_limit_ends_the_agent_wherever_it_runs(desk: Project) -> None:
    desk.edit("shop.py", "    for _ in range(SEARCHES)", "    while os.path is not None: pass\n    for _ in range(1)")
    desk.write("tests/test_it.py", ONE + "\n@pytest.mark.reenact('same/greeting')\ndef test_next():\n    pass\n")
    desk.edit("shop.py", "    return await asyncio", "    while os.path is not None: pass\n    return await asyncio")
    ended = desk.pytest("--timeout=3", "-o", "timeout_func_only=true", plugins="timeout")
    assert ended.counts == {"failed": 2}, ended.out
    assert ended.out.count("FAILED") == ended.out.count(" - Failed: Timeout") == 2, ended.out
    assert [pid for pid in os.listdir("/proc") if pid.isdigit() and _works_in(pid, desk.folder)] == []


def _works_in(pid: str, folder: Path) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/cwd") == str(folder)
    except OSError:
        return False
