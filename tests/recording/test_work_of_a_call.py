"""A recorded call adds so many function calls to the agent's thread, on any machine; `make bench` measures the time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import pytest

import reenact
from tests.lock_order import unwatched

ROUNDS = 20
ASKED = {"model": "m", "messages": [{"role": "user", "content": "where is my order? " * 100}]}


@pytest.fixture(autouse=True)
def plain_locks() -> Iterator[None]:
    """Locks that know their order would be counted too."""
    with unwatched():
        yield


class Body(httpx.SyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        yield b"x" * 1000


class Near(httpx.BaseTransport):
    """Answers without a socket, as a stream."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "application/json"}, stream=Body())


def functions_called(act: Callable[[], object]) -> float:
    """How many functions run for one round of ``act``, those of C included."""
    called = 0

    def seen(_frame: FrameType, event: str, _of: Any) -> None:
        nonlocal called
        called += event in ("call", "c_call")

    for _ in range(5):
        act()
    sys.setprofile(seen)
    try:
        for _ in range(ROUNDS):
            act()
    finally:
        sys.setprofile(None)
    return called / ROUNDS


@pytest.mark.parametrize(
    ("method", "path", "asked", "most"),
    [("GET", "/orders", None, 390), ("POST", "/v1/chat/completions", ASKED, 435)],
    ids=["read", "model call"],
)
def test_a_recorded_stream(tmp_path: Path, method: str, path: str, asked: Any, most: int) -> None:
    with httpx.Client(transport=Near()) as client:

        def call() -> bytes:
            return client.request(method, f"http://127.0.0.1:9{path}", json=asked).content

        bare = functions_called(call)
        with reenact.record(agent="counted", store=f"sqlite:///{tmp_path}/runs.db"):
            for _ in range(70):  # nothing is prepared any more
                call()
            recorded = functions_called(call)
    assert 100 < recorded - bare <= most
