"""A small world on loopback whose every answer is a number nobody can guess: plain, streamed, slow, failing."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.http.server import SSE, Request, Server, answer, as_json, chunked

_random = random.SystemRandom()


def number() -> int:
    """Twelve digits."""
    return _random.randrange(10**11, 10**12)


def _answered(request: Request) -> Iterable[Any]:
    if request.target.startswith("/stream"):
        return chunked(_events(), SSE)
    if request.target.startswith("/busy") and _random.random() < 0.5:
        return answer(b'{"half": ' + str(number()).encode(), "429 Too Many Requests")
    time.sleep(_random.random() * 0.004)
    asked = {"asked": len(request.body)} if request.method == "POST" else {"path": request.target}
    return as_json({**asked, "n": number()})


def _events() -> Iterator[bytes]:
    for _ in range(4):
        yield f"data: {number()}\n\n".encode()
        time.sleep(_random.random() * 0.002)


@contextmanager
def world() -> Iterator[str]:
    """Serve for the length of a block; gives the address."""
    server = Server()
    server.routes["*"] = _answered
    try:
        yield server.url
    finally:
        server.close()
