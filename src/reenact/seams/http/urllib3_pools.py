"""urllib3, and with it requests, botocore and every other client that stands on it.

The seam is one attempt on one connection (``HTTPConnectionPool._make_request``): below retries, above the socket.
Segments are the bytes of the connection (framing ``wire``). On replay the real http.client and urllib3 parse them from
a fake socket, which leaves the connection again before the pool can keep it.
"""

from __future__ import annotations

import io
import os
import socket
from collections.abc import Callable
from types import ModuleType
from typing import Any

from reenact.abc.session import Frozen, Live
from reenact.facts.call import Call, EndKind, Failure
from reenact.seams import patching
from reenact.seams.http import exchange
from reenact.seams.http.exchange import CANCELLED, CLOSED, EOF
from reenact.seams.http.wire import Player, Recorder
from reenact.seams.lanes import Lane, listening

TRIGGERS: tuple[str, ...] = ("urllib3.connectionpool",)

_DEFERRED = "_reenact_deferred"
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_PORTS = {"http": 80, "https": 443}


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
    except OSError as error:  # as urlopen does where it would have called it
        pool._raise_timeout(err=error, url=pool.proxy.url, timeout_value=conn.timeout)
        raise


def _attempts(original: Any) -> Any:
    def _make_request(self: Any, conn: Any, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
        lane = listening()
        if lane is None:
            _open_tunnel(self, conn)
            return original(self, conn, method, url, *args, **kwargs)
        if args:  # the body was passed by position
            kwargs["body"], *args = args  # type: ignore[assignment]
        body, kwargs["body"] = buffered(kwargs.get("body"))
        crossing = exchange.begin(lane, lambda: describe(self, method, url, kwargs.get("headers"), body))

        def attempt() -> Any:
            return original(self, conn, method, url, *_after_body(args, kwargs), **kwargs)

        if crossing is None:
            _open_tunnel(self, conn)
            return attempt()
        if crossing.mode == "live":
            return _perform(self, conn, method, attempt, lane, crossing)
        return _answer(self, conn, method, attempt, lane, crossing)

    return _make_request


def _after_body(args: Any, kwargs: dict[str, Any]) -> tuple[Any, ...]:
    return (kwargs.pop("body"), *args) if args else ()


def buffered(body: Any) -> tuple[bytes, Any]:
    """The bytes of a request body, and a body that sends exactly these with the same framing.

    Files and generators are read here, once."""
    if body is None:
        return b"", None
    if isinstance(body, str):
        return body.encode(), body
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body), body
    if hasattr(body, "read"):
        data = body.read()
        content = data.encode() if isinstance(data, str) else bytes(data)
        return content, io.BytesIO(content)
    try:
        parts = list(body)
    except TypeError:
        return bytes(memoryview(body)), body
    return b"".join(part.encode() if isinstance(part, str) else bytes(part) for part in parts), iter(parts)


def describe(pool: Any, method: str, url: str, headers: Any, body: bytes) -> Call:
    """One attempt as a call. The URL is the one of the resource, also behind a proxy."""
    if "://" not in url:
        port = "" if pool.port in (None, _PORTS.get(pool.scheme)) else f":{pool.port}"
        url = f"{pool.scheme}://{pool.host}{port}{url}"
    pairs = [[_text(name), _text(value)] for name, value in (headers or {}).items()]
    return exchange.describe(method, url, pairs, body, "urllib3")


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _perform(pool: Any, conn: Any, method: str, attempt: Callable[[], Any], lane: Lane, crossing: Live) -> Any:
    crossing.ready().wait()
    recorder = Recorder(crossing, method)
    receive = conn.getresponse

    def getresponse(*args: Any, **kwargs: Any) -> Any:
        recorder.extra["verified"] = [
            getattr(conn, "is_verified", None),
            getattr(conn, "proxy_is_verified", None),
        ]
        parse, own = conn.response_class, "response_class" in conn.__dict__
        # botocore reads the status line itself when the answer comes before the body was asked for
        known = getattr(parse, "keywords", {}).get("status_tuple")
        if known is not None:
            for turn in recorder.took(b"%s %d %s\r\n" % (known[0].encode(), known[1], known[2].strip().encode())):
                turn.wait()
        conn.response_class = lambda sock, *a, **k: parse(_TappedSocket(sock, lane, recorder), *a, **k)
        try:
            return receive(*args, **kwargs)
        finally:
            if own:
                conn.response_class = parse
            else:
                conn.__dict__.pop("response_class", None)

    world = _World(crossing)
    conn.connect, conn.send, conn.getresponse = world.over(conn.connect), world.over(conn.send), getresponse
    try:
        _open_tunnel(pool, conn)
        return attempt()
    except Exception as error:
        if recorder.began:  # the same bytes raise it again
            recorder.dropped(CLOSED)
        else:
            head = {"proxied": bool(getattr(conn, "has_connected_to_proxy", False))}
            outcome = exchange.failure(lane, error, {"pool": pool, "conn": conn}, head)
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
            raise exchange.revive(lane, outcome, {"pool": pool, "conn": conn})
        stream = crossing.head().wait()
    except BaseException:
        crossing.dropped()
        raise
    if conn.sock is not None:
        conn.close()
    conn.sock = _PlayedSocket(lane, Player(crossing, method))
    conn.is_verified, conn.proxy_is_verified = stream.head.get("verified", (True, None))
    try:
        return attempt()
    finally:
        conn.sock = None  # so that neither the pool nor a later live call ever meets it


class _World:
    """Marks what touches the world, connecting and sending, as below the seam. The rest of an attempt is the client's
    own code, which runs in a replay too."""

    __slots__ = ("_crossing", "_inside")

    def __init__(self, crossing: Live) -> None:
        self._crossing = crossing
        self._inside = False

    def over(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function`` below the seam; entered once when such functions call each other."""

        def touching(*args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return function(*args, **kwargs)
            self._inside = True
            try:
                with self._crossing.enter():
                    return function(*args, **kwargs)
            finally:
                self._inside = False

        return touching


class _TappedSocket:
    """A real socket as http.client's response sees it: it only ever asks for a file."""

    def __init__(self, sock: Any, lane: Lane, recorder: Recorder) -> None:
        self._sock = sock
        self._lane = lane
        self._recorder = recorder

    def makefile(self, mode: str = "rb", buffering: int | None = None) -> io.BufferedReader:
        raw = self._sock.makefile("rb", buffering=0)
        return io.BufferedReader(_Tap(raw, self._lane, self._recorder))


class _Tap(io.RawIOBase):
    """The receiving side of a real connection: bytes are noted, then handed on."""

    def __init__(self, inner: Any, lane: Lane, recorder: Recorder) -> None:
        super().__init__()
        self._inner = inner
        self._lane = lane
        self._recorder = recorder

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        recorder, lane = self._recorder, self._lane
        try:
            with recorder.crossing.enter():
                count: int | None = self._inner.readinto(buffer)
        except Exception as error:
            for turn in recorder.over(exchange.broken(lane, error)):
                turn.wait()
            raise
        if count:
            turns = recorder.took(bytes(memoryview(buffer)[:count]))
        elif count == 0:
            turns = recorder.over(EOF)
        else:
            return count
        for turn in turns:
            turn.wait()
        return count

    def close(self) -> None:
        if not self.closed:
            self._recorder.dropped(CLOSED)
            self._inner.close()
        super().close()


class _PlayedSocket:
    """What http.client finds where its socket should be. Sends nowhere."""

    def __init__(self, lane: Lane, player: Player) -> None:
        self._lane = lane
        self._player = player

    def makefile(self, mode: str = "rb", buffering: int | None = None) -> Any:
        if buffering == 0:  # botocore looks for the interim response that was not recorded
            return io.BytesIO(_CONTINUE)
        return io.BufferedReader(_Play(self._lane, self._player))

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Nothing: what is sent has been compared already."""

    def send(self, data: Any, flags: int = 0) -> int:
        return len(data)

    def settimeout(self, seconds: float | None) -> None:
        """Nothing: a recorded answer does not take time."""

    def gettimeout(self) -> float | None:
        return None

    def setsockopt(self, *args: Any) -> None:
        """Nothing."""

    def shutdown(self, how: int) -> None:
        self._player.dropped()

    def close(self) -> None:
        """Nothing: the response has a file of its own."""

    def fileno(self) -> int:
        return _readable()


class _Play(io.RawIOBase):
    """The receiving side of a recorded connection."""

    def __init__(self, lane: Lane, player: Player) -> None:
        super().__init__()
        self._lane = lane
        self._player = player
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        player = self._player
        if not self._rest:
            for turn in player.turns():
                player.took(turn.wait())
            self._rest = player.given
            if not self._rest:
                if player.end is not None and player.end.kind is not EndKind.EOF:
                    raise exchange.revive(self._lane, player.end)
                return 0
        into = memoryview(buffer)
        count = min(len(into), len(self._rest))
        into[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        if not self.closed:
            self._player.dropped()
        super().close()


_pair: tuple[int, int, int] | None = None


def _readable() -> int:
    """A descriptor that polls as readable for ever; made when first needed, and anew in a forked child."""
    global _pair
    if _pair is None or _pair[0] != os.getpid():
        one, other = socket.socketpair()
        other.send(b"x")
        _pair = (os.getpid(), one.detach(), other.detach())
    return _pair[1]
