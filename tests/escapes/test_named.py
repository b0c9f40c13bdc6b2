"""Proves that a websocket connection, an MCP server over stdio and a bare socket are named as gaps of their run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

WEBSOCKET = """
import threading
from websockets.sync.server import serve
from websockets.sync.client import connect
server = serve(lambda ws: ws.send(ws.recv().upper()), "127.0.0.1", 0)
threading.Thread(target=server.serve_forever, daemon=True).start()
with connect("ws://127.0.0.1:%d" % server.socket.getsockname()[1]) as ws:
    ws.send("hello")
    print(ws.recv())
server.shutdown()
"""
SERVER = """
from mcp.server import MCPServer
server = MCPServer("s")
@server.tool()
def shout(text: str) -> str:
    return text.upper()
server.run("stdio")
"""
STDIO = """
import asyncio, sys
from mcp import ClientSession, StdioServerParameters, stdio_client
async def main():
    async with stdio_client(StdioServerParameters(command=sys.executable, args=["server.py"])) as (r, w):
        async with ClientSession(r, w) as session:
            await session.initialize()
            print((await session.call_tool("shout", {"text": "hello"})).content[0].text)
asyncio.run(main())
"""
BY_HAND = """
import http.client, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
class Answering(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200, "HELLO")
        self.end_headers()
    def log_message(self, *args): ...
server = HTTPServer(("127.0.0.1", 0), Answering)
threading.Thread(target=server.serve_forever, daemon=True).start()
connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
connection.putrequest("GET", "/")
connection.endheaders()
print(connection.getresponse().reason)
connection.request("GET", "/")
connection.getresponse().read()
server.shutdown()
"""


@pytest.mark.parametrize(
    ("agent", "gap"),
    [(WEBSOCKET, "websocket"), (STDIO, "MCP server process"), (BY_HAND, "connection")],
    ids=["websocket", "stdio", "socket"],
)
def test_the_gap_is_shown(tmp_path: Path, agent: str, gap: str) -> None:
    (tmp_path / "agent.py").write_text(agent)
    (tmp_path / "server.py").write_text(SERVER)

    def reenact(*argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "reenact", *argv],
            cwd=tmp_path,
            env=os.environ.copy(),
            capture_output=True,
            text=True,
            timeout=60,
        )

    recorded = reenact("record", "--", sys.executable, "agent.py")
    assert recorded.stdout.splitlines()[:1] == ["HELLO"], recorded.stderr
    shown = reenact("show", "@")
    assert f"gap  {gap} at " in shown.stdout, shown.stdout + shown.stderr
