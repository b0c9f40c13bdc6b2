"""The HTTP/1.1 server of the scripted provider: takes requests on loopback, and sends what it is told to."""

from __future__ import annotations

import socket
import threading
import traceback
from collections.abc import Callable, Mapping
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from reenact.facts.answers.wire_formats import encoded
from reenact.facts.call import Json
from reenact.testing.provider.provider_decisions import HttpRequest, failed
from reenact.testing.provider.provider_wire import ConnectionCut, reset_connection, sent
from reenact.testing.provider.script import CONTROL, SERVER, Fault, Reply, server_error


class ProviderServer(ThreadingHTTPServer):
    """Listens on 127.0.0.1 from its construction on; ``serve_forever`` answers.

    Args:
        port: The port; 0 for a free one.
        arrived: Counts a request for a target: its number at its path, the day, the fault that is planned for it.
        answer: Answers a request with such a fault, with a fault on the way.
        control: Answers a request to the world's own endpoint.
        refuse: Closes the door for good.
        wall_us: The time, in microseconds since the epoch.
    """

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256
    block_on_close = False

    def __init__(
        self,
        port: int,
        *,
        arrived: Callable[[str], tuple[int, int, Fault | None]],
        answer: Callable[[HttpRequest, Fault | None], tuple[Reply, Fault | None]],
        control: Callable[[str, bytes], Json],
        refuse: Callable[[], None],
        wall_us: Callable[[], int],
    ) -> None:
        self.arrived, self.answer, self.control = arrived, answer, control
        self.refuse, self.wall_us = refuse, wall_us
        self.ending = threading.Event()
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

    def end(self) -> None:
        """Close the door and every connection."""
        self.ending.set()
        self.shutdown()
        self.server_close()
        with self._lock:
            connections, self._connections = self._connections, set()
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the client has closed it already

    def server_bind(self) -> None:
        """Bind without asking the resolver for a host name, as the standard server does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection, so that it can be ended with the server."""
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection and close it."""
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that hang up: tests make them do that."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_version = SERVER
    sys_version = ""
    server: ProviderServer

    def do_GET(self) -> None:
        """Answer a GET."""
        self._serve()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815  # the standard library's names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the standard library's name
        """Log nothing."""

    def _serve(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self._body(headers)
        fault: Fault | None = None
        if self.path.startswith(CONTROL):
            reply = Reply(
                headers=(("content-type", "application/json"),), body=encoded(self.server.control(self.command, body))
            )
        else:
            call, day, planned = self.server.arrived(self.path)
            reply, fault = self._answer(HttpRequest(self.command, self.path, headers, body, call, day), planned)
        if fault is not None and fault.kind in {"silent", "refused"}:
            self._hang_up(fault)
            return
        try:
            sent(
                reply,
                fault,
                send=self.connection.sendall,
                keep=not self.close_connection,
                gzip="gzip" in headers.get("accept-encoding", ""),
                date=formatdate(self.server.wall_us() / 1_000_000, usegmt=True),
                pause=self.server.ending.wait,
            )
        except (ConnectionCut, OSError):
            self._hang_up(fault)

    def _answer(self, request: HttpRequest, planned: Fault | None) -> tuple[Reply, Fault | None]:
        try:
            return self.server.answer(request, planned)
        except Exception:
            traceback.print_exc()  # a mistake in the script: show it to its author, and give the client an answer
            return failed(request, server_error()), None

    def _hang_up(self, fault: Fault | None) -> None:
        self.close_connection = True
        if fault is not None and fault.kind == "refused":
            self.server.refuse()
        elif fault is not None and fault.kind == "reset":
            reset_connection(self.connection)
            # A shutdown would send an orderly end first: close at once, and the socket's own settings send the reset.
            self.rfile.close()
            self.connection.close()

    def _body(self, headers: Mapping[str, str]) -> bytes:
        if "chunked" not in headers.get("transfer-encoding", ""):
            return self.rfile.read(int(headers.get("content-length") or 0))
        parts: list[bytes] = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass  # trailers
        return b"".join(parts)
