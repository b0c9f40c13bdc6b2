"""A world on loopback, in a process of its own, that keeps the body of every write that reached it.

``GET /seen`` tells them; it ends when its standard input does. A write whose words end in ``hold at N`` is kept, and
the one with the number N is never answered: whoever made it can be killed in the middle of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Counting:
    """The server, seen from a test.

    Args:
        url: Where it is.
    """

    def __init__(self, url: str) -> None:
        self.url = url

    def seen(self) -> list[Any]:
        """Every write so far, in the order of their coming."""
        with urllib.request.urlopen(f"{self.url}/seen", timeout=10) as answer:
            found: list[Any] = json.load(answer)
        return found


@contextmanager
def counting() -> Iterator[Counting]:
    """Serve for the length of a block."""
    command = [sys.executable, str(Path(__file__))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield Counting(server.stdout.readline().strip())
        server.stdin.close()


_seen: list[Any] = []


class _Tally(BaseHTTPRequestHandler):
    """Counts each write before it answers."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Keep it, then say the how-manieth it is."""
        told = json.loads(self.rfile.read(int(self.headers["content-length"])))
        _seen.append(told)
        if isinstance(told, dict) and told["words"].endswith(f"hold at {told['number']}"):
            threading.Event().wait()
        self._answer({"number": len(_seen)})

    def do_GET(self) -> None:
        """What has been seen; or a read, which counts for nothing."""
        self._answer(list(_seen) if self.path == "/seen" else {"asked": self.path})

    def _answer(self, data: Any) -> None:
        body = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Quiet."""


def main() -> None:
    """Serve until standard input ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Tally)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
