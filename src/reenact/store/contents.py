"""The one door to the bytes of payloads: whatever way a row keeps them, they come out whole and checked."""

from __future__ import annotations

from typing import Any

from reenact.store.payloads import KeyedHash, corrupt, decompress
from reenact.store.splice_rows import SPLICED, Rows, Spliced


class Contents:
    """The bytes of a store's payloads.

    Args:
        hasher: The store's hash.
        rows: Answers queries.
    """

    def __init__(self, hasher: KeyedHash, rows: Rows) -> None:
        self._hasher = hasher
        self._rows = rows
        self._spliced = Spliced(rows)

    def of(self, digest: bytes, codec: int, data: bytes, **where: Any) -> bytes:
        """The bytes of a row, checked against their address.

        Args:
            digest: What they must hash to.
            codec: How they are kept.
            data: What is kept.
            **where: ``run`` and ``event``, where known, for the error.

        Raises:
            BlobCorrupt: They are not what was stored.
        """
        try:
            return self._checked(digest, codec, data, where)
        except ValueError:
            # The run that brought them may have been deleted since the row was read: then another one has them now.
            row = self._row(digest) if codec == SPLICED else None
            if row is None or row == (codec, data):
                raise corrupt(digest.hex(), "unreadable", **where) from None
        try:
            return self._checked(digest, *row, where)
        except ValueError:
            raise corrupt(digest.hex(), "unreadable", **where) from None

    def find(self, digest: bytes, **where: Any) -> bytes | None:
        """The same by address alone; None where there is no row."""
        row = self._row(digest)
        return None if row is None else self.of(digest, *row, **where)

    def _row(self, digest: bytes) -> tuple[int, bytes] | None:
        rows = self._rows("SELECT codec, data FROM payload WHERE digest = ?", (digest,))
        return rows[0] if rows else None

    def _checked(self, digest: bytes, codec: int, data: bytes, where: dict[str, Any]) -> bytes:
        body = self._spliced.body(data) if codec == SPLICED else decompress(codec, data)
        found = self._hasher.of(body)
        if found != digest:
            raise corrupt(digest.hex(), found.hex(), **where)
        return body
