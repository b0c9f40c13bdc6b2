"""urllib3, and with it requests, botocore and every other client that uses it.

The seam is one attempt on one connection (``HTTPConnectionPool._make_request``): below retries, above the socket.
Segments are the bytes of the connection (framing ``wire``). On replay the real http.client and urllib3 parse them from
a fake socket, which leaves the connection again before the pool can keep it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from reenact.abc.session import Frozen, Live
from reenact.facts.call import Call, Failure
from reenact.seams import patching
from reenact.seams.http import http_exchange
from reenact.seams.http.http_exchange import CANCELLED, CLOSED
from reenact.seams.http.outgoing_request import going_out, pairs_of
from reenact.seams.http.response_bytes import ResponsePlayer, ResponseRecorder
from reenact.seams.http.sockets import PlayedSocket, World, buffered, tapped
from reenact.seams.lanes import Lane, listening

_DEFERRED = "_reenact_deferred"
_PORTS = {"http": 80, "https": 443}
_TLS = ("cert_reqs", "ca_certs", "ca_cert_dir", "cert_file", "key_file", "key_password")
_OF_TLS = ("ssl_context", "ssl_minimum_version", "ssl_maximum_version")
"""How a pool checks its server, as its own attributes and as options of its connections."""


def patch(module: ModuleType) -> None:
    """Intercept the connection pools of urllib3."""
    patching.replace(module.HTTPConnectionPool, "_make_request", _attempts)
    patching.replace(module.HTTPSConnectionPool, "_prepare_proxy", _deferring)


def _deferring(original: Any) -> Any:
    """A tunnel through a proxy is part of the exchange that needs it, so it is opened inside its crossing."""

    def _prepare_proxy(self: Any, conn: Any) -> None:
        if listening() is None:
            original(self, conn)
        else:
            setattr(conn, _DEFERRED, original)

    return _prepare_proxy


def _open_tunnel(pool: Any, conn: Any) -> None:
    prepare = conn.__dict__.pop(_DEFERRED, None)
    if prepare is None:
        return
    try:
        prepare(pool, conn)
    except OSError as error:  # as ``urlopen`` does, which would have called ``prepare``
        pool._raise_timeout(err=error, url=pool.proxy.url, timeout_value=conn.timeout)
        raise


def _attempts(original: Any) -> Any:
    def _make_request(self: Any, conn: Any, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
        lane = listening()
        if lane is None:
            _open_tunnel(self, conn)
            return original(self, conn, method, url, *args, **kwargs)
        pool = self
        if args:  # the body was passed by position
            kwargs["body"], *args = args  # type: ignore[assignment]
        body, kwargs["body"] = buffered(kwargs.get("body"))
        crossing = http_exchange.begin(lane, lambda: describe(self, method, url, kwargs.get("headers"), body))

        def attempt() -> Any:
            return original(pool, conn, method, url, *_after_body(args, kwargs), **kwargs)

        if crossing is None:
            _open_tunnel(self, conn)
            return attempt()
        if crossing.mode == "live":
            whole = _whole(self, url)
            out = going_out(crossing, whole, kwargs.get("headers"), body)
            if out is not None:
                kwargs["headers"] = out.headers(kwargs.get("headers"))
                url = url if out.url is whole else _form(url, out.url)
                kwargs["body"] = kwargs["body"] if out.body is body else out.body
                if out.host:
                    pool, conn = _elsewhere(pool, out.url)
                    kwargs |= {"response_conn": conn} if "response_conn" in kwargs else {}
            return _perform(pool, conn, method, attempt, lane, crossing)
        return _answer(pool, conn, method, attempt, lane, crossing)

    return _make_request


def _after_body(args: Any, kwargs: dict[str, Any]) -> tuple[Any, ...]:
    return (kwargs.pop("body"), *args) if args else ()


def describe(pool: Any, method: str, url: str, headers: Any, body: bytes) -> Call:
    """One attempt as a call. The URL is the one of the resource, also behind a proxy."""
    return http_exchange.describe(method, _whole(pool, url), pairs_of(headers), body, "urllib3")


def _whole(pool: Any, url: str) -> str:
    """The URL of a resource that a pool is asked for by its path, or behind a proxy by the whole URL."""
    if "://" in url:
        return url
    port = "" if pool.port in (None, _PORTS.get(pool.scheme)) else f":{pool.port}"
    return f"{pool.scheme}://{pool.host}{port}{url}"


def _form(given: str, whole: str) -> str:
    """The URL ``whole`` in the form of ``given``: whole, or from its path on. Inside a tunnel it is only the path."""
    parts = urlsplit(whole)
    if "://" in given and parts.scheme == "http":
        return whole
    return urlunsplit(("", "", parts.path or "/", parts.query, ""))


def _elsewhere(pool: Any, url: str) -> tuple[Any, Any]:
    """A pool like this one for the host of a URL, through the same proxy if there is one, and one of its connections.

    The response holds both, and gives the connection back to that pool."""
    module = sys.modules["urllib3.connectionpool"]
    parts = urlsplit(url)
    options = {"timeout": pool.timeout, "maxsize": 1}
    if parts.scheme == "https":
        options |= {name: found for name in _TLS if (found := getattr(pool, name, None)) is not None}
        options |= {name: pool.conn_kw[name] for name in _OF_TLS if name in pool.conn_kw}
    if pool.proxy is not None:
        options |= {"_proxy": pool.proxy, "_proxy_headers": pool.proxy_headers, "_proxy_config": pool.proxy_config}
        if parts.scheme == "http":
            return pool, pool._get_conn()
    other = module.connection_from_url(f"{parts.scheme}://{parts.netloc}", **options)
    conn = other._get_conn()
    if pool.proxy is not None:
        other._prepare_proxy(conn)
    return other, conn


def _perform(pool: Any, conn: Any, method: str, attempt: Callable[[], Any], lane: Lane, crossing: Live) -> Any:
    crossing.ready().wait()
    recorder = ResponseRecorder(crossing, method)
    world = World(crossing)
    conn.connect, conn.send = world.over(conn.connect), world.over(conn.send)
    conn.getresponse = tapped(conn, conn.getresponse, lane, recorder)
    try:
        _open_tunnel(pool, conn)
        return attempt()
    except http_exchange.RAISED as error:
        if recorder.began:  # in a replay the same bytes raise the error again
            recorder.dropped(CLOSED)
        else:
            head = {"proxied": bool(getattr(conn, "has_connected_to_proxy", False))}
            outcome = http_exchange.failure(lane, error, {"pool": pool, "conn": conn}, head)
            if outcome is not None:
                crossing.settle(outcome).wait()
        raise
    except BaseException:
        recorder.dropped(CANCELLED)
        raise
    finally:
        for name in ("connect", "send", "getresponse"):
            conn.__dict__.pop(name, None)


def _answer(pool: Any, conn: Any, method: str, attempt: Callable[[], Any], lane: Lane, crossing: Frozen) -> Any:
    conn.__dict__.pop(_DEFERRED, None)
    try:
        if crossing.form != "stream":
            outcome = crossing.outcome().wait()
            if isinstance(outcome, Failure) and outcome.head.get("proxied"):
                conn._has_connected_to_proxy = True
            raise http_exchange.revive(lane, outcome, {"pool": pool, "conn": conn})
        stream = crossing.head().wait()
    except BaseException:
        crossing.dropped()
        raise
    if conn.sock is not None:
        conn.close()
    conn.sock = PlayedSocket(lane, ResponsePlayer(crossing, method).headed(stream.head))
    conn.is_verified, conn.proxy_is_verified = stream.head.get("verified", (True, None))
    try:
        return attempt()
    finally:
        conn.sock = None  # so that neither the pool nor a later live call ever meets it
