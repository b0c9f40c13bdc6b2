"""The output of one run in a SQLite store, in its order."""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

from reenact.store.check_sums import damaged
from reenact.store.connection import FEW, ReadConnection
from reenact.store.payloads import decompress
from reenact.store.schema import LOW
from reenact.store.span import RunRows


def printed(reading: ReadConnection, span: RunRows, stream: int) -> Iterator[bytes]:
    """The output of a run, in portions.

    Args:
        reading: The store's reading connection.
        span: The rows of the run.
        stream: 1 for standard output, 2 for standard error.
    """
    owner = span.first | stream
    at = -1
    while True:
        rows = reading.rows(
            "SELECT id, codec, data, crc FROM printed WHERE owner = ? AND id > ? ORDER BY id LIMIT ?", (owner, at, FEW)
        )
        for number, codec, data, crc in rows:
            try:
                body = decompress(codec, data)
            except ValueError:
                body = None
            if body is None or crc32(body, owner & LOW) != crc:
                raise damaged(f"what run {span.run} printed")
            yield body
            at = number
        if len(rows) < FEW:
            return
