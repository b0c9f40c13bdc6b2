"""OTLP over sockets: HTTP with protobuf or JSON, and gRPC where its package is installed.

The answer is sent when the spans are in the store. A request is held in memory as a whole, so only few large ones are
read at a time.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any, Final

from reenact.errors import ReenactError, UsageError
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex
from reenact.interop.otlp.intake import (
    JSON,
    LARGEST,
    PATHS,
    PROTOBUF,
    Unfit,
    accepted,
    lines_of,
    refusal,
    too_large,
    unpacked,
)
from reenact.interop.otlp.span_receiver import Receiver, ReceiveResult, reason

Scrape = Callable[[], bytes]
"""Makes the page of metrics."""
OnReceive = Callable[[ReceiveResult, int], None]
"""Called for each accepted request, with its result and the number of its spans."""

METRICS_PATH: Final = "/metrics"
METRICS_MEDIA: Final = "text/plain; version=0.0.4; charset=utf-8"
"""The content type of Prometheus' text format."""
_PLAIN: Final = "text/plain; charset=utf-8"
_SMALL: Final = 1 << 20
_PASSED_OVER: Final = 256 << 20
_LINE: Final = 4096
_LENGTH: Final = lazy_regex(rb"[0-9a-fA-F]{1,8}")
"""The length of a piece of a body."""
"""Bytes of a refused request that are read and thrown away, at most."""
_UNKNOWN: Final = 401
_PATIENCE_S: Final = 30.0
_GRACE_S: Final = 5.0
_SERVICES: Final = {
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export": "resourceSpans",
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export": "resourceLogs",
}
_WORKERS: Final = 8


@dataclass(frozen=True, slots=True)
class Address:
    """An address to listen on; port 0 is any free one."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class SpanListener:
    """An active listener.

    Attributes:
        url: The URL.
        close: Accepts no more requests, answers those that have come, and ends.
    """

    url: str
    close: Callable[[], None]


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Desk:
    """The rules that both protocols share: the permission, the limits, and the handling of a request."""

    def __init__(self, receiver: Receiver, token: str, told: OnReceive, scrape: Scrape | None = None) -> None:
        self._receiver = receiver
        self._token = token
        self._told = told
        self._scrape = scrape
        self._large = threading.BoundedSemaphore(1)

    def admits(self, shown: str) -> bool:
        """Whether a sender has shown the token, if one is wanted."""
        return not self._token or hmac.compare_digest(shown.encode(), f"Bearer {self._token}".encode())

    @contextmanager
    def room_for(self, size: int) -> Iterator[None]:
        """Hold a request of this size while the block runs: one large request at a time."""
        if size <= _SMALL:
            yield
            return
        with self._large:
            yield

    def take(self, body: bytes, media: str, field: str) -> ReceiveResult:
        """Keep a request.

        Raises:
            Unfit: The request is refused; nothing of it was kept.
        """
        try:
            lines = lines_of(body, media, field)
            received = self._receiver.take(lines)
        except ReenactError as error:
            raise Unfit(503, "UNAVAILABLE", reason(error)) from None
        self._told(received, sum(count for _, count in received.runs))
        return received

    def scraped(self) -> bytes:
        """The page of metrics.

        Raises:
            Unfit: There is no page, or the store cannot be read.
        """
        if self._scrape is None:
            raise Unfit(404, "UNIMPLEMENTED", "there are no metrics here")
        try:
            return self._scrape()
        except ReenactError as error:
            raise Unfit(503, "UNAVAILABLE", reason(error)) from None


def listen(
    address: Address, receiver: Receiver, token: str, told: OnReceive, scrape: Scrape | None = None
) -> SpanListener:
    """Accept requests over HTTP, each in a thread of its own.

    Args:
        address: The address.
        receiver: Keeps the spans of the requests.
        token: The token that senders must show; empty where none is required.
        told: Called with each result.
        scrape: Makes the page for Prometheus; None: there is no page.

    Raises:
        UsageError: Nothing can listen there.
    """
    desk = _Desk(receiver, token, told, scrape)
    made = type("Handler", (_Handler,), {"desk": desk})
    kind = type("Server", (_Server,), {"address_family": _family(address.host)})
    try:
        server = kind((address.host, address.port), made)
    except OSError as error:
        raise UsageError(
            f"nothing can listen on {address.host}:{address.port}: {error.strerror}",
            cause="another program has the port, or the address is not this machine's",
            next_command="reenact serve --bind 127.0.0.1:0",
        ) from None
    thread = threading.Thread(target=server.serve_forever, name="reenact-otlp", daemon=True)
    thread.start()

    def close() -> None:
        server.shutdown()
        server.leave()
        server.server_close()  # waits until the last requests are answered

    return SpanListener(f"http://{_shown(address.host)}:{server.server_address[1]}", close)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = 128

    def __init__(self, *args: Any) -> None:
        self.handlers: set[_Handler] = set()
        self.leaving = False
        super().__init__(*args)

    def leave(self) -> None:
        """End the connections that wait for a further request, as those of a Collector do for minutes. Requests that
        have come are answered."""
        self.leaving = True
        for each in list(self.handlers):
            if not each.busy:
                each.ask_no_more()


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _unshown() -> Unfit:
    return Unfit(401, "UNAUTHENTICATED", "show the token: authorization: Bearer …")


def _cut_off() -> Unfit:
    return Unfit(400, "INVALID_ARGUMENT", "the body is cut off")


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    desk: _Desk
    server: _Server
    busy = False
    """Whether a request is being answered."""
    _left = 0
    """Bytes of the request that have yet to be read."""
    protocol_version = "HTTP/1.1"
    server_version = "reenact"
    sys_version = ""
    timeout = _PATIENCE_S

    def setup(self) -> None:
        """Begin a connection."""
        super().setup()
        self.server.handlers.add(self)
        if self.server.leaving:
            self.ask_no_more()

    def finish(self) -> None:
        """End the connection."""
        self.server.handlers.discard(self)
        super().finish()

    def ask_no_more(self) -> None:
        """Read only the data that has come already."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RD)

    def handle_one_request(self) -> None:
        """Handle the next request. The connection ends after it if the listener ends."""
        super().handle_one_request()
        self.busy = False
        self.close_connection = self.close_connection or self.server.leaving

    def parse_request(self) -> bool:
        """Note that a request has begun to come, and read its head."""
        self.busy = True
        return super().parse_request()

    def do_POST(self) -> None:
        """Take one request of spans or log records."""
        media = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        answer = media if media in (JSON, PROTOBUF) else JSON
        try:
            body = self._take(media)
        except Unfit as error:
            self.close_connection = True
            self._answer(error.status, answer, refusal(answer, str(error)))
            self._pass_over()
        except OSError:  # the sender is gone, or says nothing more
            self.close_connection = True
        else:
            self._answer(200, answer, body)

    def _pass_over(self) -> None:
        """Read the rest of a refused request, within limits: a sender whose connection is cut gets no answer."""
        left = min(self._left, _PASSED_OVER)
        with suppress(OSError):
            while left > 0 and (data := self.rfile.read(min(left, _SMALL))):
                left -= len(data)

    def do_GET(self) -> None:
        """Give the page of metrics to Prometheus, and a hint to a browser."""
        if self.path.partition("?")[0] != METRICS_PATH:
            said = f"reenact takes OTLP here: POST {', '.join(PATHS)}; metrics: GET {METRICS_PATH}\n"
            self._answer(200, _PLAIN, said.encode())
            return
        try:
            if not self.desk.admits(self.headers.get("authorization", "")):
                raise _unshown()
            self._answer(200, METRICS_MEDIA, self.desk.scraped())
        except Unfit as error:
            self._answer(error.status, _PLAIN, f"{error}\n".encode("utf-8", "replace"))

    def _take(self, media: str) -> bytes:
        length = self.headers.get("content-length", "")
        self._left = int(length) if length.isdigit() else 0
        field = PATHS.get(self.path.partition("?")[0])
        if field is None:
            raise Unfit(404, "UNIMPLEMENTED", f"only {' and '.join(PATHS)} are taken here")
        if not self.desk.admits(self.headers.get("authorization", "")):
            raise _unshown()
        in_pieces = self.headers.get("transfer-encoding", "").strip().lower() == "chunked"
        if not length.isdigit() and not in_pieces:
            raise Unfit(411, "INVALID_ARGUMENT", "say the length of the body: content-length")
        if self._left > LARGEST and not in_pieces:
            raise too_large()
        encoding = self.headers.get("content-encoding", "")
        with self.desk.room_for(LARGEST if encoding or in_pieces else self._left):
            body = self._in_pieces() if in_pieces else self._whole()
            received = self.desk.take(unpacked(body, encoding), media, field)
        return accepted(media, field, received.rejected, received.why)

    def _whole(self) -> bytes:
        """A body of a known length."""
        length, self._left = self._left, 0
        body = self.rfile.read(length)
        if len(body) < length:
            raise _cut_off()
        return body

    def _in_pieces(self) -> bytes:
        """A body in pieces, whose length its sender does not know at first, as in Node's exporter with gzip."""
        self._left = 0
        kept, seen = bytearray(), 0
        while left := self._length_of_piece():
            seen += left
            if seen > _PASSED_OVER:
                raise too_large()
            while left > 0:
                data = self.rfile.read(min(left, _SMALL))
                if not data:
                    raise _cut_off()
                left -= len(data)
                if len(kept) <= LARGEST:  # the rest is read too, so that the sender gets the refusal
                    kept += data
            self.rfile.readline(_LINE)
        while self.rfile.readline(_LINE).strip() and seen < _PASSED_OVER:  # header fields after the body are ignored
            seen += _LINE
        if len(kept) > LARGEST:
            raise too_large()
        return bytes(kept)

    def _length_of_piece(self) -> int:
        said = self.rfile.readline(_LINE).partition(b";")[0].strip()
        if not _LENGTH.fullmatch(said):
            raise _cut_off()
        return int(said, 16)

    def _answer(self, status: int, media: str, body: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", media)
            self.send_header("Content-Length", str(len(body)))
            if status == _UNKNOWN:
                self.send_header("WWW-Authenticate", "Bearer")
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()
        except OSError:
            self.close_connection = True

    def log_message(self, *args: Any) -> None:
        """Log nothing here: each request is logged elsewhere, in one line."""


def listen_rpc(address: Address, receiver: Receiver, token: str, told: OnReceive) -> tuple[SpanListener | None, str]:
    """Accept requests over gRPC.

    Args:
        address, receiver, token, told: See ``listen``.

    Returns:
        The listener; or None and the reason: the package is not installed, or the port is taken.
    """
    try:
        grpc: Any = import_module("grpc")
    except ImportError:
        return None, "grpcio is not installed: pip install 'reenact[otel]'"
    desk = _Desk(receiver, token, told)
    size = ("grpc.max_receive_message_length", LARGEST)
    server = grpc.server(ThreadPoolExecutor(_WORKERS), options=[size, ("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers([_router(grpc, desk)])
    try:
        port = server.add_insecure_port(f"{_shown(address.host)}:{address.port}")
    except RuntimeError:
        port = 0
    if not port:
        return None, f"nothing can listen on {address.host}:{address.port}: another program has the port"
    server.start()
    return SpanListener(f"grpc://{_shown(address.host)}:{port}", lambda: server.stop(_GRACE_S).wait()), ""


def _router(grpc: Any, desk: _Desk) -> Any:
    """The object that finds the method for a request."""

    def answer(field: str) -> Callable[[bytes, Any], bytes]:
        def export(body: bytes, context: Any) -> bytes:
            try:
                if not desk.admits(dict(context.invocation_metadata()).get("authorization", "")):
                    raise _unshown()
                with desk.room_for(len(body)):
                    received = desk.take(body, PROTOBUF, field)
            except Unfit as error:
                context.abort(grpc.StatusCode[error.code], str(error))
                raise
            return accepted(PROTOBUF, field, received.rejected, received.why)

        return export

    def service(details: Any) -> Any:
        field = _SERVICES.get(details.method)
        return None if field is None else grpc.unary_unary_rpc_method_handler(answer(field))

    return type("Router", (grpc.GenericRpcHandler,), {"service": lambda _self, details: service(details)})()
