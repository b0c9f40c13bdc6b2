"""``wsgi.input``: the body of a request, read on the application's demand, or from the recording.

While recording, each read is passed to the server's own stream with the same arguments, and its result is one segment.
Only data that the application reads is read, so a slow client does not block other code. A replay gives the same bytes
in the same portions.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reenact.abc.session import Frozen, Live
from reenact.facts.call import End, EndKind, ErrorFact
from reenact.facts.errors_as_data import describe_error, restore_error
from reenact.facts.lazy_dataclass import dataclass
from reenact.seams import lanes
from reenact.seams.lanes import Lane

_BY_THE_PIECE = "by_the_piece"
"""The mark in a head that the server's stream may give less than was asked for, and go on afterwards."""


@dataclass(frozen=True, slots=True)
class _Way:
    """How much of a body one read takes.

    Attributes:
        limit: The most bytes that it takes; -1 for any number.
        line: Whether it ends with a line.
        once: Whether it takes the bytes that have come, as soon as there are any.
    """

    limit: int
    line: bool = False
    once: bool = False

    def cut(self, data: bytes | bytearray) -> int:
        """How many of these bytes the read takes; -1 where it waits for more."""
        at = data.find(b"\n") + 1 if self.line else 0
        if at and (self.limit < 0 or at <= self.limit):
            return at
        if 0 <= self.limit <= len(data):
            return self.limit
        return len(data) if self.once and data else -1

    def rest(self, taken: int) -> _Way:
        """The rest of the read after this many bytes, which have not ended it."""
        return _Way(self.limit - taken if self.limit >= 0 else -1, self.line, self.once)


class Body:
    """The body of a request as its application reads it.

    Args:
        crossing: The request; its stream is the body.
        lane: Root of the request's run.
        environ: The application's environ; its own stream is the server's.
        headers: The request's headers, as they are kept with the body.
    """

    def __init__(self, crossing: Live | Frozen, lane: Lane, environ: Mapping[str, Any], headers: Any) -> None:
        self._crossing = crossing
        self._lane = lane
        self._source: Any = environ.get("wsgi.input")
        length = str(environ.get("CONTENT_LENGTH") or "")
        self._remaining = int(length) if length.isdigit() else -1
        self._by_the_piece = not isinstance(self._source, io.BufferedIOBase)
        self._ahead = b""
        self._over = False
        self._error: ErrorFact | None = None
        if crossing.mode == "live":
            crossing.head({"headers": headers, **({_BY_THE_PIECE: True} if self._by_the_piece else {})}).wait()
        else:
            self._by_the_piece = bool(crossing.head().wait().head.get(_BY_THE_PIECE))

    def __getattr__(self, name: str) -> Any:
        """An attribute of the server's stream: only the ways of reading are ours."""
        return getattr(self.__dict__["_source"], name)

    # --- reading -----------------------------------------------------------------------------------------------

    def read(self, size: int | None = -1, /) -> bytes:
        """Read as the server's stream does."""
        limit = _limit(size)
        return self._take(_Way(limit, once=self._by_the_piece and limit >= 0))

    def read1(self, size: int | None = -1, /) -> bytes:
        """The data that has come, at most ``size`` bytes."""
        return self._take(_Way(_limit(size), once=True))

    def readinto(self, buffer: Any, /) -> int:
        """``read`` into a buffer; gives how many bytes."""
        view = memoryview(buffer).cast("B")
        return _filled(view, self.read(len(view)))

    def readinto1(self, buffer: Any, /) -> int:
        """``read1`` into a buffer; gives how many bytes."""
        view = memoryview(buffer).cast("B")
        return _filled(view, self.read1(len(view)))

    def readline(self, size: int | None = -1, /) -> bytes:
        """The next line, or ``size`` bytes of it."""
        return self._take(_Way(_limit(size), line=True))

    def readlines(self, hint: int | None = -1, /) -> list[bytes]:
        """Lines, until they have ``hint`` bytes together."""
        lines, size = [], 0
        for line in self:
            lines.append(line)
            size += len(line)
            if hint is not None and 0 < hint <= size:
                break
        return lines

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def peek(self, size: int = 0, /) -> bytes:
        """The next data, without consuming it: at least a byte, unless the body is over."""
        if not self._ahead:
            self._ahead = self._take(_Way(max(size, io.DEFAULT_BUFFER_SIZE), once=True))
        return self._ahead

    def __enter__(self) -> Body:
        return self

    def __exit__(self, *failure: object) -> None:
        self._source.close()

    def unread(self) -> None:
        """The application reads no further."""
        if self._over:
            return
        self._over = True
        if self._crossing.mode == "live":
            self._crossing.dropped(End(EndKind.CLOSED))
        else:
            self._crossing.dropped()

    # --- what there is to read ---------------------------------------------------------------------------------

    def _take(self, way: _Way) -> bytes:
        data, self._ahead = bytearray(self._ahead), b""
        crossing = self._crossing
        if crossing.mode == "live":
            if way.cut(data) < 0:
                data += self._arriving(crossing, way.rest(len(data)))
        else:
            self._source.read(0)  # raises if the stream has been closed
            while way.cut(data) < 0 and not self._over:
                data += self._recorded(crossing)
            if not data and self._error is not None:
                raise restore_error(self._error)
        cut = way.cut(data)
        if cut >= 0:
            self._ahead = bytes(data[cut:])
            del data[cut:]
        return bytes(data)

    def _arriving(self, crossing: Live, way: _Way) -> bytes:
        """One read of the server's stream, noted."""
        try:
            data: bytes = self._beside(lambda: self._asked(way) or b"")
        except Exception as error:
            self._ended(crossing, End(EndKind.ERROR, describe_error(error)))
            raise
        if self._over:
            if data:
                self._lane.session.gap("bytes of a request that were read past its end", "wsgi.input")
            return data
        if data:
            crossing.segment(data).wait()
            if self._remaining > 0:
                self._remaining = max(0, self._remaining - len(data))
        if not data or not self._remaining or (way.cut(data) < 0 and not way.once):
            self._ended(crossing, End(EndKind.EOF))
        return data

    def _asked(self, way: _Way) -> Any:
        if way.line:
            return self._source.readline(way.limit)
        if way.once and not self._by_the_piece:
            return self._source.read1(way.limit)
        return self._source.read(io.DEFAULT_BUFFER_SIZE if way.once and way.limit < 0 else way.limit)

    def _beside(self, ask: Callable[[], Any]) -> Any:
        """Run the server's own code, which waits for the world, without a session."""
        caller = lanes.counted()
        counts = caller is not None and caller.gate is self._lane.gate
        if counts:
            self._lane.gate.blocked()
        try:
            with lanes.inside(None):
                return ask()
        finally:
            if counts:
                self._lane.gate.unblocked()

    def _ended(self, crossing: Live, end: End) -> None:
        if not self._over:
            self._over = True
            crossing.end(end).wait()

    def _recorded(self, crossing: Frozen) -> bytes:
        """The next recorded portion; the last one comes with the end."""
        part = crossing.part().wait()
        if not isinstance(part, End):
            if self._remaining > 0:
                self._remaining = max(0, self._remaining - len(part))
            if self._remaining:
                return part
            end = crossing.part().wait()
            assert isinstance(end, End)
            self._over = True
            return part
        self._over = True
        self._error = part.error
        return b""


io.BufferedIOBase.register(Body)


def _limit(size: int | None) -> int:
    return -1 if size is None or size < 0 else size


def _filled(view: memoryview, data: bytes) -> int:
    view[: len(data)] = data
    return len(data)
