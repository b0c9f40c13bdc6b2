"""Agents with a websocket server beside them, through the public commands; the server counts what reaches it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import commands

SERVER = """
import asyncio, http, random, sys
from websockets.asyncio.server import serve

def mark(what):
    with open("marks", "a") as marks:
        marks.write(what + "\\n")

async def talk(ws):
    mark("open " + ws.request.path)
    async for message in ws:
        mark("message")
        if message == "close":
            await ws.close(4001, "that is enough")
        elif message == "abort":
            ws.transport.abort()
        elif message == "bytes":
            await ws.send(bytes(range(5)))
        elif message == "parts":
            await ws.send(["one ", "two ", f"{random.random()}"])
        elif message == "several":
            for n in range(3):
                await ws.send(f"{n} {random.random()}")
        elif isinstance(message, str) and message.startswith("slow"):
            await asyncio.sleep(0.15)
            await ws.send(f"{message} {random.random()}")
        else:
            await ws.send(f"{message} {random.random()}" if isinstance(message, str) else message[::-1])

def check(connection, request):
    if request.path == "/refused":
        response = connection.respond(http.HTTPStatus.UNAUTHORIZED, "who are you?\\n")
        return response

async def main():
    choose = lambda ws, offered: next(iter(offered), None)
    how = dict(process_request=check, ping_interval=0.05, select_subprotocol=choose)
    async with serve(talk, "127.0.0.1", 0, **how) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

asyncio.run(main())
"""


class Agent:
    """A program in a folder of its own, and a server.

    Args:
        folder: Where it lives.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "server.py").write_text(SERVER)

    def write(self, text: str) -> None:
        """The program."""
        (self.folder / "agent.py").write_text(textwrap.dedent(text))

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Our command in the folder."""
        base = {**os.environ, "REENACT_STORE": str(self.folder / "store.sqlite"), **environment}
        command = (sys.executable, "-m", "reenact", *words)
        return commands.run(command, cwd=self.folder, env=base, capture_output=True, text=True, timeout=60, check=False)

    @contextmanager
    def serving(self) -> Iterator[str]:
        """The server; gives its address."""
        command = (sys.executable, "server.py")
        with subprocess.Popen(
            command, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdin is not None and server.stdout is not None
            yield f"ws://127.0.0.1:{server.stdout.readline().strip()}"
            server.stdin.close()
            server.wait(20)

    @property
    def marks(self) -> list[str]:
        """What has reached the server so far."""
        place = self.folder / "marks"
        return place.read_text().splitlines() if place.exists() else []

    def same(self, text: str) -> str:
        """Record and replay a program, with the server gone: the same and exact. Gives what it printed."""
        self.write(text)
        with self.serving() as url:
            recorded = self.run("record", "--", sys.executable, "agent.py", WHERE=url)
        assert recorded.returncode == 0, recorded.stderr
        before = self.marks
        replayed = self.run("replay", "@", WHERE=url)
        assert replayed.returncode == 0, replayed.stderr
        assert "verdict: same (exact)" in replayed.stderr, replayed.stderr
        assert replayed.stdout == recorded.stdout
        assert self.marks == before
        return recorded.stdout


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """An agent of one test."""
    return Agent(tmp_path)
