"""A world that counts: a server process of its own, which keeps every payment that reached it, and under which key."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

asked: Counter[str] = Counter()
receipts: dict[str, int] = {}
lock = threading.Lock()


class Bank(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        if self.path == "/counts":
            self._answer({"asked": asked, "receipts": receipts})
        else:
            self._answer({"price": 7 * len(self.path)})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        key = f"{body['order']} {self.headers['idempotency-key']}"
        with lock:
            asked[key] += 1
            receipt = receipts.setdefault(key, len(receipts) + 1)
        time.sleep(0.02)  # a bank takes its time, so that a kill finds a payment under way
        self._answer({"receipt": receipt})

    def _answer(self, data: Any) -> None:
        body = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        time.sleep(0.02)  # so that a kill finds an answer of which only the head has come
        self.wfile.write(body)


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), Bank) as server:
        print(server.server_address[1], flush=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()  # it ends with whoever started it
