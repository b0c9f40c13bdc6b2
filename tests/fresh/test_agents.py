"""Programs nobody had in mind when reenact was written replay exactly, their world gone, as often as one likes."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.desk import Desk

HERE = Path(__file__).parent
AGENTS = sorted(path.stem for path in (HERE / "agents").iterdir() if not path.name.startswith("_"))
COMMANDS = {
    "chat_cli": (
        ["python", "chat_cli.py", "--name", "Zoë", "--persona", "terse"],
        "hi\nwho?\nä\n/quit\nmore\n",
    ),
    "researcher": (["python", "-m", "researcher", "tides", "--width", "5"], ""),
    "support_loop": (["python", "support_loop.py", "where", "is", "it?"], ""),
}
STATUSES = {"chat_cli": {7}, "gather_errors": {1}, "last_words": {3}, "sdk_retries": {1}, "stopped_by_hand": {-2, 130}}
STATUSES["typed_extract"] = {0, 1}
LONG = {"graph_parallel", "graph_stream", "sdk_retries"}
"""What takes longest, and whose libraries others try too: only in a sweep."""


@contextmanager
def world() -> Iterator[str]:
    """A world of one's own; gives its address, and is gone afterwards."""
    server = subprocess.Popen([sys.executable, str(HERE / "world.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None and server.stdout is not None
    with server:
        yield server.stdout.readline().decode().strip()
        server.stdin.close()


@pytest.mark.parametrize("name", AGENTS)
def test_it_replays_exactly_with_its_world_gone(tmp_path: Path, name: str, sweep: bool) -> None:
    if name in LONG and not sweep:
        pytest.skip("long: REENACT_SWEEP=1 runs it")
    desk = Desk(tmp_path)
    shutil.copytree(HERE / "agents", desk.folder, dirs_exist_ok=True)
    command, stdin = COMMANDS.get(name, (["python", f"{name}.py"], ""))
    with world() as url:
        desk.environment |= {"WORLD_URL": url, "OPENAI_BASE_URL": f"{url}/v1", "ANTHROPIC_BASE_URL": url}
        recorded = desk.record(command, stdin.encode())
    assert recorded.code in STATUSES.get(name, {0}), recorded.err
    seeds = random.Random(name)
    for number in range(10 if sweep else 1):
        more = {"PYTHONHASHSEED": str(seeds.randrange(10_000))} if number % 2 == 0 else None
        assert desk.differs(recorded, more=more) == "", f"replay {number}"


@pytest.mark.parametrize(
    ("name", "lines", "words"),
    [
        ("_trio_out_of_time.py", 5, b"nothing inside trio.run() is recorded"),
        ("_trio_mcp.py", 1, b"MCP sessions are not recorded under trio"),
    ],
)
def test_what_is_not_followed_is_said(tmp_path: Path, name: str, lines: int, words: bytes) -> None:
    """What is not followed under trio is left alone: its run says so, and is not replayed wrongly."""
    desk = Desk(tmp_path)
    shutil.copytree(HERE / "agents", desk.folder, dirs_exist_ok=True)
    with world() as url:
        desk.environment |= {"WORLD_URL": url}
        recorded = desk.record(["python", name], b"")
    assert (recorded.code, len(recorded.out.splitlines())) == (0, lines)
    assert b"ok (degraded)" in recorded.err
    replayed = desk.replay()
    assert replayed.code == 3
    assert words in replayed.err
