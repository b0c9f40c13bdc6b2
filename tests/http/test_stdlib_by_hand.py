"""Proves that requests assembled by hand on ``http.client`` are recorded whole and replayed, as are those of xmlrpc."""

from __future__ import annotations

import http.client
import io
import threading
import xmlrpc.client
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reenact
from reenact.errors import Halt
from reenact.facts.call import EndKind
from reenact.seams.http.stdlib_by_hand import RequestPieces, unframed

from .fakes import Replaying, listened, proven, told
from .server import RESET, Server, Wait, answer


def echo(request: Any) -> list[Any]:
    """Number and body of the request."""
    return answer(b"%d,%s" % (request.number, request.body))


def given_whole(connection: http.client.HTTPConnection) -> bytes:
    """A body passed to ``endheaders``."""
    connection.putrequest("POST", "/x?q=1")
    connection.putheader("Content-Length", "5")
    connection.putheader("X-Many", "one", "two")
    connection.endheaders(b"whole")
    return connection.getresponse().read()


def given_in_pieces(connection: http.client.HTTPConnection) -> bytes:
    """A body that was announced, then sent: bytes, a file of text, an iterable."""
    connection.putrequest("POST", "/x")
    connection.putheader("Content-Length", "10")
    connection.endheaders()
    connection.send(b"in ")
    connection.send(io.StringIO("pi\xe9"))  # type: ignore[arg-type]  # http.client takes a file of text
    connection.send([b"c", b"es", b"!"])
    return connection.getresponse().read()


def given_in_chunks(connection: http.client.HTTPConnection) -> bytes:
    """A body framed in chunks by the program, and one by the library."""
    out = []
    connection.putrequest("POST", "/x")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    for piece in (b"2\r\nin\r\n", b"7\r\n chunks\r\n", b"0\r\n", b"\r\n"):
        connection.send(piece)
    out.append(connection.getresponse().read())
    connection.putrequest("POST", "/x")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders(iter([b"two", b" by two"]), encode_chunked=True)
    return b" ".join([*out, connection.getresponse().read()])


def without_a_body(connection: http.client.HTTPConnection) -> bytes:
    """No body at all, twice on one connection."""
    out = []
    for path in ("/x", "/y"):
        connection.putrequest("GET", path, skip_accept_encoding=True)
        connection.endheaders()
        out.append(connection.getresponse().read())
    return b" ".join(out)


@pytest.mark.parametrize("ask", [given_whole, given_in_pieces, given_in_chunks, without_a_body])
def test_what_is_sent_is_one_exchange(server: Server, ask: Any) -> None:
    server.routes["*"] = echo

    def agent() -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        try:
            return ask(connection)
        finally:
            connection.close()

    exchanges = 1 if ask in (given_whole, given_in_pieces) else 2
    _, recording = proven(agent, server, exchanges=exchanges)
    assert [exchange.call.body for exchange in recording.exchanges] == [request.body for request in server.requests]
    assert [exchange.call.head["url"] for exchange in recording.exchanges] == [
        server.url + request.target for request in server.requests
    ]
    assert server.connections == 1
    if ask is given_whole:
        assert ["X-Many", "one\ttwo"] in recording.exchanges[0].call.head["headers"]


def test_another_body_is_not_answered(server: Server) -> None:
    server.routes["*"] = echo
    body = b"as recorded"

    def agent() -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.putrequest("PUT", "/x")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        connection.send(body)
        return connection.getresponse().read()

    _, recording = proven(agent, server, exchanges=1)
    body = b"as changed!"
    with listened(Replaying(recording)), pytest.raises(Halt):
        agent()


@pytest.mark.parametrize("connected", [False, True])
def test_a_program_may_reach_for_the_socket_itself(server: Server, connected: bool) -> None:
    server.routes["*"] = echo

    def agent() -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        if connected:
            connection.request("GET", "/before")
            connection.getresponse().read()
        connection.putrequest("POST", "/x")
        connection.putheader("Content-Length", "4")
        connection.endheaders()
        connection.sock.settimeout(20)
        connection.sock.sendall(b"past")
        return connection.getresponse().read()

    live, _ = proven(agent, server, exchanges=1 + connected)
    assert live.endswith(b",past")


def test_a_body_that_falls_short_is_sent_when_the_response_is_asked_for(server: Server) -> None:
    server.routes["*"] = lambda r: [RESET]

    def agent() -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=0.3)
        connection.putrequest("POST", "/x")
        connection.putheader("Content-Length", "100")
        connection.endheaders()
        connection.send(b"short")
        with pytest.raises(OSError) as caught:
            connection.getresponse()
        return told(caught.value)

    proven(agent, server, exchanges=1)


def test_where_it_fails(server: Server) -> None:
    refused = Server()
    refused.close()

    def agent() -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", refused.port)
        connection.putrequest("GET", "/x")
        with pytest.raises(ConnectionRefusedError) as caught:
            connection.endheaders()
        closed = http.client.HTTPConnection("127.0.0.1", server.port)
        closed.auto_open = 0
        closed.putrequest("GET", "/x")
        with pytest.raises(http.client.NotConnected):
            closed.endheaders()
        with pytest.raises(http.client.CannotSendHeader):
            closed.endheaders()
        return told(caught.value)

    proven(agent, server, exchanges=2)


@pytest.mark.parametrize("by_hand", [True, False])
def test_an_answer_that_is_never_asked_for(server: Server, by_hand: bool) -> None:
    never = threading.Event()
    server.routes["/never"] = lambda r: [Wait(never)]
    server.routes["*"] = echo

    def agent() -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        if by_hand:
            connection.putrequest("GET", "/never")
            connection.endheaders()
        else:
            connection.request("GET", "/never")
        connection.close()
        connection.request("GET", "/after")
        return connection.getresponse().read()

    _, recording = proven(agent, server, exchanges=2)
    never.set()
    assert recording.exchanges[0].ended is EndKind.CLOSED


def test_what_no_socket_takes_is_refused_in_the_same_words(server: Server) -> None:
    def agent() -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.putrequest("POST", "/x")
        connection.putheader("Content-Length", "4")
        connection.endheaders()
        with pytest.raises(TypeError) as caught:
            connection.send(4)  # type: ignore[arg-type]
        connection.close()
        return told(caught.value)

    bare = agent()
    live, _ = proven(agent, server, exchanges=1)
    assert live == bare


def test_xmlrpc_through_the_public_functions(server: Server, tmp_path: Any) -> None:
    def answered(request: Any) -> list[Any]:
        arguments, method = xmlrpc.client.loads(request.body)
        return answer(xmlrpc.client.dumps((f"{method}{arguments} {request.number}",), methodresponse=True).encode())

    server.routes["*"] = answered

    def agent(url: str) -> list[Any]:
        with xmlrpc.client.ServerProxy(url) as proxy:
            return [proxy.add(1, 2), proxy.take({"name": "x"}), proxy.add(1, 2)]

    with reenact.open_store(f"sqlite:///{tmp_path / 'runs.db'}") as store:
        live = reenact.record(agent, store=store)(server.url)
        asked = len(server.requests)
        server.close()
        [run] = store.runs()
        replayed = reenact.replay(run, entry=agent, store=store)
    assert live[0] != live[2] and asked == 3
    assert replayed.divergence is None and replayed.live_calls == 0 and replayed.output == live


@given(st.lists(st.binary(min_size=1, max_size=9), max_size=5), st.integers(1, 7))
def test_chunks_are_told_from_their_framing(chunks: list[bytes], size: int) -> None:
    framed = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    assert unframed(framed) == (b"".join(chunks), True)
    held = RequestPieces(lambda conn, data: None, [b"POST / HTTP/1.1", b"Transfer-Encoding: chunked"])
    held.take(b"the head")
    for at in range(0, len(framed), size):
        assert not held.complete
        held.take(framed[at : at + size])
    assert held.complete
