"""Exporters of every kind of client get an answer that they take for a success, recorded or not."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from .conftest import Bench

CLIENTS = {
    "requests": """
        import requests
        def export(body):
            answer = requests.post("WORLD/v1/traces", json=body, timeout=10)
            answer.raise_for_status()
            return answer.json()
    """,
    "httpx": """
        import httpx
        client = httpx.Client()
        def export(body):
            return client.post("WORLD/v1/traces", json=body).raise_for_status().json()
    """,
    "httpx, awaited": """
        import asyncio, httpx
        async def post(body):
            async with httpx.AsyncClient() as client:
                return (await client.post("WORLD/v1/traces", json=body)).raise_for_status().json()
        def export(body):
            return asyncio.run(post(body))
    """,
    "aiohttp": """
        import asyncio, aiohttp
        async def post(body):
            async with aiohttp.ClientSession() as client, client.post("WORLD/v1/traces", json=body) as answer:
                answer.raise_for_status()
                return await answer.json()
        def export(body):
            return asyncio.run(post(body))
    """,
    "http.client": """
        import http.client, json
        def export(body):
            connection = http.client.HTTPConnection("WORLD".removeprefix("http://"), timeout=10)
            connection.request("POST", "/v1/traces", json.dumps(body).encode())
            answer = connection.getresponse()
            assert answer.status == 200
            return json.loads(answer.read())
    """,
    "urllib, unread": """
        import json, urllib.request
        def export(body):
            with urllib.request.urlopen("WORLD/v1/traces", json.dumps(body).encode(), timeout=10) as answer:
                assert answer.status == 200
    """,
}
EXPORTS = """
import random
for _ in range(COUNT):
    export({"resourceSpans": [{"id": random.random()}]})
print("done")
"""


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_takes_the_answer(bench: Bench, client: str) -> None:
    """Two exports recorded, and four made: two are answered from the recording, two with a success."""
    program = CLIENTS[client].replace("\n        ", "\n") + EXPORTS
    bench.record(program.replace("COUNT", "2"))
    assert len(bench.world.exports()) == 2
    assert "verdict: same (exact)" in bench.replay()
    bench.write(program.replace("COUNT", "4"))
    last = bench.replay()
    assert "plumbing 4" in last
    assert "verdict: same" in last


SERVICE = "opentelemetry.proto.collector.trace.v1.TraceService"


class Collector:
    """A collector that speaks gRPC; it counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.workers = ThreadPoolExecutor(2)
        self.server = grpc.server(self.workers)
        self.server.add_generic_rpc_handlers((self,))
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def service(self, asked: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        """Any method takes bytes and gives an empty message."""
        self.asked.append(str(asked.method))
        return grpc.unary_unary_rpc_method_handler(lambda message, context: b"")


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector on loopback."""
    found = Collector()
    try:
        yield found
    finally:
        found.server.stop(None).wait()
        found.workers.shutdown()


RPC = """
import os, grpc
channel = grpc.insecure_channel("127.0.0.1:PORT")
export = channel.unary_unary("/SERVICE/Export")
for n in range(COUNT):
    assert export(b"\\x0a\\x06\\x12\\x04\\x12\\x02\\x0a\\x00", timeout=10) == b""
print("done")
"""


def test_rpcs_are_answered_too(bench: Bench, collector: Collector) -> None:
    """OTLP over gRPC: fewer and more exports."""
    program = RPC.replace("PORT", str(collector.port)).replace("SERVICE", SERVICE)
    bench.record(program.replace("COUNT", "2"))
    assert collector.asked == [f"/{SERVICE}/Export"] * 2
    assert "verdict: same (exact)" in bench.replay()
    for count in ("1", "5"):
        bench.write(program.replace("COUNT", count))
        last = bench.replay()
        assert f"plumbing {count}" in last
        assert "verdict: same" in last
    assert len(collector.asked) == 2
