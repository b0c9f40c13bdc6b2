"""Sends an answer over an HTTP/1.1 connection, whole or broken on purpose."""

from __future__ import annotations

import socket
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus

from reenact.testing.provider.script import SERVER, Fault, Reply

_WORTH_COMPRESSING = 256
_BROKEN_PIECE = 16
_RESET_AT_CLOSE = struct.pack("ii", 1, 0)


class ConnectionCut(Exception):
    """The connection was ended in the middle of an answer, on purpose."""


def sent(
    reply: Reply,
    fault: Fault | None,
    *,
    send: Callable[[bytes], object],
    keep: bool,
    gzip: bool,
    date: str,
    pause: Callable[[float], object],
) -> None:
    """Send an answer.

    Args:
        reply: The answer.
        fault: The fault on the way: ``reset``, ``truncated`` or ``slow``; others are for the caller.
        send: Sends bytes, all of them.
        keep: Whether the connection stays open afterwards.
        gzip: Whether the client accepts gzip.
        date: The ``Date`` header.
        pause: Waits for a number of seconds.

    Raises:
        Broken: The answer was broken off; the caller ends the connection.
    """
    pause_s = fault.pause_s if fault is not None and fault.kind == "slow" else 0.0
    limit = fault.after if fault is not None and fault.kind in {"reset", "truncated"} else None
    squeezed = gzip and (reply.frames is not None or len(reply.body) >= _WORTH_COMPRESSING)
    if reply.frames is None:
        body = _gzip(reply.body) if squeezed else reply.body
        framing, parts = (("content-length", str(len(body))),), _parts(body, fault)
    else:
        framing, parts = (("transfer-encoding", "chunked"),), _chunks(reply.frames, squeezed)
    own = (
        ("date", date),
        ("server", SERVER),
        ("x-reenact-scripted", "1"),
        ("connection", "keep-alive" if keep else "close"),
    )
    coding = (("content-encoding", "gzip"), ("vary", "accept-encoding")) if squeezed else ()
    lines = [f"HTTP/1.1 {reply.status} {_reason(reply.status)}"]
    lines += [f"{name}: {value}" for name, value in (*own, *reply.headers, *coding, *framing)]
    start = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
    if reply.frames is None and fault is None:
        send(start + body)
        return
    send(start)
    for number, part in enumerate(parts):
        if limit is not None and number >= limit:
            raise ConnectionCut
        if pause_s:
            pause(pause_s)
        send(part)
    if limit is not None:
        raise ConnectionCut  # the answer is shorter than the break: end it before the last chunk's mark


def reset_connection(connection: socket.socket) -> None:
    """End a connection by a TCP reset: closing it sends RST, and unsent bytes are dropped."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)


def _parts(body: bytes, fault: Fault | None) -> Iterator[bytes]:
    if fault is None:
        yield body
        return
    for at in range(0, len(body), _BROKEN_PIECE):
        yield body[at : at + _BROKEN_PIECE]


def _chunks(frames: Iterable[bytes], squeezed: bool) -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=31) if squeezed else None
    for frame in frames:
        data = frame if packer is None else packer.compress(frame) + packer.flush(zlib.Z_SYNC_FLUSH)
        if data:
            yield _chunk(data)
    tail = b"" if packer is None else packer.flush()
    yield (_chunk(tail) if tail else b"") + b"0\r\n\r\n"


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _gzip(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=31)
    return packer.compress(body) + packer.flush()


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Scripted"
