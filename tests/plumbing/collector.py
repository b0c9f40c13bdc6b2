"""A world on loopback: collectors of several protocols, prompts to fetch, and a tool."""

from __future__ import annotations

import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Collectors(ThreadingHTTPServer):
    """A server on loopback.

    Attributes:
        asked: Method and path of every request.
        status: What collectors answer with.
        prompt: What is fetched.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.asked: list[str] = []
        self.status = 200
        self.prompt = "Be kind."
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def exports(self) -> list[str]:
        """What was asked beside reads."""
        return [each for each in self.asked if not each.startswith("GET ")]

    def stop(self) -> None:
        """Listen no more."""
        self.shutdown()
        self.server_close()


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Collectors

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """A read: every answer is another one, but for prompts."""
        if "prompts" in self.path:
            return self._answer(200, {"name": "main", "prompt": self.server.prompt})
        return self._answer(200, {"path": self.path, "value": uuid.uuid4().hex})

    def do_POST(self) -> None:
        """An export, or a question."""
        self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path == "/ask":
            return self._answer(200, {"value": uuid.uuid4().hex})
        return self._answer(self.server.status, {"partialSuccess": {}, "note": uuid.uuid4().hex})

    do_PUT = do_PATCH = do_POST

    def _answer(self, status: int, said: object) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
