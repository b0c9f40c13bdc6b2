"""Proves that ``http.client`` and ``urllib.request`` are recorded on the wire and replayed by the real parser."""

from __future__ import annotations

import http.client
import io
import ssl
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from reenact.errors import Halt
from reenact.facts.call import EndKind

from .fakes import Replaying, listened, proven, told
from .server import HANG_UP, RESET, Server, Wait, answer, chunked


def test_urllib_with_redirects_and_errors(server: Server) -> None:
    server.routes["/a"] = lambda r: answer(b"", "302 Found", [("Location", "/b")])
    server.routes["/b"] = lambda r: answer(b"%d" % r.number, headers=[("X-Twice", "1"), ("x-twice", "2")])
    server.routes["/c"] = lambda r: answer(b"no %d" % r.number, "500 Broken")

    def agent() -> Any:
        with urllib.request.urlopen(server.url + "/a?q=1") as response:
            first = response.status, response.getheaders(), response.read(), response.url
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(urllib.request.Request(server.url + "/c", data=b"x"))
        return first, caught.value.code, caught.value.read()

    live, recording = proven(agent, server, exchanges=3)
    assert live[0][2] == b"2" and live[1:] == (500, b"no 3")
    one = recording.exchanges[0]
    assert one.call.name == f"GET 127.0.0.1:{server.port}/a" and one.call.head["url"] == server.url + "/a?q=1"
    assert one.call.head["transport"] == "http.client" and one.head["framing"] == "wire"
    assert one.ended is EndKind.EOF
    assert recording.exchanges[2].call.body == b"x"


def test_a_kept_connection(server: Server) -> None:
    server.routes["*"] = lambda r: chunked([b"%d," % r.number, r.body])

    def agent() -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        out = []
        for body in (b"bytes", io.BytesIO(b"a file"), iter([b"one,", b"two"])):
            connection.request("PUT", "/x", body)
            out.append(connection.getresponse().read())
        connection.close()
        return out

    live, recording = proven(agent, server, exchanges=3)
    assert live == [b"1,bytes", b"2,a file", b"3,one,two"] and server.connections == 1
    assert [exchange.call.body for exchange in recording.exchanges] == [request.body for request in server.requests]


def test_errors_are_raised_again(server: Server) -> None:
    server.routes["/reset"] = lambda r: [RESET]
    server.routes["/gone"] = lambda r: [HANG_UP]
    server.routes["/short"] = lambda r: [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", HANG_UP]
    server.routes["/slow"] = lambda r: [Wait(threading.Event())]
    server.routes["/junk"] = lambda r: [b"this is no HTTP\r\n\r\n", HANG_UP]
    refused = Server()
    refused.close()
    urls = [server.url + path for path in server.routes] + [refused.url + "/", "http://no.such.host.invalid/"]

    def agent() -> Any:
        out = []
        for url in urls:
            with pytest.raises((OSError, http.client.HTTPException)) as caught:
                urllib.request.urlopen(url, timeout=0.2).read()
            out.append((told(caught.value), getattr(caught.value, "errno", None)))
        return out

    live, _ = proven(agent, server, exchanges=len(urls))
    names = [error[0].rpartition(".")[2] for error, _ in live]
    assert names[:3] == ["ConnectionResetError", "RemoteDisconnected", "IncompleteRead"]
    assert names[3:] == ["TimeoutError", "BadStatusLine", "URLError", "URLError"]


def test_a_response_closed_early(server: Server) -> None:
    never = threading.Event()
    server.routes["/a"] = lambda r: chunked([b"one\n", b"two\n", Wait(never)])
    lines = 2

    def agent() -> Any:
        with urllib.request.urlopen(server.url + "/a") as response:
            return [response.readline() for _ in range(lines)]

    live, recording = proven(agent, server, exchanges=1)
    never.set()
    assert live == [b"one\n", b"two\n"] and recording.exchanges[0].ended is EndKind.CLOSED
    lines = 3
    with listened(Replaying(recording)), pytest.raises(Halt):
        agent()


def test_tls_and_its_failure(tls: tuple[Path, Path]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*tls)
    server = Server(context)
    server.routes["/a"] = lambda r: answer(b"%d" % r.number)

    def agent() -> Any:
        trusted = ssl.create_default_context(cafile=str(tls[0]))
        with pytest.raises(urllib.error.URLError) as caught:
            urllib.request.urlopen(server.url + "/a")
        with urllib.request.urlopen(server.url + "/a", context=trusted) as response:
            return told(caught.value), response.read()

    live, recording = proven(agent, server, exchanges=2)
    assert live[1] == b"1" and recording.exchanges[1].call.head["url"] == server.url + "/a"
