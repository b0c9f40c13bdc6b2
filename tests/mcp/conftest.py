"""Agents with an MCP server of their own, through the public commands; what the server did leaves marks that count."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import commands

SERVER = '''
import asyncio, random, sys
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
import mcp_types as types

server = MCPServer("orders")


def mark(what):
    with open("marks", "a") as marks:
        marks.write(what + "\\n")


@server.tool()
async def shout(text: str, wait: float = 0) -> str:
    """Say it louder, with a number that is another one each time."""
    mark("shout " + text)
    await asyncio.sleep(wait)
    return f"{text.upper()} {random.random()}"


@server.tool(annotations=types.ToolAnnotations(read_only_hint=True))
async def fails(text: str) -> str:
    raise ValueError("no " + text)


@server.tool()
async def dies() -> str:
    import os
    os._exit(3)


@server.tool()
async def in_steps(n: int, ctx: Context) -> str:
    for at in range(n):
        await ctx.report_progress(at, n, f"step {at} {random.random()}")
    return "done"


@server.tool()
async def asks(ctx: Context) -> str:
    """Ask the client for everything it may be asked for."""
    session = ctx.request_context.session
    await ctx.info(f"asking {random.random()}")
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=f"n={random.random()}"))
    said = await session.create_message([message], max_tokens=10)
    form = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
    agreed = await session.elicit_form("really?", form)
    roots = await session.list_roots()
    return f"{said.content.text} / {agreed.action} {agreed.content} / {[str(root.uri) for root in roots.roots]}"


if __name__ == "__main__":
    mark("start")
    how = sys.argv[1] if len(sys.argv) > 1 else "stdio"
    if how == "stdio":
        server.run("stdio")
    else:
        import socket, threading, uvicorn
        app = server.streamable_http_app() if how == "http" else server.sse_app()
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        running = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1))
        def until_our_starter_has_gone():
            sys.stdin.read()
            running.should_exit = True
        threading.Thread(target=until_our_starter_has_gone, daemon=True).start()
        running.run(sockets=[listener])
'''


class Agent:
    """A program in a folder of its own, with a server beside it.

    Args:
        folder: Where it lives.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = folder / "server.py"
        self.server.write_text(SERVER)

    def write(self, text: str) -> None:
        """The program."""
        (self.folder / "agent.py").write_text(textwrap.dedent(text))

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Our command in the folder."""
        base = {**os.environ, "REENACT_STORE": str(self.folder / "store.sqlite"), **environment}
        command = (sys.executable, "-m", "reenact", *words)
        return commands.run(command, cwd=self.folder, env=base, capture_output=True, text=True, timeout=60, check=False)

    def record(self, **environment: str) -> subprocess.CompletedProcess[str]:
        """Record it; it must end well."""
        done = self.run("record", "--", sys.executable, "agent.py", **environment)
        assert done.returncode == 0, done.stderr
        return done

    def replay(self, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Replay the last run."""
        return self.run("replay", "@", *options, **environment)

    @contextmanager
    def serving(self, how: str) -> Iterator[str]:
        """The server behind an address of its own: ``http`` or ``sse``."""
        command = (sys.executable, "server.py", how)
        with subprocess.Popen(
            command, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdin is not None and server.stdout is not None
            port = server.stdout.readline().strip()
            assert port
            yield f"http://127.0.0.1:{port}/{'mcp' if how == 'http' else 'sse'}"
            server.stdin.close()
            server.wait(20)

    @property
    def marks(self) -> list[str]:
        """What the server has done so far."""
        place = self.folder / "marks"
        return place.read_text().splitlines() if place.exists() else []

    def same(self, **environment: str) -> str:
        """Replay the last run without a server: the same and exact. Gives what it printed."""
        before = self.marks
        if self.server.exists():
            self.server.write_text("raise SystemExit('the server must not run')\n")
        replayed = self.replay(**environment)
        assert replayed.returncode == 0, replayed.stderr
        assert "verdict: same (exact)" in replayed.stderr, replayed.stderr
        assert self.marks == before
        return replayed.stdout

    def events(self) -> list[dict[str, Any]]:
        """The events of the last run."""
        shown = self.run("--json", "show", "@", "--all")
        return [json.loads(line) for line in shown.stdout.splitlines()]


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """An agent of one test."""
    return Agent(tmp_path)
