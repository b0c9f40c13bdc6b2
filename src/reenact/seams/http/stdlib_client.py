"""The standard library's ``http.client``, and with it ``urllib.request``.

The seam is one request on one connection, from ``HTTPConnection.request`` to the response that ``getresponse`` gives.
Segments are the bytes of the connection (framing ``wire``); on replay the real response class parses them. Requests
that a program assembles by hand (``putrequest`` … ``endheaders``) are not seen, nor are those of urllib3, which has a
seam of its own above this one.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from reenact.abc.session import Frozen, Live
from reenact.facts.call import Call
from reenact.seams import patching
from reenact.seams.http import exchange
from reenact.seams.http.exchange import CANCELLED, CLOSED
from reenact.seams.http.outgoing import following, pairs_of
from reenact.seams.http.sockets import PlayedSocket, buffered, tapped
from reenact.seams.http.wire import Player, Recorder
from reenact.seams.lanes import Lane, listening

TRIGGERS: tuple[str, ...] = ("http.client",)

_UNDER_WAY = "_reenact_under_way"
_TLS_PORT = 443


def patch(module: ModuleType) -> None:
    """Intercept the connections of ``http.client``."""
    patching.replace(module.HTTPConnection, "_send_request", _requesting)
    patching.replace(module.HTTPConnection, "getresponse", _receiving)


def describe(conn: Any, method: str, url: str, headers: Any, body: bytes) -> Call:
    """One request as a call. Behind a tunnel the URL is the one at its far end."""
    if "://" not in url:
        scheme = "https" if conn.default_port == _TLS_PORT else "http"
        host, port = (conn._tunnel_host, conn._tunnel_port) if conn._tunnel_host else (conn.host, conn.port)
        host = f"[{host}]" if ":" in host else host
        url = f"{scheme}://{host}{'' if port == conn.default_port else f':{port}'}{url}"
    return exchange.describe(method, url, pairs_of(headers), body, "http.client")


def _requesting(original: Any) -> Any:
    def _send_request(self: Any, method: str, url: str, body: Any, headers: Any, *args: Any) -> None:
        conn = self
        conn.__dict__.pop(_UNDER_WAY, None)
        lane = listening()
        if lane is None or _seen_above(conn):
            original(conn, method, url, body, headers, *args)
            return
        content, body = buffered(body)
        crossing = exchange.begin(lane, lambda: describe(conn, method, url, headers, content))
        if crossing is None:
            original(conn, method, url, body, headers, *args)
        elif crossing.mode == "live":
            sent = crossing.sends(content)
            if sent is not content:
                body, headers = sent, following(headers, sent)
            _send(conn, method, lane, crossing, lambda: original(conn, method, url, body, headers, *args))
        else:
            _pretend(conn, method, lane, crossing)
            original(conn, method, url, body, headers, *args)

    return _send_request


def _seen_above(conn: Any) -> bool:
    """Whether an older urllib3, which builds on this method, is already in an exchange on the connection."""
    return "getresponse" in conn.__dict__ or isinstance(conn.sock, PlayedSocket)


def _send(conn: Any, method: str, lane: Lane, crossing: Live, send: Any) -> None:
    crossing.ready().wait()
    try:
        with crossing.enter():
            send()
    except exchange.RAISED as error:
        _fail(lane, crossing, conn, error, "request")
        raise
    except BaseException:
        crossing.dropped(CANCELLED)
        raise
    setattr(conn, _UNDER_WAY, (lane, Recorder(crossing, method)))


def _fail(lane: Lane, crossing: Live, conn: Any, error: BaseException, phase: str) -> None:
    outcome = exchange.failure(lane, error, {"conn": conn}, {"phase": phase})
    if outcome is not None:
        crossing.settle(outcome).wait()


def _pretend(conn: Any, method: str, lane: Lane, crossing: Frozen) -> None:
    """Put the recorded answer where the connection would be; raise what was raised before there was one."""
    failed: BaseException | None = None
    try:
        if crossing.form == "stream":
            crossing.head().wait()
        else:
            outcome = crossing.outcome().wait()
            failed = exchange.revive(lane, outcome, {"conn": conn})
            if outcome.head.get("phase") == "request":
                raise failed
    except BaseException:
        crossing.dropped()
        raise
    if conn.sock is not None:
        conn.sock.close()
    conn.sock = PlayedSocket(lane, Player(crossing, method))
    setattr(conn, _UNDER_WAY, (lane, failed))


def _receiving(original: Any) -> Any:
    def getresponse(self: Any) -> Any:
        conn = self
        lane, under_way = conn.__dict__.pop(_UNDER_WAY, (None, None))
        if isinstance(under_way, Recorder):
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


def _receive(conn: Any, receive: Any, lane: Lane, recorder: Recorder) -> Any:
    try:
        return tapped(conn, receive, lane, recorder)()
    except exchange.RAISED as error:
        if recorder.began:
            recorder.dropped(CLOSED)
        else:
            _fail(lane, recorder.crossing, conn, error, "response")
        raise
    except BaseException:
        recorder.dropped(CANCELLED)
        raise
