"""Errors of HTTP clients that leave a frozen tool come back as themselves: class, text, response and its body."""

from __future__ import annotations

import asyncio
import http.server
import threading
from collections.abc import Iterator
from typing import Any

import aiohttp
import httpx
import httpx2
import openai
import pytest
import requests

import reenact


class _NotFound(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"error":"no such order"}'
        self.send_response(404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def address() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _NotFound)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def _agent(address: str) -> Any:
    @reenact.tool(effect="read")
    def by_requests() -> None:
        requests.get(f"{address}/a", timeout=5).raise_for_status()

    @reenact.tool(effect="read")
    def by_httpx() -> None:
        httpx.get(f"{address}/b").raise_for_status()

    @reenact.tool(effect="read")
    def by_httpx2() -> None:
        httpx2.get(f"{address}/c").raise_for_status()

    @reenact.tool(effect="read")
    def by_openai() -> None:
        client = openai.OpenAI(base_url=address, api_key="k", max_retries=0)
        client.chat.completions.create(model="m", messages=[])

    @reenact.tool(effect="read")
    def refused() -> None:
        client = openai.OpenAI(base_url="http://127.0.0.1:1", api_key="k", max_retries=0)
        client.chat.completions.create(model="m", messages=[])

    @reenact.tool(effect="read")
    async def by_aiohttp() -> None:
        async with aiohttp.ClientSession(raise_for_status=True) as session, session.get(f"{address}/d"):
            pass

    def main() -> list[tuple[Any, ...]]:
        seen = []
        for call in (by_requests, by_httpx, by_httpx2, by_openai, refused, lambda: asyncio.run(by_aiohttp())):
            try:
                call()
            except Exception as error:
                response = getattr(error, "response", None)
                seen.append(
                    (
                        type(error),
                        str(error),
                        getattr(response, "status_code", None),
                        getattr(response, "text", None),
                        repr(error.__cause__),
                    )
                )
        return seen

    return main


def test_every_error_comes_back_as_itself(address: str) -> None:
    main = _agent(address)
    store = reenact.open_store("memory:errors-of-tools")
    recorded = reenact.record(agent="errors", store=store)(main)()
    assert [kind.__name__ for kind, *_ in recorded] == [
        "HTTPError",
        "HTTPStatusError",
        "HTTPStatusError",
        "NotFoundError",
        "APIConnectionError",
        "ClientResponseError",
    ]
    replayed = reenact.replay("@", entry=main, store=store)
    assert replayed.output == recorded
