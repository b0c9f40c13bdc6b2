"""Proves that the model SDKs, on the transports they choose themselves, are recorded once and replayed offline."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Callable
from typing import Any

import aiohttp
import anthropic
import httpx
import httpx2
import openai
import pytest
import requests
from openai import DefaultAioHttpClient

from reenact.facts.call import Effect, EndKind
from reenact.seams.http import http_exchange as seam

from .fakes import proven, told
from .server import HANG_UP, RESET, SSE, Script, Server, Wait, answer, as_json, chunked, torn

QUESTION: Any = [{"role": "user", "content": "häßlich?"}]


def completion(request: Any) -> Any:
    """What an OpenAI-compatible server says, gzipped, with headers that come twice."""
    said = {
        "id": f"c{request.number}", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "größer €"}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    }  # fmt: skip
    headers = [("Content-Type", "application/json"), ("Content-Encoding", "gzip"), ("X-Twice", "1"), ("x-twice", "2")]
    body = gzip.compress(json.dumps(said).encode())
    return answer(body, headers=[*headers, ("x-request-id", f"r{request.number}")])


def completion_events(request: Any) -> Any:
    """The same as a stream, cut through events and code points."""
    text = ""
    for piece in ("grö", "ßer ", "€", f" {request.number}"):
        delta = {"choices": [{"index": 0, "delta": {"content": piece}}], "id": "c", "created": 1, "model": "m"}
        text += f"data: {json.dumps({**delta, 'object': 'chat.completion.chunk'}, ensure_ascii=False)}\n\n"
    return chunked(torn((text + "data: [DONE]\n\n").encode(), 13), SSE)


def message(request: Any) -> Any:
    """What an Anthropic-compatible server says."""
    return as_json({
        "id": f"m{request.number}", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "größer €"}], "usage": {"input_tokens": 1, "output_tokens": 2},
    })  # fmt: skip


def message_events(request: Any) -> Any:
    """The same as a stream, cut through events and code points."""
    start: dict[str, Any] = {
        "id": f"m{request.number}",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
    }
    start |= {"stop_reason": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "größer "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "€"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    text = "".join(f"event: {e['type']}\ndata: {json.dumps(e, ensure_ascii=False)}\n\n" for e in events)
    return chunked(torn(text.encode(), 11), SSE)


def by_stream(plain: Any, streamed: Any) -> Callable[[Any], Any]:
    return lambda request: (streamed if json.loads(request.body).get("stream") else plain)(request)


@pytest.fixture
def models(server: Server) -> Server:
    """A server that speaks both protocols."""
    server.routes["/v1/chat/completions"] = by_stream(completion, completion_events)
    server.routes["/v1/messages"] = by_stream(message, message_events)
    return server


def ask_openai(client: openai.OpenAI) -> Any:
    raw = client.chat.completions.with_raw_response.create(model="m", messages=QUESTION)
    chunks = client.chat.completions.create(model="m", messages=QUESTION, stream=True)
    return raw.parse().model_dump(), raw.headers.raw, [chunk.model_dump() for chunk in chunks]


async def ask_openai_async(client: openai.AsyncOpenAI) -> Any:
    raw = await client.chat.completions.with_raw_response.create(model="m", messages=QUESTION)
    chunks = await client.chat.completions.create(model="m", messages=QUESTION, stream=True)
    return raw.parse().model_dump(), raw.headers.raw, [chunk.model_dump() async for chunk in chunks]


def ask_anthropic(client: anthropic.Anthropic) -> Any:
    said = client.messages.create(model="m", max_tokens=9, messages=QUESTION)
    with client.messages.stream(model="m", max_tokens=9, messages=QUESTION) as stream:
        events = [event.model_dump(exclude={"message", "snapshot"}) for event in stream]
        return said.model_dump(), events, stream.get_final_message().model_dump()


async def ask_anthropic_async(client: anthropic.AsyncAnthropic) -> Any:
    said = await client.messages.create(model="m", max_tokens=9, messages=QUESTION)
    async with client.messages.stream(model="m", max_tokens=9, messages=QUESTION) as stream:
        events = [event.model_dump(exclude={"message", "snapshot"}) async for event in stream]
        return said.model_dump(), events, (await stream.get_final_message()).model_dump()


def test_openai_in_both_colours(models: Server) -> None:
    base = models.url + "/v1"

    async def unsync() -> Any:
        async with openai.AsyncOpenAI(api_key="k", base_url=base) as client:
            return await ask_openai_async(client)

    def agent() -> Any:
        with openai.OpenAI(api_key="k", base_url=base) as client:
            return ask_openai(client), asyncio.run(unsync())

    live, recording = proven(agent, models, exchanges=4)
    assert live[0][0]["choices"][0]["message"]["content"] == "größer €"
    assert "".join(c["choices"][0]["delta"]["content"] for c in live[1][2]).startswith("größer €")
    one = recording.exchanges[0]
    assert one.call.name.endswith("/v1/chat/completions") and one.call.name.startswith("POST 127.0.0.1:")
    assert one.call.head["transport"] == "httpx2" and gzip.decompress(one.payload)
    assert one.call.source is not None and one.call.source.startswith(__file__)


def test_anthropic_in_both_colours(models: Server) -> None:
    async def unsync() -> Any:
        async with anthropic.AsyncAnthropic(api_key="k", base_url=models.url) as client:
            return await ask_anthropic_async(client)

    def agent() -> Any:
        with anthropic.Anthropic(api_key="k", base_url=models.url) as client:
            return ask_anthropic(client), asyncio.run(unsync())

    live, recording = proven(agent, models, exchanges=4)
    assert live[0][2]["content"][0]["text"] == "größer €" and len(live[1][1]) > 6
    assert {exchange.call.head["transport"] for exchange in recording.exchanges} == {"httpx2"}


def test_openai_over_aiohttp_is_recorded_once(models: Server) -> None:
    async def agent() -> Any:
        http = DefaultAioHttpClient()
        async with openai.AsyncOpenAI(api_key="k", base_url=models.url + "/v1", http_client=http) as client:
            return await ask_openai_async(client)

    proven(lambda: asyncio.run(agent()), models, exchanges=2)


@pytest.mark.parametrize("way", ["half", RESET, HANG_UP, "cut"], ids=["429", "reset", "hang-up", "cut"])
def test_retries_of_an_sdk_are_its_own(way: Any, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    half = [("Content-Type", "application/json"), ("Retry-After", "7")]
    first: dict[Any, Callable[[Any], Any]] = {
        "half": lambda r: answer(b'{"error": {"mess', "429 Too Many", half),
        "cut": lambda r: [*chunked([b'{"id"'], end=False), HANG_UP],
    }
    server.routes["/v1/messages"] = Script([first.get(way, lambda r: [way]), message])

    def agent() -> Any:
        with anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=1) as client:
            try:
                return client.messages.create(model="m", max_tokens=9, messages=QUESTION).model_dump()
            except anthropic.APIConnectionError as error:
                return told(error)

    live, recording = proven(agent, server)
    assert len(recording.exchanges) == 2 and live["id"] == "m2"
    assert (slept == [7.0, 7.0]) == (way == "half") and len(slept) == 2


def test_errors_of_an_sdk_are_its_own(server: Server) -> None:
    server.routes["/v1/messages"] = lambda r: [Wait(threading.Event())]
    refused = Server()
    refused.close()

    def failing(url: str) -> Any:
        with openai.OpenAI(api_key="k", base_url=url + "/v1", max_retries=0, timeout=0.2) as client:
            with pytest.raises(openai.APIConnectionError) as caught:
                client.post("/messages", cast_to=object, body={})
            return told(caught.value), str(caught.value.request.url)

    live, _ = proven(lambda: (failing(server.url), failing(refused.url)), server, exchanges=2)
    assert live[0][0][0] == "openai.APITimeoutError" and live[1][0][0] == "openai.APIConnectionError"


def test_a_stream_that_is_left_early(models: Server) -> None:
    def agent() -> Any:
        with openai.OpenAI(api_key="k", base_url=models.url + "/v1") as client:
            stream = client.chat.completions.create(model="m", messages=QUESTION, stream=True)
            first = next(iter(stream)).model_dump()
            stream.close()
            return first

    _, recording = proven(agent, models, exchanges=1)
    assert recording.exchanges[0].ended is EndKind.CLOSED


def test_every_client_in_one_program(models: Server) -> None:
    models.routes["/a"] = lambda r: answer(b"%d" % r.number)

    async def many() -> Any:
        async with (
            openai.AsyncOpenAI(api_key="k", base_url=models.url + "/v1") as one,
            anthropic.AsyncAnthropic(api_key="k", base_url=models.url) as two,
            httpx.AsyncClient() as three,
            aiohttp.ClientSession() as four,
        ):
            plain = (await three.get(models.url + "/a?3")).content
            async with four.get(models.url + "/a?4") as response:
                body = await response.read()
            threaded = await asyncio.to_thread(lambda: requests.get(models.url + "/a?5").content)
            return await asyncio.gather(ask_openai_async(one), ask_anthropic_async(two)), plain, body, threaded

    def agent() -> Any:
        return asyncio.run(many()), httpx2.get(models.url + "/a?6").content

    _, recording = proven(agent, models, exchanges=8)
    families = {exchange.call.head["transport"] for exchange in recording.exchanges}
    assert families == {"httpx", "httpx2", "urllib3", "aiohttp"}


def test_a_rule_tells_which_posts_only_read(models: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seam, "stateless_tests", [lambda method, url, body: url.endswith("/messages")])

    def agent() -> Any:
        with anthropic.Anthropic(api_key="k", base_url=models.url) as client:
            client.messages.create(model="m", max_tokens=9, messages=QUESTION)
        httpx2.post(models.url + "/v1/chat/completions", json={})

    _, recording = proven(agent, models, exchanges=2)
    assert [exchange.call.effect for exchange in recording.exchanges] == [Effect.READ, Effect.WRITE]
