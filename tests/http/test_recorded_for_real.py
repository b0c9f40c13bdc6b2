"""Proves, through the public functions, that programs on every client replay exactly: answers, order, no contact."""

from __future__ import annotations

import asyncio
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import aiohttp
import anthropic
import boto3
import httpx
import httpx2
import openai
import pytest
import requests

import reenact
from reenact.facts.call import Kind
from reenact.facts.http_transports import transport_of

from .server import Server, Wait, as_json, chunked
from .test_sdks import (
    ask_anthropic_async,
    ask_openai,
    ask_openai_async,
    by_stream,
    completion,
    completion_events,
    message,
    message_events,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Any]:
    """A store of its own, on disk."""
    with reenact.open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


def uneven(request: Any) -> Iterator[Any]:
    """Pieces that come at times of their own, so that who is first differs from run to run."""
    for piece in chunked([b"%s " % request.target.encode(), *(b"%d," % n for n in range(4)), b"%d" % request.number]):
        time.sleep(hash(request.target) % 5 / 1000)
        yield piece


def proven(agent: Any, server: Server, store: Any) -> Any:
    """Record a run of ``agent``, take the server away, replay it here."""
    recorded = reenact.record(agent, store=store)
    live = recorded(server.url)
    server.close()
    [run] = store.runs()
    assert not run.degraded
    exchanges = [event.call for event in store.open(run).events() if event.call.kind is Kind.HTTP]
    assert exchanges and all(map(transport_of, exchanges))
    replayed = reenact.replay(run, entry=agent, store=store)
    assert replayed.divergence is None and replayed.live_calls == 0 and replayed.unused == 0
    assert replayed.output == live
    return live


async def race(url: str) -> list[Any]:
    """Three clients, many streams at once, and one list that says who was first; then three ways to lose patience."""
    seen: list[Any] = []
    async with httpx2.AsyncClient() as one, httpx.AsyncClient() as two, aiohttp.ClientSession() as three:

        async def first(n: int) -> None:
            async with one.stream("GET", f"{url}/a{n}") as response:
                async for part in response.aiter_raw():
                    seen.append((n, part))

        async def second(n: int) -> None:
            seen.append((n, (await two.get(f"{url}/b{n}")).content))

        async def third(n: int) -> None:
            async with three.get(f"{url}/c{n}") as response:
                async for part in response.content.iter_any():
                    seen.append((n, part))

        await asyncio.gather(*(client(n) for n in range(4) for client in (first, second, third)))
        for patience in (aiohttp.ClientTimeout(total=0.1), aiohttp.ClientTimeout(sock_read=0.1)):
            try:
                await three.get(url + "/hang", timeout=patience)
            except TimeoutError as error:
                seen.append(type(error).__name__)
        try:
            await asyncio.wait_for(one.get(url + "/hang"), 0.1)
        except TimeoutError:
            seen.append("gave up")
    return seen


def racing(url: str) -> list[Any]:
    return asyncio.run(race(url))


def threads(url: str) -> list[Any]:
    """Threads that share a session and a list."""
    seen: list[Any] = []
    with requests.Session() as session, ThreadPoolExecutor(4) as pool:

        def ask(n: int) -> None:
            with session.get(f"{url}/t{n}", stream=True) as response:
                for part in response.iter_content(None):
                    seen.append((n, part))

        list(pool.map(ask, range(8)))
    return seen


async def impolite(url: str) -> list[Any]:
    """Blocking clients inside coroutines, while others wait on the same loop."""
    seen: list[Any] = []
    async with httpx2.AsyncClient() as client:

        async def polite(n: int) -> None:
            seen.append((n, (await client.get(f"{url}/a{n}")).content))

        async def blocking(n: int) -> None:
            await asyncio.sleep(0.001)
            seen.append((n, httpx2.get(f"{url}/b{n}").content))
            seen.append((n, requests.get(f"{url}/r{n}").content))
            with urllib.request.urlopen(f"{url}/u{n}") as response:
                seen.append((n, response.read()))

        await asyncio.gather(*(ask(n) for n in range(3) for ask in (polite, blocking)))
    return seen


def blocking(url: str) -> list[Any]:
    return asyncio.run(impolite(url))


async def asking(url: str) -> list[Any]:
    """Both model SDKs, in both colours, streaming and not, all at once."""
    async with (
        openai.AsyncOpenAI(api_key="sk-not-a-key", base_url=url + "/v1") as one,
        anthropic.AsyncAnthropic(api_key="not-a-key", base_url=url) as two,
    ):
        return list(await asyncio.gather(ask_openai_async(one), ask_anthropic_async(two), ask_openai_async(one)))


def models(url: str) -> list[Any]:
    with openai.OpenAI(api_key="sk-not-a-key", base_url=url + "/v1") as client:
        return [ask_openai(client), *asyncio.run(asking(url))]


def aws(url: str) -> list[Any]:
    """Signed requests: each replay signs anew, at its own time."""
    client = boto3.client(
        "bedrock-runtime",
        endpoint_url=url,
        region_name="eu-central-1",
        aws_access_key_id="a",
        aws_secret_access_key="b",
    )
    hello = {"role": "user", "content": [{"text": "hello"}]}
    return [client.converse(modelId="m", messages=[hello])["metrics"] for _ in range(2)]


def test_model_sdks(server: Server, store: Any) -> None:
    server.routes["/v1/chat/completions"] = by_stream(completion, completion_events)
    server.routes["/v1/messages"] = by_stream(message, message_events)
    proven(models, server, store)


def test_signed_requests(server: Server, store: Any) -> None:
    said = {"output": {"message": {"role": "assistant", "content": [{"text": "hi"}]}}, "stopReason": "end_turn"}
    said |= {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}}
    server.routes["/model/m/converse"] = lambda r: as_json({**said, "metrics": {"latencyMs": r.number}})
    assert proven(aws, server, store) == [{"latencyMs": 1}, {"latencyMs": 2}]


def test_a_race_of_streams(server: Server, store: Any) -> None:
    server.routes["*"] = uneven
    server.routes["/hang"] = lambda r: [Wait(threading.Event())]
    live = proven(racing, server, store)
    assert live[-3:] == ["TimeoutError", "SocketTimeoutError", "gave up"]


def test_threads(server: Server, store: Any) -> None:
    server.routes["*"] = uneven
    proven(threads, server, store)


def test_blocking_calls_in_coroutines(server: Server, store: Any) -> None:
    server.routes["*"] = uneven
    proven(blocking, server, store)
