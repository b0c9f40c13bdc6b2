"""The exact bytes that the events of one run name, checked. Small payloads are read together with their events and cost
no further query."""

from __future__ import annotations

from collections.abc import Iterator

from reenact.errors import BlobCorrupt, StoreError
from reenact.facts.event import Payload
from reenact.store.connection import ReadConnection
from reenact.store.keyed_hash import KeyedHash
from reenact.store.payload_contents import Contents
from reenact.store.payloads import RAW, corrupt, missing
from reenact.store.schema import LOW
from reenact.store.slot_rows import short_value
from reenact.store.span import RunRows
from reenact.store.stream_rows import StreamRows

_CACHED = 1024

KnownBodies = dict[str, tuple[int, bytes]]
"""Rows of payloads that were read with events (codec and data), by digest."""


class Bodies:
    """Reads the payloads of one run.

    Args:
        reading: The store's reading connection.
        hasher: The store's hash.
        span: The rows of the run.
        streams: The streams of the run, each of which is a payload too.
        beside: The payloads of another log, which share the cache.

    Attributes:
        known: The bodies that came with events.
        contents: The bytes of all payloads.
    """

    def __init__(
        self,
        reading: ReadConnection,
        hasher: KeyedHash,
        span: RunRows,
        streams: StreamRows,
        beside: Bodies | None = None,
    ) -> None:
        self._reading = reading
        self._hasher = hasher
        self._span = span
        self._streams = streams
        self.known: KnownBodies = {} if beside is None else beside.known
        self.contents: Contents = Contents(hasher, reading.rows) if beside is None else beside.contents

    def make_room(self, coming: int) -> None:
        """Make room in ``known`` for a number of payloads."""
        if len(self.known) + coming > _CACHED:
            self.known.clear()

    def body(self, payload: Payload | None) -> bytes:
        """See ``abc.store.Recording``."""
        if payload is None:
            return b""
        text = payload.digest
        known = self.known.get(text)
        if known is not None and known[0] == RAW and self._hasher.named(known[1], text):
            return known[1]
        digest = bytes.fromhex(text)
        try:
            found = self.contents.find(digest) if known is None else self.contents.of(digest, *known)
        except BlobCorrupt:
            raise corrupt(text, "", run=self._span.run, event=self._event_with(text)) from None
        if found is not None:
            return found
        row = self._reading.row(
            "SELECT id FROM stream WHERE digest = ? AND id BETWEEN ? AND ?", (digest, self._span.first, self._span.end)
        )
        if row is not None:
            return b"".join(data for _, _, data in self._streams.parts(row[0] & LOW))
        short = short_value(self._reading.rows, self._hasher, digest, self._span.first, self._span.end)
        if short is not None:
            return short
        raise missing(text, self._span.run, self._event_with(text))

    def pieces(self, payload: Payload) -> Iterator[bytes]:
        """See ``abc.store.Recording``."""
        try:
            pieces = self.contents.pieces(bytes.fromhex(payload.digest))
            if pieces is not None:
                yield from pieces
                return
        except BlobCorrupt:
            raise corrupt(payload.digest, "", run=self._span.run, event=self._event_with(payload.digest)) from None
        yield self.body(payload)

    def holds(self, payload: Payload | None, data: bytes) -> bool:
        """See ``abc.store.Recording``."""
        if payload is None:
            return not data
        return payload.size == len(data) and self._hasher.named_again(data, payload.digest)

    def _event_with(self, digest: str) -> int | None:
        """The number of the first event that names a payload, found by a search; for errors only."""
        try:
            row = self._reading.row(
                "SELECT min(id) FROM event WHERE id BETWEEN ? AND ? AND (instr(asked, ?) OR instr(came, ?))",
                (self._span.first, self._span.end, digest, digest),
            )
        except StoreError:
            return None
        return None if row[0] is None else row[0] & LOW
