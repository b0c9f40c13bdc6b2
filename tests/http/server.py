"""A fake HTTP server over raw sockets on loopback: it can misbehave exactly as a test asks.

A route is a function from a request to the pieces of an answer: bytes to send as they are, or one of the controls
``RESET`` (reset the connection), ``HANG_UP`` (close it) and ``Wait`` (until the test says so). Every answer may hold a
number that is never given twice, so that an answer from the server is never mistaken for a recorded one.
"""

from __future__ import annotations

import itertools
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

RESET = object()
HANG_UP = object()


class Wait:
    """Hold the answer until ``go`` is set; the server gives up after ten seconds."""

    def __init__(self, go: threading.Event) -> None:
        self.go = go


@dataclass
class Request:
    """What arrived."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    number: int

    def header(self, name: str) -> str:
        """The first header of that name, or an empty string."""
        return next((value for key, value in self.headers if key.lower() == name), "")


Route = Callable[[Request], Iterable[Any]]


def answer(body: bytes, status: str = "200 OK", headers: Iterable[tuple[str, str]] = ()) -> list[bytes]:
    """A whole answer with a length."""
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers), f"Content-Length: {len(body)}"]
    return [("\r\n".join(lines) + "\r\n\r\n").encode() + body]


def as_json(data: Any, status: str = "200 OK", headers: Iterable[tuple[str, str]] = ()) -> list[bytes]:
    """A JSON answer."""
    return answer(json.dumps(data).encode(), status, [("Content-Type", "application/json"), *headers])


def chunked(
    pieces: Iterable[Any], headers: Iterable[tuple[str, str]] = (), *, end: bool = True, status: str = "200 OK"
) -> Iterable[Any]:
    """A chunked answer, one chunk a piece; without ``end`` the last chunk never comes."""
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers), "Transfer-Encoding: chunked"]
    yield ("\r\n".join(lines) + "\r\n\r\n").encode()
    for piece in pieces:
        yield b"%x\r\n%s\r\n" % (len(piece), piece) if isinstance(piece, bytes) else piece
    if end:
        yield b"0\r\n\r\n"


SSE = [("Content-Type", "text/event-stream; charset=utf-8")]


def torn(data: bytes, size: int) -> list[bytes]:
    """Cut bytes into pieces of ``size``, through code points and events alike."""
    return [data[at : at + size] for at in range(0, len(data), size)]


class Server:
    """Listens on a free port of loopback until closed."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.routes: dict[str, Route] = {}
        self.requests: list[Request] = []
        self.connections = 0
        self.refuse_uploads = False
        self._context = context
        self._numbers = itertools.count(1)
        self._open: set[socket.socket] = set()
        self._closed = False
        self._threads: list[threading.Thread] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.port}"
        self._thread(self._accept)

    def _thread(self, target: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def close(self) -> None:
        """Stop listening, cut every connection, and wait until nothing is served any more."""
        self._closed = True
        # A connect after this must be refused, also while the accepting thread still sits in accept().
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            self._thread(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        self._open.add(connection)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is not None:
                self._open.discard(connection)
                connection = self._context.wrap_socket(connection, server_side=True)
                self._open.add(connection)
            if self._closed:
                return
            reader = connection.makefile("rb")
            while self._exchange(connection, reader):
                pass
        except OSError:
            pass
        finally:
            self._open.discard(connection)
            connection.close()

    def _exchange(self, connection: socket.socket, reader: Any) -> bool:
        line = reader.readline()
        if not line:
            return False
        words = line.decode("latin-1").split(" ", 2)
        if len(words) < 3:
            return False
        method, target = words[:2]
        headers = []
        while (line := reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            headers.append((name, value.strip()))
        request = Request(method, target, headers, b"", next(self._numbers))
        if request.header("expect") and not self.refuse_uploads:
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not (request.header("expect") and self.refuse_uploads):
            request.body = self._body(request, reader)
        self.requests.append(request)
        route = self.routes.get(target.partition("?")[0]) or self.routes.get("*", _nothing)
        for piece in route(request):
            if piece is RESET:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
            if piece is HANG_UP:
                connection.shutdown(socket.SHUT_RDWR)
                return False
            if isinstance(piece, Wait):
                for _ in range(200):
                    if piece.go.wait(0.05) or self._closed:
                        break
                continue
            connection.sendall(piece.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if method == "HEAD" else piece)
        return True

    def _body(self, request: Request, reader: Any) -> bytes:
        if request.header("transfer-encoding") == "chunked":
            parts = []
            while size := int(reader.readline().strip() or b"0", 16):
                parts.append(reader.read(size))
                reader.readline()
            reader.readline()
            return b"".join(parts)
        body: bytes = reader.read(int(request.header("content-length") or 0))
        return body


def _nothing(request: Request) -> list[bytes]:
    return answer(b"no such route", "404 Not Found")


@dataclass
class Script:
    """A route that answers differently each time: the first answer first, the last one for ever."""

    answers: list[Route] = field(default_factory=list)
    at: int = 0

    def __call__(self, request: Request) -> Iterable[Any]:
        route = self.answers[min(self.at, len(self.answers) - 1)]
        self.at += 1
        return route(request)
