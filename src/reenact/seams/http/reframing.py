"""Turns a body that was recorded without its connection back into the bytes of a connection, for clients that read
those.

A recording at the connection has the connection's bytes (framing ``wire``). A recording above it, or one imported from
another tool, has only the body (``payload``). Clients that are intercepted at their connection parse bytes, so a body
is framed for them as the recorded headers say it was.
"""

from __future__ import annotations

from collections.abc import Mapping

from reenact.abc.session import Frozen, Turn
from reenact.facts.call import End, EndKind, Json
from reenact.facts.framing import header
from reenact.seams.turns import MappedTurn, SuddenTurn

_LAST_CHUNK = b"0\r\n\r\n"
_BODILESS = frozenset({204, 304})


def head_bytes(head: Mapping[str, Json]) -> bytes:
    """The status line and headers of a response, as HTTP/1 writes them (no client of ours parses another version)."""
    version = head.get("version") if head.get("version") in ("HTTP/1.0", "HTTP/1.1") else "HTTP/1.1"
    lines = [f"{version} {head['status']} {head.get('reason') or ''}"]
    lines += [f"{name}: {value}" for name, value in head.get("headers") or ()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


def is_chunked(head: Mapping[str, Json], method: str) -> bool:
    """Whether the body of a response stands in chunks on its connection."""
    if method == "HEAD" or head["status"] in _BODILESS:
        return False
    return "chunked" in header(head, "transfer-encoding").lower()


class FramedAnswer:
    """A recorded answer that has only the body, as the bytes of a connection.

    Args:
        crossing: The recorded answer.
        head: Its head.
        method: The method of the request.
    """

    mode = "frozen"

    def __init__(self, crossing: Frozen, head: Mapping[str, Json], method: str) -> None:
        self._crossing = crossing
        self._lead = head_bytes(head)
        self._chunked = is_chunked(head, method)
        self._end: End | None = None
        self.event = crossing.event

    def part(self) -> Turn[bytes | End]:
        """The head at once, then each part of the body in its turn, then the end."""
        if self._lead:
            lead, self._lead = self._lead, b""
            return SuddenTurn(lambda: lead)
        if self._end is not None:
            end = self._end
            return SuddenTurn(lambda: end)
        return MappedTurn(self._crossing.part(), self._framed)

    def dropped(self) -> None:
        """The client reads no further."""
        self._crossing.dropped()

    def _framed(self, part: bytes | End) -> bytes | End:
        if not self._chunked:
            return part
        if not isinstance(part, End):
            return b"%x\r\n%b\r\n" % (len(part), part)
        if part.kind is not EndKind.EOF:
            return part
        self._end = part
        return _LAST_CHUNK
