"""Requests assembled by hand on ``http.client``: ``putrequest``, ``putheader``, ``endheaders``, ``send``.

``xmlrpc.client`` works this way, and so do programs that announce a body and send it piece by piece. Such a request is
known as a whole only with its last piece. So its pieces are held back until the announced body is complete, and then
sent unchanged as one exchange. At the latest they are sent when the program reads the response, takes the socket or
closes the connection. A request without a body is sent where ``endheaders`` would have sent it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reenact.seams.http.sockets import buffered
from reenact.seams.lanes import listening

_HELD = "_reenact_held"
_LAST = b"\r\n\r\n"
_LONGEST = 18
"""The most digits of an announced length; a longer one is not believed."""


class RequestPieces:
    """The pieces of one request so far, as they go over the wire; the first is its head."""

    __slots__ = ("_body", "_chunked", "_length", "_pieces", "_tail", "_transmit", "sock")

    def __init__(self, transmit: Callable[[Any, Any], None], head: Iterable[bytes]) -> None:
        """Nothing is held yet.

        Args:
            transmit: The real ``send``.
            head: The lines of the head, which announce what follows it.
        """
        announced = {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in head)}
        length = announced.get(b"content-length", b"")
        self._chunked = b"chunked" in announced.get(b"transfer-encoding", b"").lower()
        self._length = int(length) if length.isdigit() and len(length) <= _LONGEST and not self._chunked else 0
        self._body = 0
        self._tail = b""
        self._transmit = transmit
        self.sock: Any = None
        self._pieces: list[bytes] = []

    def take(self, data: Any) -> bool:
        """Keep a piece; False if ``send`` would refuse it."""
        if isinstance(data, str):
            return False
        try:
            piece = _read(data)
        except (TypeError, ValueError):
            return False
        if self._pieces:
            self._body += len(piece)
            self._tail = (self._tail + piece)[-len(_LAST) :]
        self._pieces.append(piece)
        return True

    @property
    def begun(self) -> bool:
        """Whether more than the head is here."""
        return len(self._pieces) > 1

    @property
    def complete(self) -> bool:
        """Whether the announced body is here."""
        if self._chunked:
            return self._tail == _LAST and unframed(b"".join(self._pieces[1:]))[1]
        return self._body >= self._length

    def asked(self) -> tuple[str, list[list[str]], bytes]:
        """URL, headers and body, the body without the framing of chunks."""
        first, *lines = self._pieces[0].decode("latin-1").replace("\r\n\t", "\t").split("\r\n")
        url = first.partition(" ")[2].rpartition(" ")[0]
        headers = [[name, value.strip()] for name, colon, value in (line.partition(":") for line in lines) if colon]
        body = b"".join(self._pieces[1:])
        return url, headers, unframed(body)[0] if self._chunked else body

    def send(self, conn: Any, added: Mapping[str, str] | None = None) -> None:
        """Send the pieces unchanged.

        Args:
            conn: The connection.
            added: Headers that are added to those of the program.
        """
        head, *rest = self._pieces
        if added:
            lines = "".join(f"{name}: {value}\r\n" for name, value in added.items())
            first, end, others = head.partition(b"\r\n")
            head = first + end + lines.encode("latin-1") + others
        for piece in (head, *rest):
            self._transmit(conn, piece)


def _read(data: Any) -> bytes:
    """The bytes of an argument of ``send``. The text of a file is encoded as ``http.client`` does it."""
    if hasattr(data, "read"):
        content = data.read()
        return content.encode("iso-8859-1") if isinstance(content, str) else bytes(content)
    return buffered(data)[0]


def unframed(sent: bytes) -> tuple[bytes, bool]:
    """A body without its chunked framing, and whether the last chunk is there. A wrongly framed body is unchanged."""
    chunks: list[bytes] = []
    at = 0
    try:
        while (end := sent.find(b"\r\n", at)) >= 0:
            size = int(sent[at:end].partition(b";")[0], 16)
            if size == 0:
                return b"".join(chunks), sent.endswith(_LAST)
            chunks.append(sent[end + 2 : end + 2 + size])
            at = end + 4 + size
    except ValueError:
        return sent, False
    return b"".join(chunks), False


Perform = Callable[[Any, RequestPieces], None]
"""Begins the exchange of a connection and sends what was held back."""


def holding(conn: Any) -> bool:
    """Whether the request of a connection is being assembled."""
    return _HELD in conn.__dict__


def let_go(conn: Any, perform: Perform) -> None:
    """Begin the exchange of what a connection holds back, if it holds anything."""
    held = conn.__dict__.pop(_HELD, None)
    if held is not None:
        if isinstance(conn.sock, Doorway):
            conn.sock = held.sock
        perform(conn, held)


class Doorway:
    """Replaces the socket of a connection while a request is held back. If a program takes the socket itself (to send a
    file, to read an interim response), the pieces so far are sent first.

    Args:
        conn: The connection.
        perform: Begins the exchange.
    """

    __slots__ = ("_conn", "_perform")

    def __init__(self, conn: Any, perform: Perform) -> None:
        self._conn = conn
        self._perform = perform

    def __getattr__(self, name: str) -> Any:
        let_go(self._conn, self._perform)
        return getattr(self._conn.sock, name)


def ending_headers(aside: Callable[[Any], bool], perform: Perform, transmit: Callable[[Any, Any], None]) -> Any:
    """A maker of ``endheaders`` that holds the request back until it is complete.

    Args:
        aside: Whether the request of a connection is seen elsewhere.
        perform: Begins the exchange.
        transmit: The real ``send``.
    """

    def make(original: Any) -> Any:
        def endheaders(self: Any, message_body: Any = None, *, encode_chunked: bool = False) -> None:
            if listening() is None or aside(self) or holding(self):
                original(self, message_body, encode_chunked=encode_chunked)
                return
            held = self.__dict__[_HELD] = RequestPieces(transmit, self._buffer)
            try:
                original(self, message_body, encode_chunked=encode_chunked)
            except BaseException:
                self.__dict__.pop(_HELD, None)
                raise
            if message_body is not None or held.complete:
                let_go(self, perform)
            else:
                held.sock, self.sock = self.sock, Doorway(self, perform)

        return endheaders

    return make


def sending(perform: Perform) -> Any:
    """A maker of ``send`` that adds to the held data."""

    def make(original: Any) -> Any:
        def send(self: Any, data: Any) -> None:
            held = self.__dict__.get(_HELD)
            if held is None:
                original(self, data)
            elif not held.take(data):
                let_go(self, perform)
                original(self, data)
            elif held.begun and held.complete:
                let_go(self, perform)

        return send

    return make
