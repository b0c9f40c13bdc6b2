"""The standard library's ``http.client``, and with it ``urllib.request``.

The seam is one request on one connection, from ``HTTPConnection.request`` to the response of ``getresponse``. Segments
are the bytes of the connection (framing ``wire``); on replay the real response class parses them. A request that a
program assembles by hand begins when it is complete (``stdlib_by_hand``). The connections of urllib3 have a seam of
their own above this one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

from reenact.abc.session import Frozen, Live
from reenact.facts.call import Call
from reenact.facts.interruptions import by_signal_handler
from reenact.seams import patching
from reenact.seams.http import http_exchange, stdlib_by_hand
from reenact.seams.http.http_exchange import CANCELLED, CLOSED
from reenact.seams.http.outgoing_request import OutgoingRequest, going_out, pairs_of
from reenact.seams.http.response_bytes import ResponsePlayer, ResponseRecorder
from reenact.seams.http.sockets import PlayedSocket, buffered, tapped
from reenact.seams.http.stdlib_by_hand import RequestPieces
from reenact.seams.lanes import Lane, listening

_UNDER_WAY = "_reenact_under_way"
_TLS_PORT = 443


def patch(module: ModuleType) -> None:
    """Intercept the connections of ``http.client``."""
    patching.replace(module.HTTPConnection, "_send_request", _requesting)
    patching.replace(module.HTTPConnection, "getresponse", _receiving)
    transmit = module.HTTPConnection.send
    ending_headers = stdlib_by_hand.ending_headers(_seen_above, _by_hand, transmit)
    patching.replace(module.HTTPConnection, "endheaders", ending_headers)
    patching.replace(module.HTTPConnection, "send", stdlib_by_hand.sending(_by_hand))
    patching.replace(module.HTTPConnection, "close", _closing)


BY_HAND = "http.client, by hand"
"""Transport of requests that are sent as they were assembled, and so cannot be sent with another body."""


def describe(
    conn: Any, method: str, url: str, headers: list[list[str]], body: bytes, transport: str = "http.client"
) -> Call:
    """One request as a call. Behind a tunnel the URL is the one at its far end."""
    if "://" not in url:
        scheme = "https" if conn.default_port == _TLS_PORT else "http"
        host, port = (conn._tunnel_host, conn._tunnel_port) if conn._tunnel_host else (conn.host, conn.port)
        host = f"[{host}]" if ":" in host else host
        url = f"{scheme}://{host}{'' if port == conn.default_port else f':{port}'}{url}"
    return http_exchange.describe(method, url, headers, body, transport)


def _requesting(original: Any) -> Any:
    def _send_request(self: Any, method: str, url: str, body: Any, headers: Any, *args: Any) -> None:
        conn = self
        lane = listening()
        if lane is None or _seen_above(conn):
            conn.__dict__.pop(_UNDER_WAY, None)
            original(conn, method, url, body, headers, *args)
            return
        content, body = buffered(body)

        def sends(crossing: Live) -> OutgoingRequest | None:
            return going_out(crossing, url, headers, content)

        def send(out: OutgoingRequest | None) -> None:
            if out is None:
                original(conn, method, url, body, headers, *args)
            else:
                sent = body if out.body is content else out.body
                original(conn, method, out.url, sent, out.headers(headers), *args)

        asked = partial(describe, conn, method, url, pairs_of(headers), content)
        _exchange(conn, method, lane, asked, SendPlan(sends, send))

    return _send_request


def _by_hand(conn: Any, held: RequestPieces) -> None:
    """The exchange of a request that was assembled by hand."""
    lane = listening()
    if lane is None:
        held.send(conn)
        return
    method = conn._method
    url, headers, body = held.asked()
    asked = partial(describe, conn, method, url, headers, body, BY_HAND)

    def sends(crossing: Live) -> OutgoingRequest | None:
        added = crossing.adds()
        return OutgoingRequest(url, body, added) if added else None

    def send(out: OutgoingRequest | None) -> None:
        held.send(conn, {} if out is None else out.signed)

    _exchange(conn, method, lane, asked, SendPlan(sends, send))


class SendPlan(NamedTuple):
    """How a live request goes out: the request that is sent in its place, and the sending."""

    replaced: Callable[[Live], OutgoingRequest | None]
    send: Callable[[OutgoingRequest | None], None]


def _exchange(conn: Any, method: str, lane: Lane, asked: Callable[[], Call], request: SendPlan) -> None:
    """Begin an exchange and send its request: to the server, or nowhere where the answer is recorded."""
    conn.__dict__.pop(_UNDER_WAY, None)
    crossing = http_exchange.begin(lane, asked)
    if crossing is None:
        request.send(None)
    elif crossing.mode == "live":
        out = request.replaced(crossing)
        _send(conn, method, lane, crossing, lambda: request.send(out))
    else:
        _pretend(conn, method, lane, crossing)
        request.send(None)


def _seen_above(conn: Any) -> bool:
    """Whether an older urllib3, which builds on this method, is already in an exchange on the connection."""
    return "getresponse" in conn.__dict__ or isinstance(conn.sock, PlayedSocket)


def _send(conn: Any, method: str, lane: Lane, crossing: Live, send: Callable[[], None]) -> None:
    crossing.ready().wait()
    try:
        with crossing.enter():
            send()
    except http_exchange.RAISED as error:
        _fail(lane, crossing, conn, error, "request")
        raise
    except BaseException:
        crossing.dropped(CANCELLED)
        raise
    setattr(conn, _UNDER_WAY, (lane, ResponseRecorder(crossing, method)))


def _fail(lane: Lane, crossing: Live, conn: Any, error: BaseException, phase: str) -> None:
    outcome = http_exchange.failure(lane, error, {"conn": conn}, {"phase": phase})
    if outcome is not None:
        crossing.settle(outcome).wait()


def _pretend(conn: Any, method: str, lane: Lane, crossing: Frozen) -> None:
    """Put the recorded answer in the place of the connection, or raise the recorded error of connecting."""
    failed: BaseException | None = None
    player = ResponsePlayer(crossing, method)
    try:
        if crossing.form == "stream":
            player.headed(crossing.head().wait().head)
        elif crossing.form != "open":  # an answer that never came fails only where it is read
            outcome = crossing.outcome().wait()
            failed = http_exchange.revive(lane, outcome, {"conn": conn})
            if outcome.head.get("phase") == "request":
                raise failed
    except BaseException as error:
        crossing.dropped()
        if not by_signal_handler(error):
            raise
        failed = error  # the interrupt belongs to the wait for the answer, later
    if conn.sock is not None:
        conn.sock.close()
    conn.sock = PlayedSocket(lane, player)
    setattr(conn, _UNDER_WAY, (lane, failed))


def _receiving(original: Any) -> Any:
    def getresponse(self: Any) -> Any:
        conn = self
        stdlib_by_hand.let_go(conn, _by_hand)
        lane, under_way = conn.__dict__.pop(_UNDER_WAY, (None, None))
        if isinstance(under_way, ResponseRecorder):
            return _receive(conn, lambda: original(conn), lane, under_way)
        if under_way is not None:
            conn.close()
            raise under_way
        if not isinstance(conn.sock, PlayedSocket) or lane is None:
            return original(conn)
        try:
            return original(conn)
        finally:
            conn.sock = None  # so that no later live request ever meets it

    return getresponse


def _closing(original: Any) -> Any:
    def close(self: Any) -> None:
        stdlib_by_hand.let_go(self, _by_hand)
        _, under_way = self.__dict__.pop(_UNDER_WAY, (None, None))
        if isinstance(under_way, ResponseRecorder):  # the program never read the answer
            under_way.dropped(CLOSED)
        original(self)

    return close


def _receive(conn: Any, receive: Any, lane: Lane, recorder: ResponseRecorder) -> Any:
    try:
        return tapped(conn, receive, lane, recorder)()
    except http_exchange.RAISED as error:
        if recorder.began:
            recorder.dropped(CLOSED)
        else:
            _fail(lane, recorder.crossing, conn, error, "response")
        raise
    except BaseException:
        recorder.dropped(CANCELLED)
        raise
