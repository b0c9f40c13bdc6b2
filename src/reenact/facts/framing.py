"""HTTP/1 framing: the body inside the bytes of a connection, as they arrive.

Recorded segments are either the body (``payload``) or the connection's bytes (``wire``); readers of recordings use this
module to get the body out of the connection's bytes.
"""

from __future__ import annotations

from collections.abc import Mapping

from reenact.facts.call import Json

_LONGEST_LINE = 1 << 20


class Unframer:
    """Extracts the body of one response from the bytes of its connection. Never raises.

    Attributes:
        head: All bytes of the final response's head, with its empty line, once it has arrived.
        encoding: Its ``Content-Encoding``.
        slices: The places of the body's bytes in the last input: pairs of start and end.
    """

    __slots__ = ("_chunked", "_left", "_line", "encoding", "head", "slices")

    def __init__(self) -> None:
        self.head = b""
        self.encoding = ""
        self.slices: list[tuple[int, int]] = []
        self._chunked = False
        self._line = b""
        self._left = 0

    def feed(self, data: bytes) -> bytes:
        """The bytes of the body among further bytes of the connection."""
        self.slices = []
        at = 0
        if not self.head:
            self._line += data
            at = len(data) - len(self._take_head())
            if not self.head:
                return b""
        if self._chunked:
            self._take_chunks(data, at)
        elif at < len(data):
            self.slices.append((at, len(data)))
        return b"".join(data[start:end] for start, end in self.slices)

    def _take_chunks(self, data: bytes, at: int) -> None:
        while at < len(data):
            if self._left > 2:
                step = min(self._left - 2, len(data) - at)
                self.slices.append((at, at + step))
            elif self._left:
                step = min(self._left, len(data) - at)  # the line end after a chunk
            else:
                newline = data.find(b"\n", at)
                if newline < 0:
                    self._line = (self._line + data[at:])[:_LONGEST_LINE]
                    return
                size = _size(self._line + data[at:newline])
                self._line = b""
                at = newline + 1
                if size <= 0:
                    self._left = 2  # the trailer is ignored
                    return
                self._left = size + 2
                continue
            at += step
            self._left -= step

    def _take_head(self) -> bytes:
        while True:
            end = self._line.find(b"\r\n\r\n")
            if end < 0:
                self._line = self._line if len(self._line) < _LONGEST_LINE else b""
                return b""  # the head is not complete, so there is no body yet
            head, rest = self._line[: end + 4], self._line[end + 4 :]
            self._line = b""
            if head[:7] != b"HTTP/1." or head[9:10] != b"1" or head[9:12] == b"101":
                break
            self._line = rest  # an interim response
        self.head = head
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            field, text = name.strip().lower(), value.strip().decode("latin-1")
            if field == b"content-encoding":
                self.encoding = text
            elif field == b"transfer-encoding":
                self._chunked = "chunked" in text.lower()
        return rest


def _size(line: bytes) -> int:
    try:
        return int(line.partition(b";")[0].strip(), 16)
    except ValueError:
        return 0


def unframed(head: Mapping[str, Json], data: bytes) -> bytes:
    """The body (before content decoding) of recorded segments in either framing.

    Args:
        head: Head of the stream (``facts.call.Stream.head``).
        data: All segments joined.
    """
    if head.get("framing") != "wire":
        return data
    return Unframer().feed(data)


def header(head: Mapping[str, Json], name: str) -> str:
    """The value of the first header with a name (in lower case) in the head of a call or stream; empty when there is
    none."""
    for pair in head.get("headers") or ():
        if str(pair[0]).lower() == name:
            return str(pair[1])
    return ""
