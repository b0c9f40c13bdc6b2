"""Follows the bytes of one HTTP/1 response, to find the end of its head and the end of the response.

Used by the clients that are intercepted at their connection (framing ``wire``). ``Wire`` is pure; ``ResponseRecorder``
and ``ResponsePlayer`` turn bytes into the turns of a crossing, which the caller waits for in its own colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reenact.abc.session import Frozen, Live, Turn
from reenact.facts.call import End, EndKind, Json
from reenact.seams.http.reframing import FramedAnswer

_BODILESS = frozenset({204, 304})
_LONGEST_HEAD = 1 << 20

_HEAD, _LENGTH, _SIZE, _CHUNK, _CHUNK_END, _TRAILER, _CLOSE, _DONE = range(8)


class Wire:
    """Follows one response.

    Attributes:
        head: ``status``, ``reason``, ``version`` and ``headers`` of the final response once they have arrived. Interim
            responses (1xx, but 101) are passed over.
        complete: Whether the response has ended by its own framing. A response that ends with its connection is never
            complete.
    """

    __slots__ = ("_bodiless", "_left", "_line", "_lines", "_state", "complete", "head")

    def __init__(self, method: str) -> None:
        self.head: dict[str, Json] | None = None
        self.complete = False
        self._bodiless = method == "HEAD"
        self._state = _HEAD
        self._line = bytearray()
        self._lines: list[str] = []
        self._left = 0

    def take(self, data: bytes) -> None:
        """Follow the next bytes. Never raises: other bytes than HTTP never have a head, or never end."""
        at, size = 0, len(data)
        while at < size and self._state not in (_DONE, _CLOSE):
            if self._state in (_LENGTH, _CHUNK):
                step = min(self._left, size - at)
                at += step
                self._left -= step
                if not self._left:
                    self._enter(_DONE if self._state == _LENGTH else _CHUNK_END)
                continue
            newline = data.find(b"\n", at)
            if newline < 0:
                self._line += data[at:]
                if len(self._line) > _LONGEST_HEAD:
                    self._enter(_CLOSE)
                return
            self._line += data[at:newline]
            at = newline + 1
            line = self._line.rstrip(b"\r").decode("latin-1")
            self._line.clear()
            self._take_line(line)

    def _enter(self, state: int) -> None:
        self._state = state
        self.complete = state == _DONE

    def _take_line(self, line: str) -> None:
        if self._state == _HEAD:
            if line:
                self._lines.append(line)
            elif self._lines:
                self._end_head()
        elif self._state == _SIZE:
            try:
                self._left = int(line.partition(";")[0].strip(), 16)
            except ValueError:
                self._enter(_CLOSE)
                return
            self._enter(_CHUNK if self._left else _TRAILER)
        elif self._state == _CHUNK_END:
            self._enter(_SIZE)
        elif not line:  # the trailer ends
            self._enter(_DONE)

    def _end_head(self) -> None:
        version, _, rest = self._lines[0].partition(" ")
        code, _, reason = rest.partition(" ")
        lines, self._lines = self._lines[1:], []
        if not version.startswith("HTTP/") or not code.isdigit():
            self._enter(_CLOSE)
            return
        status = int(code)
        if 100 <= status < 200 and status != 101:
            return
        headers: list[list[str]] = []
        for line in lines:
            if line[0] in " \t" and headers:
                headers[-1][1] += " " + line.strip()
            else:
                name, _, value = line.partition(":")
                headers.append([name, value.strip()])
        self.head = {"status": status, "reason": reason, "version": version, "headers": headers, "framing": "wire"}
        self._frame(status, headers)

    def _frame(self, status: int, headers: list[list[str]]) -> None:
        fields = {name.lower(): value for name, value in headers}
        length = fields.get("content-length", "")
        if self._bodiless or status in _BODILESS:
            self._enter(_DONE)
        elif status == 101:
            self._enter(_CLOSE)
        elif "chunked" in fields.get("transfer-encoding", "").lower():
            self._enter(_SIZE)
        elif length.isdigit():
            self._left = int(length)
            self._enter(_LENGTH if self._left else _DONE)
        else:
            self._enter(_CLOSE)


class ResponseRecorder:
    """Notes the bytes of one live response.

    Attributes:
        began: Whether the head has been noted.
        ended: Whether the end has been noted.
        extra: Facts to keep in the head beside those on the wire.
    """

    __slots__ = ("_held", "_wire", "began", "crossing", "ended", "extra")

    def __init__(self, crossing: Live, method: str) -> None:
        self.crossing = crossing
        self.began = False
        self.ended = False
        self.extra: dict[str, Json] = {}
        self._wire = Wire(method)
        self._held: list[bytes] = []

    @property
    def status(self) -> int | None:
        """Status of the final response, once it has arrived."""
        head = self._wire.head
        return None if head is None else head["status"]

    def took(self, data: bytes) -> Iterator[Turn[None]]:
        """The turns to wait for, one by one, before ``data`` may be handed to the client.

        Bytes of an incomplete head take no turn: the agent does not see them yet."""
        if self.ended:
            return
        self._wire.take(data)
        if not self.began:
            self._held.append(data)
            head = self._wire.head
            if head is None:
                return
            self.began = True
            yield self.crossing.head({**head, **self.extra})
            held, self._held = self._held, []
            for piece in held:
                yield self.crossing.segment(piece)
        else:
            yield self.crossing.segment(data)
        if self._wire.complete:
            self.ended = True
            yield self.crossing.end(End(EndKind.EOF))

    def over(self, end: End) -> Iterator[Turn[None]]:
        """The turn of an end that the connection brought: its close, or an error. None before the head: the client
        raises then, and what it raises is the outcome."""
        if self.began and not self.ended:
            self.ended = True
            yield self.crossing.end(end)

    def dropped(self, end: End) -> None:
        """The client reads no further."""
        if not self.ended:
            self.ended = True
            self.crossing.dropped(end)


class ResponsePlayer:
    """Plays the bytes of one recorded response: the twin of ``ResponseRecorder``, turn for turn.

    Attributes:
        end: The end of the response, once it is reached.
    """

    __slots__ = ("_method", "_wire", "crossing", "end", "given")

    def __init__(self, crossing: Frozen, method: str) -> None:
        self.crossing: Frozen | FramedAnswer = crossing
        self.end: End | None = None
        self.given = b""
        self._method = method
        self._wire = Wire(method)

    def headed(self, head: Mapping[str, Json]) -> ResponsePlayer:
        """The answer with the recorded head, by which a bare body is framed. Called before the first part is read."""
        if head.get("framing") != "wire" and not isinstance(self.crossing, FramedAnswer):
            self.crossing = FramedAnswer(self.crossing, head, self._method)
        return self

    def turns(self) -> Iterator[Turn[Any]]:
        """The turns to wait for; ``took`` gets each result. Then ``given`` has the next bytes, or ``end`` is set."""
        self.given = b""
        if self.end is not None:
            return
        yield self.crossing.part()
        if self.given and self._wire.complete:
            yield self.crossing.part()

    def took(self, part: bytes | End) -> None:
        """The result of a turn."""
        if isinstance(part, End):
            self.end = part
        else:
            self.given = part
            self._wire.take(part)

    def dropped(self) -> None:
        """The client reads no further."""
        if self.end is None:
            self.crossing.dropped()
