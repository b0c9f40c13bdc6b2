"""Proves that an application which gives up waiting for a message loses none of them, and that its replay is exact."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

from tests.programs import read_program
from tests.servers.conftest import UVICORN, Project, Upstream

APP = read_program("servers/impatient_receivers.py")


def _post(port: int, path: str) -> list[object]:
    """A body in two pieces, the second one 150 ms after the first: that is how slow this client is."""
    head = f"POST {path} HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(head.encode() + b"hello")
        threading.Event().wait(0.15)
        connection.sendall(b"world")
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    said: list[object] = json.loads(answer[answer.index(b"[") : answer.rindex(b"]") + 1])
    return said


def test_nothing_is_lost_to_a_receiver_that_gives_up(tmp_path: Path, upstream: Upstream) -> None:
    project = Project(tmp_path / "asgi", upstream)
    project.write(APP)
    with project.serving(*UVICORN, "--lifespan", "off", "--loop", "asyncio") as running:
        hasty, timed = _post(running.port, "/hasty"), _post(running.port, "/timed")
    assert sum(each for each in hasty if isinstance(each, int)) == 10, hasty
    assert sum(each[0] for each in timed if isinstance(each, list)) == 10, timed
    assert "timed out" in timed
    for run in project.requests():
        project.exact(run["run"])
