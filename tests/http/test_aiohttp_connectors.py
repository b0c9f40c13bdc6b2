"""Proves that aiohttp, alone and under httpx, is recorded once on the wire and replayed by its own parser."""

from __future__ import annotations

import asyncio
import gc
import gzip
import io
import ssl
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest
from httpx_aiohttp import AiohttpTransport

from reenact.errors import Halt, UnreplayableRun
from reenact.facts.call import EndKind

from .fakes import Recording, Replaying, listened, proven, told
from .server import HANG_UP, RESET, SSE, Script, Server, Wait, answer, as_json, chunked, torn

Agent = Callable[[aiohttp.ClientSession], Coroutine[Any, Any, Any]]


def running(agent: Agent, **options: Any) -> Callable[[], Any]:
    """A program that runs ``agent`` with a session of its own."""

    async def main() -> Any:
        async with aiohttp.ClientSession(**options) as session:
            return await agent(session)

    return lambda: asyncio.run(main())


async def seen(response: aiohttp.ClientResponse) -> tuple[Any, ...]:
    body = await response.read()
    return (
        response.status, response.reason, response.raw_headers, body, str(response.url),
        [str(hop.url) for hop in response.history], response.version,
    )  # fmt: skip


def test_requests_with_redirects_cookies_and_duplicates(server: Server) -> None:
    server.routes["/a"] = lambda r: answer(b"", "302 Found", [("Location", "/b"), ("Set-Cookie", "s=1; Path=/")])
    server.routes["/b"] = lambda r: answer(
        gzip.compress(b"%d %s" % (r.number, r.header("cookie").encode())),
        headers=[("Content-Encoding", "gzip"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("x-lower", "1")],
    )

    async def agent() -> Any:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            async with session.get(server.url + "/a", params={"q": "ä"}) as first:
                one = await seen(first)
            async with session.post(server.url + "/b", json={"x": 1}) as second:
                two = await seen(second)
            async with session.head(server.url + "/b") as third:
                three = third.status, dict(third.headers)
            return one, two, three, sorted(cookie.key for cookie in session.cookie_jar)

    live, recording = proven(lambda: asyncio.run(agent()), server, exchanges=4)
    assert live[0][3] == b"2 s=1" and live[3] == ["a", "b", "s"]
    one = recording.exchanges[0]
    assert one.call.head["url"] == f"{server.url}/a?q=%C3%A4" and one.call.head["transport"] == "aiohttp"
    assert one.head["framing"] == "wire" and one.payload.startswith(b"HTTP/1.1 302 Found")
    assert recording.exchanges[2].call.body == b'{"x": 1}'
    assert all(exchange.ended is EndKind.EOF for exchange in recording.exchanges)
    assert server.connections == 1, "recording must not keep a connection from being used again"


@pytest.mark.parametrize("how", ["iter_any", "iter_chunks", "readline", "read", "readexactly", "iter_chunked"])
def test_streams_keep_their_segments(how: str, server: Server) -> None:
    text = 'data: {"t": "häßlich €"}\n\n'.encode() * 8
    go = threading.Event()
    server.routes["/sse"] = lambda r: chunked([*torn(text, 5), *([Wait(go)] if how != "read" else []), b"last\n"], SSE)

    async def agent(session: aiohttp.ClientSession) -> Any:
        async with session.get(server.url + "/sse") as response:
            content = response.content
            if how == "read":
                return [await content.read()]
            if how == "readexactly":
                out = [await content.readexactly(7) for _ in range(len(text) // 7)]
                go.set()
                return [*out, await content.read()]
            ways: dict[str, AsyncIterable[object]] = {
                "iter_any": content.iter_any(),
                "iter_chunks": content.iter_chunks(),
                "readline": content,
                "iter_chunked": content.iter_chunked(10),
            }
            seen = []
            async for part in ways[how]:
                seen.append(part)
                go.set()
            return seen

    live, _ = proven(running(agent), server, exchanges=1)
    assert b"".join(part[0] if isinstance(part, tuple) else part for part in live) == text + b"last\n"


def test_pieces_are_the_segments(server: Server) -> None:
    """Every piece waits for the reader, so that none is merged, however much has arrived meanwhile."""
    sent = threading.Event()

    def route(request: Any) -> Any:
        yield from chunked([b"one", b"two", b"three"])
        sent.set()

    server.routes["/a"] = route

    async def agent(session: aiohttp.ClientSession) -> Any:
        async with session.get(server.url + "/a") as response:
            await asyncio.to_thread(sent.wait, 5)
            return [part async for part in response.content.iter_any()]

    live, recording = proven(running(agent), server, exchanges=1)
    assert b"".join(live) == b"onetwothree"
    assert len(recording.exchanges[0].segments) >= len(live)


def test_an_endless_stream_closed_early(server: Server) -> None:
    never = threading.Event()
    server.routes["/sse"] = lambda r: chunked([b"one\n", b"two\n", Wait(never)], SSE)
    lines = 2

    async def agent(session: aiohttp.ClientSession) -> Any:
        async with session.get(server.url + "/sse") as response:
            return [await response.content.readline() for _ in range(lines)]

    live, recording = proven(running(agent), server, exchanges=1)
    never.set()
    assert live == [b"one\n", b"two\n"] and recording.exchanges[0].ended is EndKind.CLOSED
    lines = 3
    with listened(Replaying(recording)), pytest.raises(Halt):
        running(agent)()


@pytest.mark.filterwarnings("ignore:Unclosed")
def test_a_response_that_is_let_go_is_closed(server: Server) -> None:
    server.routes["/sse"] = lambda r: chunked([b"one", Wait(threading.Event())], SSE)

    async def agent(session: aiohttp.ClientSession) -> Any:
        response = await session.get(server.url + "/sse")
        status = response.status
        del response
        gc.collect()
        return status

    _, recording = proven(running(agent), server, exchanges=1)
    assert recording.exchanges[0].ended is EndKind.CLOSED


def test_errors_are_raised_again(server: Server) -> None:
    server.routes["/reset"] = lambda r: [RESET]
    server.routes["/gone"] = lambda r: [HANG_UP]
    server.routes["/short"] = lambda r: [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", HANG_UP]
    server.routes["/cut"] = lambda r: [*chunked([b"abc"], end=False), HANG_UP]
    server.routes["/cut-reset"] = lambda r: [*chunked([b"abc"], end=False), RESET]
    server.routes["/slow"] = lambda r: [Wait(threading.Event())]
    server.routes["/stall"] = lambda r: [*chunked([b"abc"], end=False), Wait(threading.Event())]
    server.routes["/junk"] = lambda r: [b"this is no HTTP\r\n\r\n", HANG_UP]
    server.routes["/close"] = lambda r: [b"HTTP/1.1 200 OK\r\n\r\nuntil %d" % r.number, HANG_UP]
    refused = Server()
    refused.close()
    urls = [server.url + path for path in server.routes] + [refused.url + "/", "http://no.such.host.invalid/"]

    async def agent(session: aiohttp.ClientSession) -> Any:
        out: list[Any] = []
        for url in urls:
            try:
                async with session.post(url) as response:
                    out.append((response.status, await response.read()))
            except aiohttp.ClientError as error:
                key = getattr(error, "_conn_key", None)
                out.append((told(error), key and key.host, getattr(error, "errno", None)))
        return out

    timeout = aiohttp.ClientTimeout(total=None, sock_read=0.2)
    live, _ = proven(running(agent, timeout=timeout), server, exchanges=len(urls))
    names = [one[0] if isinstance(one[0], int) else one[0][0].rpartition(".")[2] for one in live]
    payload, silent = ["ClientPayloadError"] * 3, ["SocketTimeoutError"] * 2
    connect = ["ClientConnectorError", "ClientConnectorDNSError"]
    expected = ["ClientOSError", "ServerDisconnectedError", *payload, *silent, "ClientResponseError", 200, *connect]
    assert names == expected
    assert live[0][0][2] is not None, "the cause is lost"


def test_timeouts_and_cancelled_calls(server: Server) -> None:
    server.routes["/slow"] = lambda r: [Wait(threading.Event())]
    server.routes["/stall"] = lambda r: chunked([b"abc", Wait(threading.Event())])

    async def agent(session: aiohttp.ClientSession) -> Any:
        out: list[Any] = []
        for path in ("/slow", "/stall"):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(_read(session, server.url + path), 0.1)
            try:
                await _read(session, server.url + path, timeout=aiohttp.ClientTimeout(total=0.1))
            except TimeoutError as error:
                out.append(type(error).__name__)
        return out

    _, recording = proven(running(agent), server, exchanges=4)
    assert all(exchange.ended is EndKind.CANCELLED for exchange in recording.exchanges)


async def _read(session: aiohttp.ClientSession, url: str, **options: Any) -> bytes:
    async with session.get(url, **options) as response:
        return await response.read()


def test_a_reader_slower_than_its_timeout_is_not_punished(server: Server) -> None:
    """The timer of a silent peer must not run while answers wait for the reader."""
    go = threading.Event()
    server.routes["/a"] = lambda r: chunked([Wait(go), b"one", b"two"])

    async def agent(session: aiohttp.ClientSession) -> Any:
        async with session.get(server.url + "/a") as response:
            go.set()
            await asyncio.sleep(0.3)
            return await response.read()

    live, _ = proven(running(agent, timeout=aiohttp.ClientTimeout(sock_read=0.1)), server, exchanges=1)
    assert live == b"onetwo"


def test_much_more_than_is_read_does_not_fill_the_memory(server: Server) -> None:
    size = 20_000_000
    server.routes["/big"] = lambda r: [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size, bytes(size)]
    ahead = 0

    async def agent(session: aiohttp.ClientSession) -> Any:
        nonlocal ahead
        async with session.get(server.url + "/big") as response:
            await response.content.readany()
            await asyncio.sleep(0.2)
            assert response.connection is not None
            protocol: Any = response.connection.protocol
            ahead = max(ahead, getattr(protocol._reenact_exchange, "_waiting", 0))
            return len(await response.read())

    live, _ = proven(running(agent), server, exchanges=1)
    assert live > size * 0.9 and 0 < ahead < 1_000_000


def test_uploads_of_every_kind(server: Server) -> None:
    server.routes["/up"] = lambda r: answer(b"%d " % r.number + r.body)

    async def parts() -> AsyncIterator[bytes]:
        yield b"one,"
        yield b"two"

    async def broken() -> AsyncIterator[bytes]:
        yield b"one,"
        raise ValueError("no more")

    async def agent(session: aiohttp.ClientSession) -> Any:
        form = aiohttp.FormData({"a": "b"})
        form.add_field("f", io.BytesIO(b"contents"), filename="f.txt")
        out = []
        for data in (parts(), io.BytesIO(b"a file"), "täxt", form):
            async with session.post(server.url + "/up", data=data) as response:
                number, _, body = (await response.read()).partition(b" ")
                out.append((number, body.count(b"contents") if data is form else body))
        with pytest.raises(aiohttp.ClientConnectionError) as caught:
            await session.post(server.url + "/up", data=broken())
        return out, type(caught.value).__name__, str(caught.value.__cause__)

    live, recording = proven(running(agent), server, exchanges=5)
    assert live[0] == [(b"1", b"one,two"), (b"2", b"a file"), (b"3", "täxt".encode()), (b"4", 1)]
    assert live[2] == "no more"
    assert [e.call.body for e in recording.exchanges][:4] == [request.body for request in server.requests[:4]]
    assert server.requests[0].header("transfer-encoding") == "chunked"


def test_an_upload_that_waits_for_permission(server: Server) -> None:
    server.routes["/up"] = lambda r: answer(b"%d " % r.number + r.body)

    async def agent(session: aiohttp.ClientSession) -> Any:
        async with session.post(server.url + "/up", data=b"x", expect100=True) as response:
            return await response.read()

    live, _ = proven(running(agent), server, exchanges=1)
    assert live == b"1 x"


def test_many_at_once(server: Server) -> None:
    server.routes["*"] = lambda r: chunked([b"%s " % r.target.encode(), b"%d" % r.number])

    async def agent(session: aiohttp.ClientSession) -> Any:
        return await asyncio.gather(*(_read(session, f"{server.url}/{n}") for n in range(20)))

    proven(running(agent), server, exchanges=20)


def test_tls_and_its_failure(tls: tuple[Path, Path]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*tls)
    server = Server(context)
    server.routes["/a"] = lambda r: answer(b"%d" % r.number)

    async def agent(session: aiohttp.ClientSession) -> Any:
        with pytest.raises(aiohttp.ClientConnectorCertificateError) as caught:
            await _read(session, server.url + "/a")
        trusted = ssl.create_default_context(cafile=str(tls[0]))
        return told(caught.value), caught.value.host, await _read(session, server.url + "/a", ssl=trusted)

    live, _ = proven(running(agent), server, exchanges=2)
    assert live[1:] == ("127.0.0.1", b"1")


def test_proxies_are_part_of_the_exchange(server: Server) -> None:
    server.routes["*"] = lambda r: answer(b"%s %d" % (r.target.encode(), r.number))
    server.routes["no.such.host.invalid:443"] = lambda r: answer(b"", "403 Not For You")
    refused = Server()
    refused.close()

    async def agent(session: aiohttp.ClientSession) -> Any:
        plain = await _read(session, "http://no.such.host.invalid/a", proxy=server.url)
        with pytest.raises(aiohttp.ClientHttpProxyError) as caught:
            await _read(session, "https://no.such.host.invalid/b", proxy=server.url)
        with pytest.raises(aiohttp.ClientProxyConnectionError) as unreachable:
            await _read(session, "https://no.such.host.invalid/b", proxy=refused.url)
        info, key = caught.value.request_info, unreachable.value._conn_key
        error = caught.value
        return plain, error.status, error.message, info.method, str(info.url), told(unreachable.value), key.port

    live, _ = proven(running(agent), server, exchanges=3)
    assert live[0] == b"http://no.such.host.invalid/a 1" and live[1] == 403 and live[-1] == refused.port


def test_under_httpx_it_is_recorded_once(server: Server) -> None:
    server.routes["/a"] = lambda r: chunked([b"one", b"two %d" % r.number], SSE)

    async def agent() -> Any:
        async with httpx.AsyncClient(transport=AiohttpTransport()) as client:
            async with client.stream("POST", server.url + "/a", json={}) as response:
                parts = [part async for part in response.aiter_raw()]
            return b"".join(parts), (await client.get(server.url + "/a")).content

    _, recording = proven(lambda: asyncio.run(agent()), server, exchanges=2)
    assert [exchange.call.head["transport"] for exchange in recording.exchanges] == ["httpx", "httpx"]


def test_a_kept_connection_that_died_is_recorded_as_a_failure(server: Server) -> None:
    server.routes["/a"] = Script([
        lambda r: answer(b"first"), lambda r: [HANG_UP], lambda r: as_json({"n": r.number}),
    ])  # fmt: skip

    async def agent(session: aiohttp.ClientSession) -> Any:
        return await _read(session, server.url + "/a"), await _read(session, server.url + "/a")

    live, recording = proven(running(agent), server, exchanges=3)
    assert live[0] == b"first" and b"3" in live[1]
    assert recording.exchanges[1].outcome is not None


def test_an_upgrade_works_live_and_is_refused_in_a_replay(server: Server) -> None:
    server.routes["/other"] = lambda r: [
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n",
        Wait(threading.Event()),
    ]

    async def agent(session: aiohttp.ClientSession) -> Any:
        async with session.get(server.url + "/other", headers={"Upgrade": "other"}, read_until_eof=False) as response:
            return response.status

    recording = Recording()
    with listened(recording):
        assert running(agent)() == 101
    assert recording.gaps and not recording.faults
    replaying = Replaying(recording)
    with listened(replaying), pytest.raises(UnreplayableRun):
        running(agent)()
    assert replaying.faults


def test_uvloop_records_and_the_standard_loop_replays(server: Server) -> None:
    uvloop = pytest.importorskip("uvloop", reason="uvloop is not installed here")
    server.routes["/a"] = lambda r: chunked([b"one", b"two %d" % r.number])

    async def agent() -> Any:
        async with aiohttp.ClientSession() as session:
            return await asyncio.gather(*(_read(session, f"{server.url}/a?{n}") for n in range(5)))

    recording = Recording()
    with listened(recording):
        live = uvloop.run(agent())
    server.close()
    with listened(Replaying(recording)):
        assert asyncio.run(agent()) == live
