"""The effects canary: whatever kind of effect a recorded agent has, its replay has none, and says so.

Each kind acts for real when it is recorded: a server that lives counts it, or the watched folder changes. Replayed,
with the server still there, it is frozen, or refused and named; the server and the folder see nothing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.grpc.server import Server

from .conftest import Agent, in_force

PRELUDE = """
import asyncio, ctypes, os, smtplib, socket, sqlite3, struct, subprocess, sys, threading, urllib.request

PORT = int(os.environ["PORT"])


def say(word):
    with socket.create_connection(("127.0.0.1", PORT)) as there:
        there.sendall(word.encode() + b"\\n")
        return there.recv(100)
"""

KINDS = {
    "http": """
        urllib.request.urlopen(f"http://127.0.0.1:{PORT}/", data=b"order").read()
    """,
    "raw socket": """
        say("raw")
    """,
    "subprocess": """
        text = f"import socket; s = socket.create_connection(('127.0.0.1', {PORT})); s.sendall(b'sub\\\\n'); s.recv(9)"
        subprocess.run([sys.executable, "-c", text + "; open('by-subprocess', 'w')"], check=True)
    """,
    "file": """
        with open("written", "a") as file:
            file.write("a line")
        os.makedirs("made", exist_ok=True)
        with open(os.path.join(os.environ["HOME"], "written"), "a") as file:
            file.write("a line")
    """,
    "sqlite": """
        with sqlite3.connect("orders.db") as db:
            db.execute("create table if not exists orders (name)")
            db.execute("insert into orders values ('A-1')")
        db.close()
    """,
    "mail": """
        with smtplib.SMTP("127.0.0.1", PORT) as server:
            server.sendmail("a@example.com", "b@example.com", "hello")
    """,
    "mcp": """
        from mcp import ClientSession, StdioServerParameters
        from mcp.client.stdio import stdio_client

        async def main():
            parameters = StdioServerParameters(command=sys.executable, args=["mcp_server.py"])
            async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
                await session.initialize()
                await session.call_tool("add", {"text": "a line"})

        asyncio.run(main())
    """,
    "grpc": """
        import grpc

        with grpc.insecure_channel("127.0.0.1:" + os.environ["GRPC_PORT"]) as channel:
            channel.unary_unary("/shop.Orders/Unary")(b"order")
    """,
    "websocket": """
        from websockets.sync.client import connect

        with connect(f"ws://127.0.0.1:{PORT}", proxy=None) as there:
            there.recv()
    """,
    "thread": """
        failed = []

        def work():
            say("thread")

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    """,
    "child process": """
        child = os.fork()
        if child == 0:
            say("child")
            open("by-child", "w").close()
            os._exit(0)
        os.waitpid(child, 0)
    """,
    "native library": """
        libc = ctypes.CDLL(None)
        there = libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
        address = struct.pack("=H", socket.AF_INET) + struct.pack("!H4s8x", PORT, bytes([127, 0, 0, 1]))
        assert libc.connect(there, address, len(address)) == 0
        libc.send(there, b"native\\n", 7, 0)
        libc.recv(there, ctypes.create_string_buffer(64), 64, 0)
    """,
}

MCP_SERVER = """
from mcp.server import MCPServer

server = MCPServer("orders")


@server.tool()
def add(text: str) -> str:
    with open("by-mcp", "a") as file:
        file.write(text)
    return "done"


server.run()
"""

FROZEN = ("http", "subprocess", "file", "sqlite", "grpc", "child process")
"""Kinds that a seam, or scratch, answers: their replays are exact. Every other kind is frozen or refused."""


class Scene:
    """An agent, the server that counts, and a real gRPC server."""

    def __init__(self, agent: Agent, folder: Path) -> None:
        self.agent = agent
        self.grpc = Server(folder)
        (agent.watched / "mcp_server.py").write_text(MCP_SERVER)

    def environment(self) -> dict[str, str]:
        """What the agent needs to find the servers."""
        return {"GRPC_PORT": str(self.grpc.port)}

    def world(self) -> tuple[list[str], int, dict[str, str]]:
        """All that anybody outside can see."""
        return self.agent.counting.seen(), self.grpc.calls(), self.agent.picture()


@pytest.fixture
def scene(agent: Agent, tmp_path: Path) -> Iterator[Scene]:
    """The scene of one test."""
    made = Scene(agent, tmp_path)
    yield made
    made.grpc.close()


def test_there_are_twelve_kinds() -> None:
    assert len(KINDS) == 12


@pytest.mark.parametrize("kind", KINDS)
def test_a_replayed_effect_is_frozen_or_refused_and_the_world_sees_nothing(kind: str, scene: Scene) -> None:
    agent = scene.agent
    agent.write(PRELUDE + textwrap.dedent(KINDS[kind]))
    before = scene.world()
    agent.record(**scene.environment())
    world = scene.world()
    assert world != before, "it has no effect, so this proves nothing"
    report = agent.report(**scene.environment())
    if kind in ("file", "sqlite"):
        in_force(report, "scratch overlay")
    assert scene.world() == world
    assert report["live_calls"] == 0
    if report["exit_code"] == 0:
        assert report["verdict"] == "exact" and not report["refused"]
    else:
        assert kind not in FROZEN, report
        assert report["exit_code"] == 5 and "agent.py:" in report["refused"][0], report


def test_an_agent_that_swallows_everything_still_reaches_nothing(scene: Scene) -> None:
    agent = scene.agent
    parts = [PRELUDE]
    for kind, text in KINDS.items():
        parts.append(
            f"try:  # {kind}\n{textwrap.indent(textwrap.dedent(text), '    ')}\nexcept BaseException:\n    pass\n"
        )
    agent.write("\n".join(parts))
    before = scene.world()
    agent.record(**scene.environment())
    world = scene.world()
    assert len(world[0]) >= len(before[0]) + 7 and world[1] == before[1] + 1
    assert {Path(name).name for name in world[2]} >= {"written", "made", "orders.db", "by-mcp", "by-child"}
    report = agent.report(**scene.environment())
    assert report["exit_code"] == 5 and report["refused"]
    in_force(report, "scratch overlay")
    assert scene.world() == world
