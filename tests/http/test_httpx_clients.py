"""Proves that httpx and httpx2, in both colours and over any transport, are recorded once and replayed offline."""

from __future__ import annotations

import asyncio
import gc
import gzip
import io
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import brotli
import httpx
import httpx2
import pytest
import zstandard

from reenact.errors import Halt
from reenact.facts.call import Effect, End, EndKind, Kind

from .fakes import Recording, Replaying, listened, proven, told
from .server import HANG_UP, RESET, SSE, Script, Server, Wait, answer, as_json, chunked, torn

both = pytest.mark.parametrize("lib", [httpx, httpx2], ids=["httpx", "httpx2"])


def seen(response: Any) -> tuple[Any, ...]:
    """Everything of a response that an agent could look at, but its timing."""
    return (
        response.status_code,
        response.headers.raw,
        response.reason_phrase,
        response.http_version,
        response.content,
        str(response.url),
        response.is_closed,
        response.is_stream_consumed,
    )


@both
def test_a_read_is_answered_with_the_same_bytes(lib: Any, server: Server) -> None:
    headers = [("X-Twice", "a"), ("x-twice", "b"), ("Content-Encoding", "gzip"), ("Set-Cookie", "k=v; Path=/")]
    server.routes["/a"] = lambda r: answer(gzip.compress(b"hello %d" % r.number), headers=headers)

    def agent() -> Any:
        with lib.Client() as client:
            first = client.get(server.url + "/a?q=ä b")
            second = client.get(server.url + "/a?q=ä b")
            return seen(first), seen(second), dict(client.cookies)

    live, recording = proven(agent, server, exchanges=2)
    assert live[0][4] == b"hello 1" and live[1][4] == b"hello 2" and live[2] == {"k": "v"}
    one = recording.exchanges[0]
    assert one.call.kind is Kind.HTTP and one.call.effect is Effect.READ and one.call.rule == "http/1"
    assert one.call.name == one.call.channel == f"GET 127.0.0.1:{server.port}/a"
    assert one.call.head["transport"] == lib.__name__ and one.call.head["method"] == "GET"
    assert one.call.head["url"] == f"{server.url}/a?q=%C3%A4%20b"
    assert gzip.decompress(one.payload) == b"hello 1"
    assert one.head["status"] == 200 and one.head["framing"] == "payload" and ["x-twice", "b"] in one.head["headers"]
    assert one.ended is EndKind.EOF
    assert one.call.source is not None and one.call.source.startswith(__file__)


@both
@pytest.mark.parametrize("coding", ["br", "zstd", "deflate"])
def test_encoded_bodies_are_kept_encoded(lib: Any, coding: str, server: Server) -> None:
    import zlib

    pack = {"br": brotli.compress, "zstd": zstandard.compress, "deflate": zlib.compress}[coding]
    text = "äöü €".encode() * 200
    server.routes["/a"] = lambda r: chunked(torn(pack(text), 7), [("Content-Encoding", coding)])

    def agent() -> Any:
        with lib.Client() as client, client.stream("GET", server.url + "/a") as response:
            return b"".join(response.iter_bytes())

    live, recording = proven(agent, server, exchanges=1)
    decodes = coding != "zstd" or lib is httpx  # httpx2 needs another zstd package, and hands the bytes on without it
    assert live == (text if decodes else pack(text)) and recording.exchanges[0].payload == pack(text)


@both
def test_segments_are_delivered_as_they_came(lib: Any, server: Server) -> None:
    text = 'data: {"t": "häßlich €"}\n\n'.encode() * 5
    server.routes["/sse"] = lambda r: chunked(torn(text, 3), SSE)

    def agent() -> Any:
        with lib.Client() as client, client.stream("POST", server.url + "/sse", content=b"{}") as response:
            return list(response.iter_raw())

    async def agent_async() -> Any:
        async with lib.AsyncClient() as client, client.stream("POST", server.url + "/sse", content=b"{}") as response:
            return [part async for part in response.aiter_raw()], [line async for line in _none()]

    async def _none() -> AsyncIterator[str]:
        lines: tuple[str, ...] = ()
        for line in lines:
            yield line

    live, recording = proven(lambda: (agent(), asyncio.run(agent_async())), server, exchanges=2)
    assert b"".join(live[0]) == text and len(live[0]) > 5
    assert [exchange.segments for exchange in recording.exchanges] == [live[0], live[1][0]]


@both
def test_the_first_part_is_seen_before_the_server_ends(lib: Any, server: Server) -> None:
    go = threading.Event()
    server.routes["/sse"] = lambda r: chunked([b"data: 1\n\n", Wait(go), b"data: 2\n\n"], SSE)

    def agent() -> Any:
        with lib.Client(timeout=5) as client, client.stream("GET", server.url + "/sse") as response:
            parts = response.iter_raw()
            first = next(parts)
            go.set()
            return [first, *parts]

    live, _ = proven(agent, server, exchanges=1)
    assert live == [b"data: 1\n\n", b"data: 2\n\n"]


@both
def test_an_endless_stream_closed_early_replays_up_to_there_and_no_further(lib: Any, server: Server) -> None:
    never = threading.Event()
    server.routes["/sse"] = lambda r: chunked([b"one", b"two", Wait(never)], SSE)
    parts_read = 2

    def agent() -> Any:
        with lib.Client() as client, client.stream("GET", server.url + "/sse") as response:
            parts = response.iter_raw()
            return [next(parts) for _ in range(parts_read)]

    live, recording = proven(agent, server, exchanges=1)
    never.set()
    assert live == [b"one", b"two"]
    assert recording.exchanges[0].ended is EndKind.CLOSED
    parts_read = 3
    with listened(Replaying(recording)), pytest.raises(Halt):
        agent()


@both
@pytest.mark.parametrize("how", ["collected", "unread"])
def test_a_response_that_is_let_go_is_closed(lib: Any, how: str, server: Server) -> None:
    server.routes["/sse"] = lambda r: chunked([b"one", b"two", b"three"], SSE)

    def agent() -> Any:
        client = lib.Client()
        response = client.send(client.build_request("GET", server.url + "/sse"), stream=True)
        first = next(response.iter_raw()) if how == "collected" else b""
        del response
        gc.collect()
        client.close()
        return first

    _, recording = proven(agent, server, exchanges=1)
    assert recording.exchanges[0].ended is EndKind.CLOSED


@both
def test_connection_errors_are_raised_again_with_their_causes(lib: Any, server: Server) -> None:
    server.routes["/reset"] = lambda r: [RESET]
    server.routes["/gone"] = lambda r: [HANG_UP]
    server.routes["/short"] = lambda r: [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", HANG_UP]
    server.routes["/cut"] = lambda r: [*chunked([b"abc"], end=False), HANG_UP]
    server.routes["/slow"] = lambda r: [Wait(threading.Event())]
    server.routes["/stall"] = lambda r: [*chunked([b"abc"], end=False), Wait(threading.Event())]
    refused = Server()
    refused.close()
    urls = [server.url + path for path in ("/reset", "/gone", "/short", "/cut", "/slow", "/stall")] + [refused.url]

    def caught(get: Any) -> Any:
        try:
            return get()
        except lib.HTTPError as error:
            return told(error), str(error.request.url)

    async def caught_async(client: Any, url: str) -> Any:
        try:
            return await client.get(url)
        except lib.HTTPError as error:
            return told(error), str(error.request.url)

    async def agent_async() -> Any:
        async with lib.AsyncClient(timeout=0.2) as client:
            return [await caught_async(client, url) for url in urls]

    def agent() -> Any:
        with lib.Client(timeout=0.2) as client:
            results = [caught(lambda url=url: client.get(url)) for url in urls]
        return results, asyncio.run(agent_async())

    live, recording = proven(agent, server, exchanges=2 * len(urls))
    names = [error[0][0].rpartition(".")[2] for error in live[0]]
    assert names == ["ReadError", *["RemoteProtocolError"] * 3, *["ReadTimeout"] * 2, "ConnectError"]
    assert live[0][0][0][2] is not None, "the cause is lost"
    assert recording.exchanges[2].segments == [b"short"] and recording.exchanges[2].ended is EndKind.ERROR


@both
def test_a_failed_handshake_is_raised_again(lib: Any, tls: tuple[Path, Path]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*tls)
    server = Server(context)
    server.routes["/a"] = lambda r: answer(b"x")

    def agent() -> Any:
        trusted = ssl.create_default_context(cafile=str(tls[0]))
        with lib.Client(verify=trusted) as good, lib.Client() as client:
            try:
                client.get(server.url + "/a")
            except lib.ConnectError as error:
                return told(error), good.get(server.url + "/a").content
        return None

    live, _ = proven(agent, server, exchanges=2)
    assert live is not None and "CERTIFICATE_VERIFY_FAILED" in live[0][1] and live[1] == b"x"


@both
def test_a_cancelled_call_waits_until_it_is_cancelled_again(lib: Any, server: Server) -> None:
    server.routes["/slow"] = lambda r: [Wait(threading.Event())]
    server.routes["/stall"] = lambda r: chunked([b"abc", Wait(threading.Event())])

    async def agent() -> Any:
        async with lib.AsyncClient(timeout=30) as client:
            out = []
            for path in ("/slow", "/stall"):
                try:
                    await asyncio.wait_for(client.get(server.url + path), 0.1)
                except TimeoutError as error:
                    out.append(type(error).__name__)
            return out

    live, recording = proven(lambda: asyncio.run(agent()), server, exchanges=2)
    assert live == ["TimeoutError", "TimeoutError"]
    assert recording.exchanges[0].head is None and recording.exchanges[0].ended is EndKind.CANCELLED
    assert recording.exchanges[1].segments == [b"abc"] and recording.exchanges[1].ended is EndKind.CANCELLED


@both
def test_redirects_cookies_and_auth_are_one_exchange_a_hop(lib: Any, server: Server) -> None:
    server.routes["/login"] = lambda r: answer(b"", "302 Found", [("Set-Cookie", "s=1"), ("Location", "/home")])
    server.routes["/home"] = lambda r: as_json({"cookie": r.header("cookie"), "n": r.number})
    server.routes["/digest"] = Script([
        lambda r: answer(b"", "401 No", [("WWW-Authenticate", 'Digest realm="r", nonce="n", qop="auth"')]),
        lambda r: as_json({"auth": r.header("authorization").split()[0]}),
    ])  # fmt: skip

    def agent() -> Any:
        with lib.Client(follow_redirects=True) as client:
            response = client.post(server.url + "/login", content=b"pw")
            digest = client.get(server.url + "/digest", auth=lib.DigestAuth("u", "p"))
            return response.json(), [str(hop.url) for hop in response.history], digest.json()

    live, _ = proven(agent, server, exchanges=4)
    assert live[0]["cookie"] == "s=1" and live[2] == {"auth": "Digest"}


@both
def test_uploads_are_sent_and_kept_whole(lib: Any, server: Server) -> None:
    server.routes["/up"] = lambda r: as_json({"body": r.body.decode("latin-1"), "n": r.number})

    def parts() -> Iterator[bytes]:
        yield b"one,"
        yield b"two"

    async def parts_async() -> AsyncIterator[bytes]:
        yield b"three,"
        yield b"four"

    def agent() -> Any:
        with lib.Client() as client:
            first = client.post(server.url + "/up", content=parts()).json()
            files = {"f": ("f.txt", io.BytesIO(b"contents"))}
            form = client.post(server.url + "/up", data={"a": "b"}, files=files).json()
        return first, form["body"].count("contents"), asyncio.run(agent_async())

    async def agent_async() -> Any:
        async with lib.AsyncClient() as client:
            return (await client.post(server.url + "/up", content=parts_async())).json()

    live, recording = proven(agent, server, exchanges=3)
    assert live[0]["body"] == "one,two" and live[1] == 1 and live[2]["body"] == "three,four"
    assert [exchange.call.body for exchange in recording.exchanges][::2] == [b"one,two", b"three,four"]
    assert recording.exchanges[1].call.body == server.requests[1].body
    assert all(exchange.call.effect is Effect.WRITE for exchange in recording.exchanges)


@both
def test_a_consumed_upload_still_cannot_be_redirected(lib: Any, server: Server) -> None:
    server.routes["/old"] = lambda r: answer(b"", "307 Moved", [("Location", "/new")])

    def agent() -> Any:
        with lib.Client(follow_redirects=True) as client, pytest.raises(lib.StreamConsumed):
            client.post(server.url + "/old", content=(part for part in [b"x"]))

    proven(agent, server, exchanges=1)


@both
def test_custom_mounted_in_process_and_proxied_transports(
    lib: Any, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.routes["*"] = lambda r: answer(b"%s %d" % (r.target.encode(), r.number))
    calls: list[str] = []

    class Custom(lib.BaseTransport):  # type: ignore[misc]  # of either library
        def handle_request(self, request: Any) -> Any:
            calls.append("custom")
            with lib.Client() as inner:  # an exchange below an exchange is no exchange of the agent's
                return lib.Response(201, content=inner.get(server.url + "/inner").content, extensions={"n": 1})

    def app(environ: Any, start_response: Any) -> Any:
        calls.append("wsgi")
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"from ", b"wsgi %d" % len(calls)]

    async def asgi(scope: Any, receive: Any, send: Any) -> None:
        calls.append("asgi")
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"from asgi %d" % len(calls)})

    def mocked(request: Any) -> Any:
        calls.append("mock")
        return lib.Response(200, headers={"Content-Encoding": "gzip"}, content=gzip.compress(b"%d" % len(calls)))

    async def in_process() -> Any:
        async with lib.AsyncClient(transport=lib.ASGITransport(asgi)) as client:
            return (await client.get("http://app/x")).content

    def agent() -> Any:
        mounts = {"all://custom": Custom(), "all://mock": lib.MockTransport(mocked)}
        with lib.Client(mounts=mounts) as client, lib.Client(transport=lib.WSGITransport(app)) as wsgi:
            monkeypatch.setenv("HTTP_PROXY", server.url)
            with lib.Client() as proxied:
                out = [client.get("http://custom/a"), client.get("http://mock/b"), client.get(server.url + "/c")]
                out += [wsgi.get("http://app/d"), proxied.get("http://no.such.host.invalid/e")]
            monkeypatch.delenv("HTTP_PROXY")
        return [seen(response) for response in out], asyncio.run(in_process())

    live, _ = proven(agent, server, exchanges=6)
    assert live[0][1][4] == b"2" and b"no.such.host" in live[0][4][4]
    assert calls == ["custom", "mock", "wsgi", "asgi"], "a replay must not run any transport"


@both
def test_an_unread_response_ends_when_it_is_closed(lib: Any, server: Server) -> None:
    server.routes["/a"] = lambda r: chunked([b"one"])
    recording = Recording()
    with listened(recording), lib.Client() as client:
        response = client.send(client.build_request("GET", server.url + "/a"), stream=True)
        assert recording.exchanges[0].end is None
        response.close()
        assert recording.exchanges[0].end == End(EndKind.CLOSED)


@both
@pytest.mark.parametrize("still", [True, False], ids=["raw", "decoded"])
def test_a_body_that_the_transport_has_read_is_read(lib: Any, still: bool, server: Server) -> None:
    """What a caching transport hands on can be looked at without reading it, encoded or not."""
    packed = [("Content-Encoding", "gzip")]
    server.routes["/a"] = lambda r: answer(gzip.compress(b"%d" % r.number), headers=packed)

    class Caching(lib.BaseTransport):  # type: ignore[misc]  # of either library
        def handle_request(self, request: Any) -> Any:
            if still:
                return lib.Response(200, headers=dict(packed), content=gzip.compress(b"0"))
            with lib.Client() as inner:
                return inner.get(server.url + "/a")

    def agent() -> Any:
        with lib.Client(transport=Caching()) as client, client.stream("GET", "http://cached/a") as response:
            return response.content, response.headers.raw, response.is_stream_consumed

    live, _ = proven(agent, server, exchanges=1)
    assert live[0] == (b"0" if still else b"1") and live[2]


def test_both_libraries_in_one_program(server: Server) -> None:
    server.routes["/a"] = lambda r: answer(b"%d" % r.number)

    def agent() -> Any:
        with httpx.Client() as one, httpx2.Client() as two:
            return one.get(server.url + "/a").content, two.get(server.url + "/a").content

    _, recording = proven(agent, server, exchanges=2)
    assert [exchange.call.head["transport"] for exchange in recording.exchanges] == ["httpx", "httpx2"]


def test_a_synchronous_client_inside_a_coroutine(server: Server) -> None:
    server.routes["/a"] = lambda r: answer(b"%d" % r.number)

    async def agent() -> Any:
        with httpx2.Client() as client:
            return client.get(server.url + "/a").content

    proven(lambda: asyncio.run(agent()), server, exchanges=1)


def test_nothing_happens_while_nobody_listens(server: Server) -> None:
    client = httpx2.Client()
    assert client._transport_for_url(httpx2.URL(server.url)) is client._transport


def test_a_fault_of_the_recorder_costs_the_recording_only(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from reenact.seams.http import http_exchange, httpx_clients

    server.routes["/a"] = lambda r: answer(b"%d" % r.number)
    for owner, name in ((http_exchange, "place_of"), (httpx_clients, "head_of")):
        with monkeypatch.context() as broken:
            broken.setattr(owner, name, lambda *_: 1 / 0)
            recording = Recording()
            with listened(recording), httpx2.Client() as client:
                assert client.post(server.url + "/a", content=(p for p in [b"x"])).status_code == 200
            assert [type(fault) for fault in recording.faults] == [ZeroDivisionError]
