"""A time-out around a live call of a fork takes as long as the program says, however long the start took."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.desk import Desk
from tests.programs import read_program


class SilentServer(ThreadingHTTPServer):
    """A server that answers its first request, and no other. Notes when each came, and how many seconds it lasted."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Silence)
        self.waits: list[tuple[float, float]] = []


class Silence(BaseHTTPRequestHandler):
    """Answers once, and then waits until the client closes the connection."""

    protocol_version = "HTTP/1.1"

    server: SilentServer

    def do_GET(self) -> None:
        """Answer, or do not."""
        came = time.monotonic()
        if not self.server.waits:
            self.send_response(204)
            self.end_headers()
            self.wfile.flush()
        self.connection.recv(1)
        self.server.waits.append((came, time.monotonic() - came))
        self.close_connection = True

    def log_message(self, *words: object) -> None:
        """Print nothing."""


@pytest.fixture
def world() -> Iterator[SilentServer]:
    """A server that answers once."""
    server = SilentServer()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_long_start_does_not_lengthen_a_time_out(tmp_path: Path, world: SilentServer) -> None:
    desk = Desk(tmp_path, {"WORLD": f"http://127.0.0.1:{world.server_port}"})
    (desk.folder / "agent.py").write_text(read_program("forks/time_out_after_a_long_start.py"))
    began = time.monotonic()
    assert desk.record(["python", "agent.py"]).out == b"in time\n"
    forked = desk.run("reenact", "fork", "@:0", "--live", "all")
    assert (forked.code, forked.out) == (0, b"it took too long\n"), forked
    (came, _), (_, lasted) = world.waits
    assert lasted < 1.0 + (came - began) / 2, "the start counted as a part of the wait"
