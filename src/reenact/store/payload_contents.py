"""The only access to the bytes of payloads. However a row stores them, they are returned whole and checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reenact.store.keyed_hash import KeyedHash
from reenact.store.payloads import WITHHELD, corrupt, decompress, taken_out
from reenact.store.splice_rows import SPLICED, Rows, SplicedBodies


class Contents:
    """Reads the bytes of a store's payloads.

    Args:
        hasher: The store's hash.
        rows: Gives all rows of a query.
    """

    def __init__(self, hasher: KeyedHash, rows: Rows) -> None:
        self._hasher = hasher
        self._rows = rows
        self._spliced = SplicedBodies(rows)

    def of(self, digest: bytes, codec: int, data: bytes, **where: Any) -> bytes:
        """The bytes of a row, checked against their address.

        Args:
            digest: The digest of the bytes.
            codec: The form in which the row stores them.
            data: The data of the row.
            **where: ``run`` and ``event``, where known, for the error.

        Raises:
            BlobCorrupt: The bytes are not the stored ones.
            BlobMissing: The bytes were removed.
        """
        if codec == WITHHELD:
            raise taken_out(digest.hex(), **where)
        try:
            return self._checked(digest, codec, data, where)
        except ValueError:
            # The run that stored the bytes may have been deleted since the row was read. Another run may have them now.
            row = self._row(digest) if codec == SPLICED else None
            if row is None or row == (codec, data):
                raise corrupt(digest.hex(), "unreadable", **where) from None
        try:
            return self._checked(digest, *row, where)
        except ValueError:
            raise corrupt(digest.hex(), "unreadable", **where) from None

    def find(self, digest: bytes, **where: Any) -> bytes | None:
        """The bytes with a digest, checked; None where there is no row."""
        row = self._row(digest)
        return None if row is None else self.of(digest, *row, **where)

    def pieces(self, digest: bytes) -> Iterator[bytes] | None:
        """The bytes of a payload with a text of its own, piece by piece; they are verified only after the last piece.
        None for any other payload.

        Raises:
            BlobCorrupt: The bytes are not the stored ones.
        """
        row = self._row(digest)
        return self._read(digest, row[1]) if row is not None and row[0] == SPLICED else None

    def _read(self, digest: bytes, data: bytes) -> Iterator[bytes]:
        found = self._hasher.begin()
        try:
            for piece in self._spliced.parts(data):
                found.update(piece)
                yield piece
        except ValueError:
            raise corrupt(digest.hex(), "unreadable") from None
        if found.digest() != digest:
            raise corrupt(digest.hex(), found.hexdigest())

    def _row(self, digest: bytes) -> tuple[int, bytes] | None:
        rows = self._rows("SELECT codec, data FROM payload WHERE digest = ?", (digest,))
        return rows[0] if rows else None

    def _checked(self, digest: bytes, codec: int, data: bytes, where: dict[str, Any]) -> bytes:
        body = self._spliced.body(data) if codec == SPLICED else decompress(codec, data)
        found = self._hasher.of(body)
        if found != digest:
            raise corrupt(digest.hex(), found.hex(), **where)
        return body
