"""Proves that a handler which streams its answer and never reads the request's body replays exactly.

Starlette (and so FastAPI) listens meanwhile for its client's going: the body may come to that listener, in part, or not
at all before the answer is over and the listener is let go.
"""

from __future__ import annotations

import socket
import threading
from pathlib import Path

from tests.programs import read_program
from tests.servers.conftest import UVICORN, Project, Upstream

APP = read_program("servers/streamed_by_a_tool.py")


def _post(port: int, path: str, *pieces: bytes, of: int) -> bytes:
    """A body that comes in pieces, each 150 ms after what was sent before it: that is how slow this client is."""
    head = f"POST {path} HTTP/1.1\r\nHost: here\r\nContent-Length: {of}\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(head.encode())
        for piece in pieces:
            threading.Event().wait(0.15)
            try:
                connection.sendall(piece)
            except OSError:  # the server has closed: it was answered
                break
        answer = b""
        try:
            while more := connection.recv(4096):
                answer += more
        except ConnectionResetError:
            pass
    return answer


def test_a_body_that_nobody_reads_does_not_make_a_replay_differ(tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path / "asgi", upstream)
    project.write(APP)
    with project.serving(*UVICORN, "--lifespan", "off", "--loop", "asyncio") as running:
        assert running.ask("/quick", {"question": "all at once"}).body == b"word 0\nword 2\nword 4\n"
        assert running.ask("/slow", {"question": "all at once"}).body == b"word 0\nword 2\nword 4\n"
        for path in ("/quick", "/slow"):
            for pieces in ((), (b"hello",), (b"hello", b"world")):
                assert b"word 4" in _post(running.port, path, *pieces, of=10), (path, pieces)
    runs = project.requests()
    assert len(runs) == 8
    for run in runs:
        project.exact(run["run"])
