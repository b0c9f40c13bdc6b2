"""Spans and metrics over the wire: one request of OTLP over HTTP or gRPC, with the server's reply; no retry."""

from __future__ import annotations

import gzip
import http.client
import os
import ssl
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Final
from urllib.parse import unquote, urlsplit

from reenact.errors import UsageError
from reenact.facts.lazy_dataclass import dataclass
from reenact.interop.otlp.outgoing_span import Batch, as_protobuf

TIMEOUT_S: Final = 10.0
"""The time limit of a request, as in OpenTelemetry's own exporters."""
_SCHEMES: Final = {"http": (False, False), "https": (True, False), "grpc": (False, True), "grpcs": (True, True)}
"""For each scheme of an endpoint: whether it means TLS, and whether it means gRPC."""
_BUSY: Final = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED", "CANCELLED"})
_GZIP_FROM: Final = 1024
_MEDIA: Final = "application/x-protobuf"
_UNKNOWN: Final = frozenset({404, 405, 501, "UNIMPLEMENTED"})
"""The replies of a receiver that does not accept a signal at all."""
_MOST_SAID: Final = 200
_HEADERS: Final = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")


class Unsent(Exception):
    """Spans or measurements were not accepted; the text has the reason.

    ``again``: whether they may be sent once more. ``unknown``: whether the receiver accepts nothing of that sort."""

    def __init__(self, why: str, *, again: bool = False, unknown: bool = False) -> None:
        super().__init__(why)
        self.again = again
        self.unknown = unknown


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal: its path over HTTP, its method of gRPC, and its name."""

    path: str
    method: str
    name: str


SPANS: Final = Signal("/v1/traces", "/opentelemetry.proto.collector.trace.v1.TraceService/Export", "spans")
LOGS: Final = Signal("/v1/logs", "/opentelemetry.proto.collector.logs.v1.LogsService/Export", "records")
METRICS: Final = Signal("/v1/metrics", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", "metrics")


@dataclass(frozen=True, slots=True)
class Target:
    """The target of spans.

    Attributes:
        secure: Whether it is over TLS.
        host, port: The address.
        path: The beginning of the signals' paths.
        query: The query, with its question mark.
        headers: Further headers, credentials among them.
        rpc: Whether it is over gRPC, which has no path.
    """

    secure: bool
    host: str
    port: int
    path: str
    headers: Mapping[str, str]
    rpc: bool = False
    query: str = ""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def target(endpoint: str, environ: Mapping[str, str] | None = None) -> Target:
    """The target of an endpoint: a base URL gets OTLP's path.

    Args:
        endpoint: ``http://localhost:4318``, with or without a path; ``grpc://localhost:4317``; ``grpcs://`` is TLS.
        environ: The environment with ``OTEL_EXPORTER_OTLP_HEADERS``; None for the process's.

    Raises:
        UsageError: The endpoint is no address of either kind.
    """
    try:
        parts = urlsplit(endpoint)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in _SCHEMES or not parts.hostname:
        raise UsageError(
            f"{endpoint!r} is no endpoint that spans can be sent to",
            cause="it is http://HOST:4318 or https://HOST for HTTP, grpc://HOST:4317 or grpcs://HOST for gRPC",
            next_command="reenact config",
        )
    path = parts.path.rstrip("/").removesuffix(SPANS.path)
    secure, rpc = _SCHEMES[parts.scheme]
    if rpc:
        import_module("concurrent.futures.thread")  # grpc needs it, and cannot load it once the interpreter ends
    return Target(
        secure,
        parts.hostname,
        port or (443 if secure else 80),
        path,
        headers_in(os.environ if environ is None else environ),
        rpc,
        f"?{parts.query}" if parts.query else "",
    )


def headers_in(environ: Mapping[str, str]) -> dict[str, str]:
    """The headers that OpenTelemetry's variables name: ``name=value,name=value``, percent-encoded."""
    text = next((environ[name] for name in _HEADERS if environ.get(name)), "")
    halves = (part.partition("=") for part in text.split(","))
    return {name.strip(): unquote(value.strip()) for name, equals, value in halves if equals and name.strip()}


def send(to: Target, batches: Iterable[Batch], timeout_s: float = TIMEOUT_S) -> None:
    """Send spans, and wait until they are taken.

    Raises:
        Unsent: The receiver took none of them, or not all.
    """
    send_signal(to, SPANS, as_protobuf(batches), timeout_s)


def send_signal(to: Target, signal: Signal, body: bytes, timeout_s: float = TIMEOUT_S) -> None:
    """Send a request, and wait until it is accepted.

    Args:
        to: The target.
        signal: The signal.
        body: The protobuf.
        timeout_s: The time limit for the answer.

    Raises:
        Unsent: The request was not accepted, or not all of it.
    """
    if to.rpc:
        _called(to, signal, body, timeout_s)
        return
    headers = {**to.headers, "Content-Type": _MEDIA, "User-Agent": "reenact"}
    if len(body) >= _GZIP_FROM:
        body = gzip.compress(body, 1, mtime=0)
        headers["Content-Encoding"] = "gzip"
    try:
        if to.secure:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                to.host, to.port, timeout=timeout_s, context=ssl.create_default_context()
            )
        else:
            connection = http.client.HTTPConnection(to.host, to.port, timeout=timeout_s)
        try:
            connection.request("POST", to.path + signal.path + to.query, body, headers)
            answer = connection.getresponse()
            said = answer.read(1 << 16)
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Unsent(f"{to} cannot be reached: {error or type(error).__name__}", again=True) from None
    if answer.status >= 300:
        text = said[:_MOST_SAID].decode("utf-8", "replace").strip()
        again = answer.status in (429, 502, 503, 504)
        unknown = answer.status in _UNKNOWN
        raise Unsent(f"{to} answered {answer.status} {answer.reason} {text}".rstrip(), again=again, unknown=unknown)
    _check(to, signal, said, answer.getheader("Content-Type") or "")


def _check(to: Target, signal: Signal, said: bytes, media: str) -> None:
    rejected, why = _rejected(said, media)
    if rejected:
        raise Unsent(f"{to} refused {rejected} {signal.name}: {why or 'it does not say why'}")


def _called(to: Target, signal: Signal, body: bytes, timeout_s: float) -> None:
    """Send a request over gRPC."""
    try:
        grpc = import_module("grpc")
    except ImportError:
        raise Unsent(f"{to} is gRPC, which needs pip install 'reenact[otel]'") from None
    channel = (
        grpc.secure_channel(str(to), grpc.ssl_channel_credentials()) if to.secure else grpc.insecure_channel(str(to))
    )
    try:
        metadata = [(name.lower(), value) for name, value in to.headers.items()]
        said: bytes = channel.unary_unary(signal.method)(body, timeout=timeout_s, metadata=metadata)
    except grpc.RpcError as error:
        code = error.code().name
        why = f"{to} answered {code}: {error.details()}"[:_MOST_SAID]
        raise Unsent(why, again=code in _BUSY, unknown=code in _UNKNOWN) from None
    finally:
        channel.close()
    _check(to, signal, said, _MEDIA)


def _rejected(said: bytes, media: str) -> tuple[int, str]:
    """The number of items that a server has refused, and the reason: the ``partial_success`` of its response."""
    if media.split(";", maxsplit=1)[0].strip() != _MEDIA or not said:
        return 0, ""
    partial = dict(_fields(said)).get(1, b"")
    if not isinstance(partial, bytes):
        return 0, ""
    found = dict(_fields(partial))
    count, why = found.get(1, 0), found.get(2, b"")
    return count if isinstance(count, int) else 0, why.decode("utf-8", "replace") if isinstance(why, bytes) else ""


def _fields(data: bytes) -> Iterable[tuple[int, int | bytes]]:
    """The number and byte fields of a message; another kind of field ends the reading."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        value, at = _varint(data, at)
        if tag & 7 == 0:
            yield tag >> 3, value
        elif tag & 7 == 2:
            yield tag >> 3, data[at : at + value]
            at += value
        else:
            return


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    return value, at
