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


def test_a_file_without_a_script_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(RuntimeError, match="before it listened"), ProviderProcess(tmp_path / "empty.py"):
        pass
