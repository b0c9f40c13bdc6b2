"""Streams: cleaning one response as its head and segments arrive.

Plain text goes through a tail. A compressed body is decoded while it is kept. If the body is clean, the recorded bytes
stay unchanged; else it is stored decoded, and the head says so. Media that are no text pass untouched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reenact.facts.call import Fidelity, Json
from reenact.facts.compression import Decoder
from reenact.facts.framing import Unframer, header
from reenact.facts.lazy_dataclass import replace
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.record import HeadArrived, Record, SegmentArrived
from reenact.facts.views import HEAD, is_media
from reenact.privacy.eraser import Eraser
from reenact.privacy.joins import Joiner, joined
from reenact.privacy.tails import Tail, TailPart

HELD = 1 << 20
"""The most decoded bytes of one compressed body that are held until it is known to be clean."""
_RATIO = 16 << 20
_OPAQUE = (
    *("image/", "audio/", "video/", "font/", "application/zip", "application/gzip", "application/wasm"),
    "application/x-tar",
)
NOTE = "credentials"
_EVENTS = (
    "text/event-stream",
    "application/x-ndjson",
    "application/jsonl",
    "application/ndjson",
    "application/json-seq",
)
_FRAMES = "application/vnd.amazon.eventstream"
_LINES = (b"data:", b"event:", b"id:", b": ")
_ENTRY = lazy_regex(rb'\{"[^\n]{1,16384}\}\r?\n(?=\{|\Z)')
"""A line that is a JSON object: such a body is read as lines of JSON, whatever its media type."""
_LATE = "credentials in a long compressed body"

_Item = tuple[SegmentArrived, list[tuple[int, int]]]


class PlainStream:
    """A body without compression.

    Args:
        eraser: The eraser.
        wire: Whether segments begin with the head of the response.
        text: Whether the body is text; if not, only the head on the wire is cleaned.
        media: The media type of the body.
    """

    __slots__ = ("_eraser", "_framing", "_head", "_joiner", "_media", "_sniffed", "_tail", "_text")

    def __init__(self, eraser: Eraser, *, wire: bool, text: bool, media: str = "") -> None:
        self._eraser = eraser
        self._tail: Tail[_Item] = Tail(eraser)
        self._framing = Unframer() if wire else None
        self._head: list[SegmentArrived] | None = [] if wire else None
        self._text = text
        self._media = media
        self._sniffed = False
        self._joiner: Joiner[_Item] | None = None

    def feed(self, record: SegmentArrived) -> list[Record]:
        """Take a segment, and return the decided ones."""
        if self._head is not None:
            self._head.append(record)
            joined = b"".join(one.data for one in self._head)
            if b"\r\n\r\n" not in joined and len(joined) < 1 << 20:
                return []
            return self._past_head(joined)
        return self._body(record)

    def rest(self) -> list[Record]:
        """The records that are still held back."""
        if self._head:
            return [*self._past_head(b"".join(one.data for one in self._head)), *self.rest()]
        out: list[Record] = []
        if self._joiner is not None:
            for item, body in self._joiner.rest():
                out += self._past_joiner(item, body)
        return out + self._labelled(self._tail.rest())

    def held(self) -> list[HeadArrived | SegmentArrived]:
        """The segments that are held back, raw: for a caller that withholds them."""
        joining = () if self._joiner is None else self._joiner.items()
        return [*(self._head or ()), *(item[0] for item in self._tail.items()), *(item[0] for item in joining)]

    def _past_head(self, joined: bytes) -> list[Record]:
        """Clean the lines of the head by name, now that it has arrived, and return the held segments, cut as before."""
        held, self._head = self._head or [], None
        end = joined.rfind(b"\r\n\r\n", 0, _end_of_heads(joined)) + 4
        head = self._eraser.wire_head(joined[:end]) if end > 3 else b""
        cleaned = head + joined[len(head) :]
        out: list[Record] = []
        at = 0
        for record in held:
            data = cleaned[at : at + len(record.data)]
            at += len(record.data)
            if data != record.data:
                record = replace(record, data=data, fidelity=Fidelity.REDACTED, note=NOTE)  # noqa: PLW2901
            out += self._body(record)
        return out

    def _body(self, record: SegmentArrived) -> list[Record]:
        if not self._text:
            return [record]
        if self._framing is None:
            body, slices = record.data, [(0, len(record.data))]
        else:
            body, slices = self._framing.feed(record.data), self._framing.slices
        if not self._sniffed and body:
            self._sniff(body)
            if not self._text:
                return [record]
        item = (record, slices)
        if self._joiner is None:
            return self._labelled(self._tail.feed(item, body))
        out: list[Record] = []
        for ready, cleaned in self._joiner.feed(item, body):
            out += self._past_joiner(ready, cleaned)
        return out

    def _sniff(self, body: bytes) -> None:
        """Detect the kind of body, by its media type and its beginning."""
        self._sniffed = True
        if is_media(body[:HEAD]) and not body.startswith(b"%PDF"):
            self._text = False
        elif framed := self._media.startswith(_FRAMES):
            self._joiner = Joiner(self._eraser, frames=framed)
        elif self._media.startswith(_EVENTS) or body.startswith(_LINES) or _ENTRY.match(body) is not None:
            self._joiner = Joiner(self._eraser, frames=False)

    def _past_joiner(self, item: _Item, body: bytes) -> list[Record]:
        if self._media.startswith(_FRAMES):  # the joiner has searched the whole text
            return self._labelled([TailPart(item, body, True)])
        return self._labelled(self._tail.feed(item, body))

    def _labelled(self, parts: list[TailPart[_Item]]) -> list[Record]:
        withheld = self._tail.withheld
        out: list[Record] = []
        for (record, slices), body, _ in parts:
            data = _put_back(record.data, slices, body)
            if data == record.data:
                out.append(record)
            elif withheld:
                out.append(replace(record, data=data, fidelity=Fidelity.WITHHELD, note="could not be cleaned"))
            else:
                out.append(replace(record, data=data, fidelity=Fidelity.REDACTED, note=NOTE))
        return out


def _put_back(data: bytes, slices: list[tuple[int, int]], body: bytes) -> bytes:
    """The bytes of a connection, in which another body of the same length stands in the place of its body."""
    out = bytearray(data)
    at = 0
    for start, end in slices:
        out[start:end] = body[at : at + end - start]
        at += end - start
    return bytes(out)


_STATUS = lazy_regex(rb"HTTP/1\.\d 1(?!01)\d\d")


def _end_of_heads(joined: bytes) -> int:
    """The end of the head of the final response, after interim ones."""
    end = joined.find(b"\r\n\r\n")
    while end >= 0 and _STATUS.match(joined, joined.rfind(b"\r\n\r\n", 0, end) + 4 if end else 0):
        following = joined.find(b"\r\n\r\n", end + 4)
        if following < 0:
            break
        end = following
    return end + 4 if end >= 0 else 0


class EncodedStream:
    """A compressed body.

    Its head is held as well, until it is known whether the body is stored as it came, or decoded.
    """

    __slots__ = ("_clean", "_decoder", "_dirty", "_eraser", "_events", "_framing", "_head", "_held", "_plain", "_size")

    def __init__(self, eraser: Eraser, head: HeadArrived, encoding: str) -> None:
        self._eraser = eraser
        self._head: HeadArrived | None = head
        self._decoder = Decoder(encoding)
        self._framing = Unframer() if head.head.get("framing") == "wire" else None
        self._held: list[SegmentArrived] = []
        self._plain = bytearray()
        self._events = header(head.head, "content-type").strip().lower().startswith(_EVENTS)
        self._size = 0
        self._dirty = False
        self._clean: Tail[None] | None = None

    def feed(self, record: SegmentArrived) -> list[Record]:
        """Take a segment, and return the decided ones: none while the whole body is held."""
        if self._dirty:
            return [withheld_segment(record, _LATE)]
        body = record.data if self._framing is None else self._framing.feed(record.data)
        plain = self._decoder.feed(body, _RATIO)
        if self._clean is not None:
            parts = self._clean.feed(None, plain)
            self._dirty = any(part.changed for part in parts)
            return [withheld_segment(record, _LATE) if self._dirty else record]
        self._held.append(record)
        self._plain += plain
        self._size += len(record.data)
        if len(self._plain) <= HELD and self._size <= HELD:
            return []
        if self._found():
            return self.rest()
        self._clean = Tail(self._eraser)
        self._clean.feed(None, bytes(self._plain[-8192:]))
        return self._as_they_came()

    def rest(self) -> list[Record]:
        """The records that are still held back: the body as it came if it is clean, else decoded."""
        if self._head is None:
            return []
        if not self._found():
            return self._as_they_came()
        self._dirty = True
        return self._decoded()

    def held(self) -> list[HeadArrived | SegmentArrived]:
        """The segments that are held back, raw: for a caller that withholds them."""
        return [*([self._head] if self._head is not None else []), *self._held]

    def _found(self) -> bool:
        plain = bytes(self._plain)
        return self._cleaned(plain) != plain

    def _cleaned(self, plain: bytes) -> bytes:
        if plain.startswith(_LINES) or self._events:
            plain = joined(self._eraser, plain)
        return self._eraser.spans(plain, self._eraser.find(plain), fit=True)

    def _as_they_came(self) -> list[Record]:
        out: list[Record] = [self._head] if self._head is not None else []
        if self._framing is not None and self._framing.head and self._held:
            cleaned = PlainStream(self._eraser, wire=True, text=False)
            for record in self._held:
                out += cleaned.feed(record)
            out += cleaned.rest()
        else:
            out += self._held
        self._head, self._held, self._plain = None, [], bytearray()
        return out

    def _decoded(self) -> list[Record]:
        """The head without its encoding, and the decoded, cleaned body in the same number of segments."""
        head, held = self._head, self._held
        assert head is not None
        body = self._cleaned(bytes(self._plain))
        if self._framing is not None:
            body = _plain_wire_head(self._eraser.wire_head(self._framing.head), len(body)) + body
        self._head, self._held, self._plain = None, [], bytearray()
        changed = replace(
            head, head=_plain_head(head.head, len(body)), fidelity=Fidelity.REDACTED, note=f"{NOTE}; stored decoded"
        )
        out: list[Record] = [changed]
        at = 0
        for n, record in enumerate(held):
            end = len(body) if n == len(held) - 1 else max(at, len(body) * (n + 1) // len(held))
            out.append(replace(record, data=body[at:end], fidelity=Fidelity.REDACTED, note=f"{NOTE}; stored decoded"))
            at = end
        return out


class WithheldBody:
    """A body of which no further part may be kept."""

    __slots__ = ()

    def feed(self, record: SegmentArrived) -> list[Record]:
        """The segment without its bytes."""
        return [withheld_segment(record, "could not be cleaned")]

    def rest(self) -> list[Record]:
        """An empty list: no segment is held back."""
        return []

    def held(self) -> list[HeadArrived | SegmentArrived]:
        """An empty list: no segment is held back."""
        return []


Stream = PlainStream | EncodedStream | WithheldBody


def stream_for(eraser: Eraser, record: HeadArrived) -> tuple[Stream, bool]:
    """The cleaner for the stream that begins with a head, and whether this cleaner holds back the head itself."""
    head = record.head
    encoding = header(head, "content-encoding")
    decoded_already = head.get("read") == "decoded"
    if encoding and not decoded_already and encoding.strip().lower() != "identity" and Decoder(encoding).known:
        return EncodedStream(eraser, record, encoding), True
    media = header(head, "content-type").strip().lower()
    return PlainStream(
        eraser, wire=head.get("framing") == "wire", text=not media.startswith(_OPAQUE), media=media
    ), False


def withheld_segment(record: SegmentArrived, why: str) -> SegmentArrived:
    """A segment whose bytes must not be kept."""
    return replace(record, data=b"~" * len(record.data), fidelity=Fidelity.WITHHELD, note=why)


def _plain_head(head: Mapping[str, Json], size: int) -> dict[str, Json]:
    pairs: list[Any] = []
    for pair in head.get("headers") or ():
        name = str(pair[0]).lower()
        if name == "content-encoding":
            continue
        pairs.append([pair[0], str(size)] if name == "content-length" else pair)
    return {**head, "headers": pairs}


def _plain_wire_head(head: bytes, size: int) -> bytes:
    lines = [
        line
        for line in head.rstrip(b"\r\n").split(b"\r\n")
        if line.partition(b":")[0].strip().lower() not in (b"content-encoding", b"content-length", b"transfer-encoding")
    ]
    return b"\r\n".join([*lines, b"Content-Length: %d" % size, b"", b""])
