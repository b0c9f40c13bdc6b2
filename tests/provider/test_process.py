"""Proves that the provider's process says where it is, moves to another day, counts, and always ends by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from reenact.testing import ProviderProcess

WORLD = """
from reenact.testing.provider import Route, Script
SCRIPT = Script(routes=(Route("/day", "second", from_day=2), Route("/day", "first")))
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A script in a file."""
    file = tmp_path / "world.py"
    file.write_text(WORLD)
    return file


def test_it_serves_a_script_counts_and_moves_to_another_day(world: Path) -> None:
    with ProviderProcess(world) as provider:
        assert provider.environment()["OPENAI_BASE_URL"] == f"{provider.url}/v1"
        assert httpx.get(f"{provider.url}/day").json() == "first"
        provider.set_day(2)
        assert httpx.get(f"{provider.url}/day").json() == "second"
        assert provider.counts == {"/day": 2}
    with pytest.raises(httpx.ConnectError):
        httpx.get(provider.url)


def test_it_starts_on_the_day_it_is_told(world: Path) -> None:
    with ProviderProcess(world, day=2) as provider:
        assert httpx.get(f"{provider.url}/day").json() == "second"


def test_it_ends_when_nobody_asks_anything() -> None:
    command = [sys.executable, "-m", "reenact.testing.provider", "--detached", "--idle-limit", "0.05"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.startswith("http://127.0.0.1:") and done.stderr == ""


def test_it_ends_well_although_its_input_is_open() -> None:
    """A thread of its own waits for the end of the input then."""
    command = [sys.executable, "-m", "reenact.testing.provider", "--idle-limit", "0.05"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        assert process.wait(30) == 0
        assert process.stderr.read() == ""


IDLE = """
from reenact.testing.provider import __main__ as program
from reenact.testing.provider.server import ScriptedProvider

def idle_s(self):
    print("idle", flush=True)
    return 1e6

ScriptedProvider.idle_s = idle_s
program.main([])
"""


def test_as_long_as_its_input_is_open_it_waits_for_whoever_may_ask() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", IDLE], text=True, **pipes) as process:  # type: ignore[call-overload]
        said = [process.stdout.readline() for _ in range(4)]
        assert said[1:] == ["idle\n"] * 3, "it has looked again, and gone on"
        process.stdin.close()
        assert process.wait(30) == 0


def test_a_file_without_a_script_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(RuntimeError, match="before it listened"), ProviderProcess(tmp_path / "empty.py"):
        pass
