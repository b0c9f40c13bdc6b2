"""A start loads what it needs: how many modules of ours, and no library that the program does not use."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once
_STARTED = "imported package"
_LINE = re.compile(r"import time:\s+\d+ \|\s+\d+ \|\s+(\S+)")
OURS = {"help": 12, "ls": 60, "show": 145, "record": 322, "replay": 342}
"""Modules of ours, at most: some more than it takes today. For the last two it is the command and the program together:
both tell it to one standard error, and on a busy machine a program begins late, behind more of what its command loads.
"""
CLIENTS = (
    "reenact.facts.dialects",
    "reenact.seams.http.httpx_clients",
    "reenact.seams.mcp.sessions",
    "reenact.seams.rpc.rpc_blocking",
    "reenact.seams.servers.uvicorn_hooks",
    "reenact.seams.strands.loops",
    "reenact.seams.strands.pools",
    "reenact.seams.strands.trio_hooks",
    "reenact.seams.websockets.websocket_clients",
)
"""What is loaded with a library that the program imports."""
UNUSED = {"asyncio", "concurrent.futures", "ssl", *CLIENTS}
"""What a program that does nothing has no use for."""


def loaded(folder: Path, *words: str) -> list[set[str]]:
    """The modules of each process of one command, in the order in which the processes began to load them."""
    environment = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    command = [sys.executable, "-m", "reenact", *words]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    found: list[set[str]] = []
    for line in ran.stderr.splitlines():
        if line.endswith(_STARTED):
            found.append(set())
        elif (match := _LINE.match(line)) is not None:
            found[-1].add(match.group(1))
    return found


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "reenact"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[set[str]]]:
    """A folder with the run of a program that does nothing, and what was loaded to record it."""
    folder = tmp_path_factory.mktemp("starts")
    return folder, loaded(folder, "record", "--", sys.executable, "-c", "pass")


@pytest.mark.parametrize(("name", "words"), [("help", ["--help"]), ("ls", ["ls"]), ("show", ["show", "@"])])
def test_a_command_that_looks(recorded: tuple[Path, list[set[str]]], name: str, words: list[str]) -> None:
    (modules,) = loaded(recorded[0], *words)
    assert 0 < len(ours(modules)) <= OURS[name]
    assert not modules & UNUSED


def test_a_recording(recorded: tuple[Path, list[set[str]]]) -> None:
    command, program = recorded[1]
    assert "reenact.recording.recording_session" in program
    assert 0 < len(ours(command | program)) <= OURS["record"]
    assert not (command | program) & UNUSED


def test_a_replay(recorded: tuple[Path, list[set[str]]]) -> None:
    command, program = loaded(recorded[0], "replay", "@")
    assert "reenact.replaying.replay_session" in program
    assert 0 < len(ours(command | program)) <= OURS["replay"]
    assert not (command | program) & UNUSED


def test_what_reads_model_calls_is_loaded_with_a_client(tmp_path: Path) -> None:
    """Later a program may have taken the files away."""
    program = "import sys, http.client; sys.exit('reenact.facts.dialects' not in sys.modules)"
    loaded(tmp_path, "record", "--", sys.executable, "-c", program)


def test_the_scripted_provider_is_loaded_when_it_starts() -> None:
    """Most programs that import it start it as a process of its own."""
    program = (
        "import sys; from reenact.testing.provider import ProviderProcess, ScriptedProvider, Script\n"
        "print(*sys.modules)\nwith ScriptedProvider():\n    print(*sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    imported, started = (set(line.split()) for line in told.splitlines())
    makes_answers = {"reenact.testing.provider.provider_http", "reenact.testing.provider.provider_decisions"}
    assert 0 < len(ours(imported)) <= 18
    assert not imported & {"ssl", "socket", "http.server", "email", *makes_answers}
    assert makes_answers <= started
