"""A small world on loopback whose every answer is a number nobody can guess: plain, streamed, slow, failing."""

from __future__ import annotations

import http.server
import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_random = random.SystemRandom()


def number() -> int:
    """Twelve digits."""
    return _random.randrange(10**11, 10**12)


class _World(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path.startswith("/stream"):
            self._stream()
        elif self.path.startswith("/busy") and _random.random() < 0.5:
            self._answer(429, b'{"half": ' + str(number()).encode())
        else:
            time.sleep(_random.random() * 0.004)
            self._answer(200, json.dumps({"path": self.path, "n": number()}).encode())

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers.get("content-length", 0)))
        time.sleep(_random.random() * 0.004)
        self._answer(200, json.dumps({"asked": len(asked), "n": number()}).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for _ in range(4):
            piece = f"data: {number()}\n\n".encode()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.flush()
            time.sleep(_random.random() * 0.002)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *args: object) -> None:
        """Quiet."""


@contextmanager
def world() -> Iterator[str]:
    """Serve for the length of a block; gives the address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _World)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
