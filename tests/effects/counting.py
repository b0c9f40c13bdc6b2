"""A server on loopback that counts connections and datagrams, and says just enough to whoever calls.

What it is told tells it what to be: HTTP, mail, a websocket's handshake; to anything else it answers a line. It is a
process of its own, so that nothing of it stays behind and a program's own sockets are not counted.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import threading
from pathlib import Path
from socketserver import BaseRequestHandler, StreamRequestHandler, ThreadingTCPServer, ThreadingUDPServer

_KEY = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_lock = threading.Lock()
_seen: list[str] = []


class Counting:
    """The server, seen from a test."""

    def __init__(self) -> None:
        command = [sys.executable, str(Path(__file__))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def seen(self) -> list[str]:
        """What has reached it so far, one word each."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        found: list[str] = json.loads(self._line())
        return found

    def close(self) -> None:
        """End it."""
        self._process.communicate("")


def _count(what: str) -> None:
    with _lock:
        _seen.append(what)


class Talk(StreamRequestHandler):
    """One connection."""

    timeout = 5

    def handle(self) -> None:
        """Count it before a word is said, then answer what is asked."""
        with _lock:
            _seen.append("connection")
            at = len(_seen) - 1
        self.connection.settimeout(0.3)  # who waits to be greeted sends mail
        try:
            first = self.connection.recv(4096)
        except TimeoutError:
            first = b""
        self.connection.settimeout(self.timeout)
        what = self._answered(first)
        with _lock:
            _seen[at] = what

    def _answered(self, first: bytes) -> str:
        if not first:
            return self._mail()
        if b"Upgrade: websocket" in first:
            return self._websocket(first)
        if b"HTTP/1.1\r\n" in first:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            return "http"
        self.wfile.write(b"heard " + first)
        return first.decode("latin-1").split()[0]

    def _mail(self) -> str:
        self.wfile.write(b"220 here\r\n")
        for line in self.rfile:
            word = line.strip().upper()
            if word == b"DATA":
                self.wfile.write(b"354 go\r\n")
                while self.rfile.readline().strip() != b".":
                    pass
            self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 ok\r\n")
            if word == b"QUIT":
                return "mail"
        return "connection"

    def _websocket(self, asked: bytes) -> str:
        key = next(line.split(b": ")[1] for line in asked.split(b"\r\n") if line.startswith(b"Sec-WebSocket-Key"))
        accept = base64.b64encode(hashlib.sha1(key + _KEY).digest())
        lead = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        self.wfile.write(lead + b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        self.wfile.write(b"\x81\x02hi")
        self.rfile.read(2)
        return "websocket"


class Datagram(BaseRequestHandler):
    """One datagram."""

    def handle(self) -> None:
        """Count it."""
        _count("datagram")


def serve() -> None:
    """Listen on one port for both, say which, and tell what was seen for each line on standard input."""
    ThreadingTCPServer.daemon_threads = True
    with ThreadingTCPServer(("127.0.0.1", 0), Talk) as server:
        port = server.server_address[1]
        with ThreadingUDPServer(("127.0.0.1", port), Datagram) as datagrams:
            for each in (server, datagrams):
                threading.Thread(target=each.serve_forever, daemon=True).start()
            print(port, flush=True)
            for _ in sys.stdin:
                with _lock:
                    print(json.dumps(_seen), flush=True)


if __name__ == "__main__":
    serve()
