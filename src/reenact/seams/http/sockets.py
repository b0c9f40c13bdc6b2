"""The two ends of a connection as http.client sees them: a real connection, whose bytes are noted, and a recorded one.

http.client asks its socket for little: somewhere to send, and a file to read the response from. So only that file of a
real socket is replaced, and a recorded connection needs no socket at all.
"""

from __future__ import annotations

import io
import os
import socket
from collections.abc import Callable
from typing import Any

from reenact.abc.session import Live
from reenact.facts.call import EndKind
from reenact.seams.http import http_exchange
from reenact.seams.http.http_exchange import CLOSED, EOF
from reenact.seams.http.response_bytes import ResponsePlayer, ResponseRecorder
from reenact.seams.lanes import Lane

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


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


class World:
    """Marks connecting and sending as below the seam. The rest of an attempt is client code, which replays run."""

    __slots__ = ("_crossing", "_inside")

    def __init__(self, crossing: Live) -> None:
        self._crossing = crossing
        self._inside = False

    def over(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function`` below the seam; if such functions call each other, the seam is entered once."""

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


class TappedSocket:
    """A real socket as http.client's response sees it: the response only asks for a file."""

    def __init__(self, sock: Any, lane: Lane, recorder: ResponseRecorder) -> None:
        self._sock = sock
        self._lane = lane
        self._recorder = recorder

    def makefile(self, mode: str = "rb", buffering: int | None = None) -> io.BufferedReader:
        """The file that a response is read from."""
        raw = self._sock.makefile("rb", buffering=0)
        return io.BufferedReader(_Tap(raw, self._lane, self._recorder))


class _Tap(io.RawIOBase):
    """The receiving side of a real connection: bytes are noted, then handed on."""

    def __init__(self, inner: Any, lane: Lane, recorder: ResponseRecorder) -> None:
        super().__init__()
        self._inner = inner
        self._lane = lane
        self._recorder = recorder

    def readable(self) -> bool:
        """True, always."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """The next bytes of the connection, once they are noted."""
        recorder, lane = self._recorder, self._lane
        try:
            with recorder.crossing.enter():
                count: int | None = self._inner.readinto(buffer)
        except http_exchange.RAISED as error:
            for turn in recorder.over(http_exchange.broken(lane, error)):
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
        """The client reads no further."""
        if not self.closed:
            self._recorder.dropped(CLOSED)
            self._inner.close()
        super().close()


class PlayedSocket:
    """The object in place of http.client's socket. It sends nothing."""

    def __init__(self, lane: Lane, player: ResponsePlayer) -> None:
        self._lane = lane
        self._player = player

    def makefile(self, mode: str = "rb", buffering: int | None = None) -> Any:
        """The file that a response is read from."""
        if buffering == 0:  # botocore looks for the interim response that was not recorded
            return io.BytesIO(_CONTINUE)
        return io.BufferedReader(_Play(self._lane, self._player))

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Nothing is sent: the data was compared already.

        Raises:
            TypeError: A socket cannot send the data; ``http.client`` then tries another way.
        """
        try:
            memoryview(data).release()
        except TypeError:
            raise TypeError(f"a bytes-like object is required, not {type(data).__name__!r}") from None

    def send(self, data: Any, flags: int = 0) -> int:
        """Everything is sent at once, nowhere."""
        return len(data)

    def settimeout(self, seconds: float | None) -> None:
        """Set nothing: a recorded answer does not take time."""

    def gettimeout(self) -> float | None:
        """None: a recorded answer does not take time."""
        return None

    def setsockopt(self, *args: Any) -> None:
        """Set nothing: there is no socket."""

    def shutdown(self, how: int) -> None:
        """The client reads no further."""
        self._player.dropped()

    def close(self) -> None:
        """Close nothing: the response has a file of its own."""

    def fileno(self) -> int:
        """A descriptor to poll: always readable."""
        return _readable()


class _Play(io.RawIOBase):
    """The receiving side of a recorded connection."""

    def __init__(self, lane: Lane, player: ResponsePlayer) -> None:
        super().__init__()
        self._lane = lane
        self._player = player
        self._rest = b""

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next recorded bytes, in turn."""
        player = self._player
        if not self._rest:
            for turn in player.turns():
                player.took(turn.wait())
            self._rest = player.given
            if not self._rest:
                if player.end is not None and player.end.kind is not EndKind.EOF:
                    raise http_exchange.revive(self._lane, player.end)
                return 0
        into = memoryview(buffer)
        count = min(len(into), len(self._rest))
        into[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        """The client reads no further."""
        if not self.closed:
            self._player.dropped()
        super().close()


_pair: tuple[int, int, int] | None = None


def _readable() -> int:
    """A descriptor that polls as readable for ever; made when first needed, and again in a forked child."""
    global _pair
    if _pair is None or _pair[0] != os.getpid():
        one, other = socket.socketpair()
        other.send(b"x")
        _pair = (os.getpid(), one.detach(), other.detach())
    return _pair[1]


def tapped(conn: Any, receive: Callable[..., Any], lane: Lane, recorder: ResponseRecorder) -> Callable[..., Any]:
    """``conn.getresponse`` with a response that notes the bytes it reads.

    Args:
        conn: An ``http.client`` connection, or one derived from it.
        receive: Its ``getresponse``.
        lane: The lane of the exchange.
        recorder: Notes the bytes.
    """

    def getresponse(*args: Any, **kwargs: Any) -> Any:
        verified = getattr(conn, "is_verified", None), getattr(conn, "proxy_is_verified", None)
        recorder.extra["verified"] = list(verified)
        parse, own = conn.response_class, "response_class" in conn.__dict__
        # botocore reads the status line itself when the answer comes before the body was asked for
        known = getattr(parse, "keywords", {}).get("status_tuple")
        if known is not None:
            for turn in recorder.took(b"%s %d %s\r\n" % (known[0].encode(), known[1], known[2].strip().encode())):
                turn.wait()
        conn.response_class = lambda sock, *a, **k: parse(TappedSocket(sock, lane, recorder), *a, **k)
        try:
            return receive(*args, **kwargs)
        finally:
            if own:
                conn.response_class = parse
            else:
                conn.__dict__.pop("response_class", None)

    return getresponse
