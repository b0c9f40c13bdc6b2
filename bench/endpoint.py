"""A small local server that speaks enough of a chat API to measure against.

``python -m bench.endpoint`` prints its port. ``POST /v1/chat/completions`` answers 1 KB of JSON, streamed when the
body asks for it (``/slow`` in the path: 5 ms between chunks); ``GET`` stands for a read, ``POST /orders`` for a write.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WORDS = "the parcel left our warehouse and should arrive within three working days of the order " * 10
ORDER = json.dumps({"order": 4421, "status": "shipped", "text": WORDS[:900]}).encode()
CHUNKS = 40


def answer(text: str) -> dict[str, Any]:
    """A chat completion with one message."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 700, "completion_tokens": 200, "total_tokens": 900},
    }


class Handler(BaseHTTPRequestHandler):
    """One connection, kept alive."""

    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        """Answer at once, without waiting to fill a packet."""
        super().setup()
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_GET(self) -> None:
        """Answer one read."""
        self.answer(ORDER)

    def do_POST(self) -> None:
        """Answer one request."""
        asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if asked.get("stream"):
            self.stream(0.005 if "/slow" in self.path else 0.0)
            return
        self.answer(json.dumps(answer(WORDS[:800])).encode())

    def answer(self, body: bytes) -> None:
        """One JSON answer."""
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self.wfile.write(head.encode() + body)

    def stream(self, pause: float) -> None:
        """Forty chunks of server-sent events."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for number in range(CHUNKS):
            delta = {"choices": [{"index": 0, "delta": {"content": f"word{number} "}, "finish_reason": None}]}
            self.chunk(b"data: " + json.dumps(delta).encode() + b"\n\n")
            time.sleep(pause)
        self.chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def chunk(self, data: bytes) -> None:
        """One chunk on the wire."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Say nothing."""


def main() -> None:
    """Serve on a free port until ended."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
