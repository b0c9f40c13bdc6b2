"""Spans over the wire: one request of OTLP over HTTP, with what the server says of it. No library, no retry."""

from __future__ import annotations

import gzip
import http.client
import os
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from reenact.errors import UsageError
from reenact.interop.otlp.sent import Batch, as_protobuf

TIMEOUT_S: Final = 10.0
"""What OpenTelemetry's own exporters wait for a request."""
_GZIP_FROM: Final = 1024
_PATH: Final = "/v1/traces"
_MOST_SAID: Final = 200
_HEADERS: Final = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")


class Unsent(Exception):
    """Spans were not taken; the text says why, and ``again`` whether they may be offered once more."""

    def __init__(self, why: str, *, again: bool = False) -> None:
        super().__init__(why)
        self.again = again


@dataclass(frozen=True, slots=True)
class Target:
    """Where spans are sent.

    Attributes:
        secure: Over TLS.
        host, port, path: The address.
        headers: Further headers, credentials among them.
    """

    secure: bool
    host: str
    port: int
    path: str
    headers: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def target(endpoint: str, environ: Mapping[str, str] | None = None) -> Target:
    """Where an endpoint is: a base URL gets OTLP's path.

    Args:
        endpoint: ``http://localhost:4318``, with or without a path.
        environ: Where ``OTEL_EXPORTER_OTLP_HEADERS`` is read; None for the process's.

    Raises:
        UsageError: It is no address of HTTP.
    """
    try:
        parts = urlsplit(endpoint)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            f"{endpoint!r} is no endpoint that spans can be sent to",
            cause="it is written http://HOST:PORT or https://HOST; OTLP over HTTP has port 4318",
            next_command="reenact config",
        )
    path = parts.path.rstrip("/")
    secure = parts.scheme == "https"
    return Target(
        secure,
        parts.hostname,
        port or (443 if secure else 80),
        (path if path.endswith(_PATH) else path + _PATH) + (f"?{parts.query}" if parts.query else ""),
        headers_in(os.environ if environ is None else environ),
    )


def headers_in(environ: Mapping[str, str]) -> dict[str, str]:
    """The headers that OpenTelemetry's variables name: ``name=value,name=value``, percent-encoded."""
    text = next((environ[name] for name in _HEADERS if environ.get(name)), "")
    halves = (part.partition("=") for part in text.split(","))
    return {name.strip(): unquote(value.strip()) for name, equals, value in halves if equals and name.strip()}


def send(to: Target, batches: Iterable[Batch], timeout_s: float = TIMEOUT_S) -> None:
    """Send spans, and wait until they are taken.

    Raises:
        Unsent: Nobody took them, or not all of them.
    """
    body = as_protobuf(batches)
    headers = {**to.headers, "Content-Type": "application/x-protobuf", "User-Agent": "reenact"}
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
            connection.request("POST", to.path, body, headers)
            answer = connection.getresponse()
            said = answer.read(1 << 16)
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Unsent(f"{to} cannot be reached: {error or type(error).__name__}", again=True) from None
    if answer.status >= 300:
        text = said[:_MOST_SAID].decode("utf-8", "replace").strip()
        again = answer.status in (429, 502, 503, 504)
        raise Unsent(f"{to} answered {answer.status} {answer.reason} {text}".rstrip(), again=again)
    rejected, why = _rejected(said, answer.getheader("Content-Type") or "")
    if rejected:
        raise Unsent(f"{to} refused {rejected} spans: {why or 'it does not say why'}")


def _rejected(said: bytes, media: str) -> tuple[int, str]:
    """How many spans a server says it has refused, and why: ``ExportTraceServiceResponse.partial_success``."""
    if media.split(";", maxsplit=1)[0].strip() != "application/x-protobuf" or not said:
        return 0, ""
    partial = dict(_fields(said)).get(1, b"")
    if not isinstance(partial, bytes):
        return 0, ""
    found = dict(_fields(partial))
    count, why = found.get(1, 0), found.get(2, b"")
    return count if isinstance(count, int) else 0, why.decode("utf-8", "replace") if isinstance(why, bytes) else ""


def _fields(data: bytes) -> Iterable[tuple[int, int | bytes]]:
    """Fields of a message of numbers and of bytes; what else it has ends the reading."""
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
