"""The facts that the check of one row needs from the rest of a SQLite store: other rows, joined bytes, and earlier
rows.

All reads are in one transaction, so that a check never sees half of a write of another process.
"""

from __future__ import annotations

import sqlite3
import zlib
from typing import Any
from zlib import crc32

from reenact.errors import BlobCorrupt, BlobMissing
from reenact.store.frames import DEFLATED
from reenact.store.keyed_hash import KeyedHash
from reenact.store.payload_contents import Contents
from reenact.store.payloads import WITHHELD, decompress
from reenact.store.slot_rows import StateReader
from reenact.store.stream_pieces import FIRST_LINK, Chunk, parts_of

CHECK_SUM = "does not agree with its check sum"
MISSING = "is missing"
CORRUPT = "is not what was stored"


class RelatedRows:
    """Reads the rest of the store for a check.

    Args:
        connection: A connection, inside a transaction.
        key: The secret of the hash of the store's payloads.

    Attributes:
        broken: The faults of the payloads read so far, by digest.
        states: Reads the rows of states.
        indexed: Whether the text index can be queried.
    """

    def __init__(self, connection: sqlite3.Connection, key: bytes) -> None:
        self._connection = connection
        self.hasher = KeyedHash(key)
        self.broken: dict[bytes, str] = {}
        self._contents = Contents(self.hasher, self.rows)
        self.states = StateReader(self.rows, self.hasher)
        self._tables = {name for (name,) in self.rows("SELECT name FROM sqlite_master")}
        self.indexed = self.has("words_index") and self._answers("SELECT rowid FROM words_index LIMIT 1")
        self.paths = _AnyPath()
        self._inflate: zlib._Decompress | None = None
        self._frame = (0, 0, 0)
        self._stream: tuple[int, int, bytes] = (-1, 0, FIRST_LINK)

    def rows(self, sql: str, values: Any = ()) -> list[Any]:
        """All rows of a query."""
        return self._connection.execute(sql, values).fetchall()

    def ask(self, sql: str, *values: Any) -> Any:
        """The first row of a query, or None."""
        return self._connection.execute(sql, values).fetchone()

    def ask_all(self, sql: str, *values: Any) -> list[Any]:
        """All rows of a query that has few rows."""
        return self.rows(sql, values)

    def has(self, table: str) -> bool:
        """Whether the store has a table: older formats have fewer tables."""
        return table in self._tables

    def log_of_run(self, number: int) -> int:
        """The number of the log of a run, which is given by the number of its row."""
        found = self.ask("SELECT log FROM run WHERE id = ?", number)
        return 0 if found is None else int(found[0])

    def content(self, digest: bytes, codec: int, data: bytes, size: int) -> str:
        """The fault in a payload; empty if there is none."""
        if codec == WITHHELD:
            return "" if data == b"" else "has bytes, and says that it has none"
        try:
            found = self._contents.of(digest, codec, data)
        except BlobMissing:
            return MISSING
        except BlobCorrupt:
            return CORRUPT
        return "" if len(found) == size else "is of another size than its row says"

    def portion(self, text: int, start: int, first: int, size: int, codec: int, data: bytes, crc: int) -> str:
        """The fault in a portion of a text, which follows the portion of the last call; empty if there is no fault."""
        if start == first:
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        elif self._frame != (text, first, start):
            self._inflate = None
        self._frame = (text, first, start + size)
        if self._inflate is None:
            return "needs a part before it, which is damaged or gone"
        try:
            found = self._inflate.decompress(data, size + 1) if codec == DEFLATED else b""
        except zlib.error:
            found = b""
        if len(found) == size and crc32(found, start) == crc:
            return ""
        self._inflate = None
        return CHECK_SUM

    def chunk(self, row: tuple[Any, ...]) -> str:
        """The fault in a row of a stream, which follows the row of the last call; empty if there is no fault."""
        chunk = Chunk(*row)
        event, n, link = self._stream
        if chunk.event != event:
            n, link = 0, FIRST_LINK
        self._stream = (chunk.event, chunk.n + 1, chunk.digest)
        if chunk.n != n:
            return "follows one that is missing"
        if chunk.codec == WITHHELD:
            return "" if chunk.data == b"" else "has bytes, and says that it has none"
        try:
            parts_of(self.hasher, link, chunk)
        except (ValueError, IndexError):
            return CHECK_SUM
        return "" if chunk.size == len(decompress(chunk.codec, chunk.data)) else "is of another size than it says"

    def stream_digest(self, address: int) -> bytes:
        """The digest of all bytes of a stream."""
        whole = self.hasher.begin()
        for codec, data in self._connection.execute(
            "SELECT codec, data FROM chunk WHERE event = ? ORDER BY n", (address,)
        ):
            if codec == WITHHELD:  # a removed row has no bytes to check
                (known,) = self._connection.execute("SELECT digest FROM stream WHERE id = ?", (address,)).fetchone()
                return bytes(known)
            try:
                whole.update(decompress(codec, data))
            except (TypeError, ValueError):
                return b""
        return whole.digest()

    def _answers(self, sql: str) -> bool:
        try:
            self.rows(sql)
        except sqlite3.Error:
            return False
        return True


class _AnyPath(dict[int, str]):
    """Gives the number itself as the path of a lane: the check unpacks the order without any use of paths."""

    def __missing__(self, number: int) -> str:
        return "lane"
