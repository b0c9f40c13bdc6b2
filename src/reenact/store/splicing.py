"""Bodies stored as changes: finds the earlier body that a body continues, and the rows to write.

A body continues the earlier body of its channel with which it shares the longest beginning. This earlier body is found
by comparison, so that parallel conversations under one name do not disturb each other.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from reenact.facts.common_bytes import nearest
from reenact.store.frames import Portion, StreamPacker
from reenact.store.splice_rows import LOW, SHIFT, SPLICED, Splice
from reenact.store.splices import EMPTY, Recent, SplicePiece, SpliceVersion, VersionChange, split
from reenact.store.versions import bring_up

BODIES = 256
BODIES_BYTES = 32 << 20
SIDE_BY_SIDE = 16
"""The limits for the last bodies that a log keeps in memory to compare with: their number, their bytes, and their
number in one channel."""

_PENDING = 256 << 10
"""The most bytes of text that wait in memory for the end of a transaction."""
_A_PIECE = 5
"""The number of bytes that a piece takes in a row, about."""
_FEW = 32
"""The size, in bytes, up to which a list of all pieces is stored in place of a change: a body with a list needs no
other row."""
_LONGEST = 32
"""The number of changes in a chain from which a list of all pieces is stored, if it takes no more than twice the bytes
of the chain."""


class _Last:
    """The last version of a channel.

    Attributes:
        channel: The channel.
        row: The number of its row.
        version: The version itself.
        changes: The number of other rows that must be read for it.
        spent: The number of bytes of those rows.
    """

    __slots__ = ("changes", "channel", "row", "spent", "version")

    def __init__(self, channel: str, row: int, version: SpliceVersion, changes: int, spent: int) -> None:
        self.channel = channel
        self.row = row
        self.version = version
        self.changes = changes
        self.spent = spent


class BodySplicer:
    """Stores bodies of one log as changes of each other.

    After a failed transaction a new text is begun, so that the memory agrees with the file.

    Args:
        owner: Number of the log.
    """

    def __init__(self, owner: int) -> None:
        self._owner = owner
        self.restart()

    def restart(self) -> None:
        """Forget all earlier bodies and begin a new text."""
        self._text = 0
        self._recent = Recent()
        self._packing = StreamPacker()
        self._pending: list[bytes] = []
        self._waiting = 0
        self._lasts: list[_Last] = []
        self._held = 0

    def insert(self, connection: sqlite3.Connection, digest: bytes, body: bytes, channel: str) -> int:
        """Write the row of a body, and return its number. ``finish`` must follow in the same transaction.

        Args:
            connection: A connection, in a transaction.
            digest: Its keyed digest.
            body: The body.
            channel: The channel of the body.
        """
        data, last, nearest = self._spliced(connection, body, channel)
        cursor = connection.execute(
            "INSERT INTO payload(digest, size, codec, owner, data) VALUES (?, ?, ?, ?, ?)",
            (digest, len(body), SPLICED, self._owner, data),
        )
        assert cursor.lastrowid is not None
        last.row = cursor.lastrowid
        self._remember(last, nearest)
        return cursor.lastrowid

    def replace(self, connection: sqlite3.Connection, row: int, body: bytes, channel: str) -> None:
        """Rewrite the row of a whole body, so that it has only the new parts of the body. ``finish`` must follow in the
        same transaction.

        Args:
            connection: A connection, in a transaction.
            row: The number of the row, which must be larger than those of earlier calls.
            body: The body.
            channel: The channel of the body.
        """
        data, last, nearest = self._spliced(connection, body, channel)
        connection.execute("UPDATE payload SET codec = ?, data = ? WHERE id = ?", (SPLICED, data, row))
        last.row = row
        self._remember(last, nearest)

    def finish(self, connection: sqlite3.Connection) -> None:
        """Write the new text that waits in memory."""
        if not self._pending:
            return
        text = b"".join(self._pending)
        self._pending.clear()
        self._waiting = 0
        put_text(connection, self._text, self._packing, text)

    def seal(self, connection: sqlite3.Connection) -> None:
        """Seal the last frame of the text, because no more bodies are expected. A later body can still be appended."""
        self.finish(connection)
        put_portions(connection, self._text, self._packing.seal())

    def _spliced(self, connection: sqlite3.Connection, body: bytes, channel: str) -> tuple[bytes, _Last, _Last | None]:
        if self._recent.end + len(body) > LOW:
            self.finish(connection)
            self.restart()
        if not self._text:
            self._text = new_text(connection, self._owner)
        body = bytes(body)
        nearest = self._nearest(body, channel)
        change, version = split(body, nearest.version if nearest else EMPTY, self._recent, self._append)
        if self._waiting > _PENDING:
            self.finish(connection)
        before, changes, spent, data = 0, 0, 0, b""
        if nearest is not None and change.head + change.tail:
            before, changes = nearest.row, nearest.changes + 1
            data = Splice(self._text, before, change).pack()
            spent = nearest.spent + len(data)
        least = _A_PIECE * len(version.shape.pieces)
        if not before or least <= _FEW or least <= len(data) or (changes > _LONGEST and least <= 2 * spent):
            data = Splice(self._text, 0, VersionChange(0, 0, version.shape.pieces)).pack()
            changes, spent = 0, 0
        continues = nearest is not None and 2 * (change.head + change.tail) >= len(nearest.version.body)
        return data, _Last(channel, 0, version, changes, spent), nearest if continues else None

    def _nearest(self, body: bytes, channel: str) -> _Last | None:
        """Of the last versions of a channel, the one that a body most likely continues."""
        beside = [each for each in self._lasts if each.channel == channel]
        _, number = nearest(body, [each.version.body for each in beside])
        return beside[number] if number >= 0 else None

    def _append(self, new: bytes) -> SplicePiece:
        self._pending.append(new)
        self._waiting += len(new)
        return self._recent.append(new)

    def _remember(self, last: _Last, instead: _Last | None) -> None:
        if instead is None:
            beside = [each for each in self._lasts if each.channel == last.channel]
            instead = beside[0] if len(beside) >= SIDE_BY_SIDE else None
        if instead is not None:
            self._lasts.remove(instead)
            self._held -= len(instead.version.body)
        self._lasts.append(last)
        self._held += len(last.version.body)
        while len(self._lasts) > BODIES or (self._held > BODIES_BYTES and len(self._lasts) > 1):
            self._held -= len(self._lasts.pop(0).version.body)


def put_text(connection: sqlite3.Connection, number: int, packing: StreamPacker, some: bytes) -> None:
    """Write the next part of a text."""
    put_portions(connection, number, packing.pack(some))


def put_portions(connection: sqlite3.Connection, number: int, portions: Iterable[Portion]) -> None:
    """Write some portions of a text. A portion that begins a frame replaces the stored portions of that frame."""
    for portion in portions:
        if portion.start == portion.first:
            within = number << SHIFT | portion.start, number << SHIFT | portion.start + portion.size - 1
            connection.execute("DELETE FROM frame WHERE id BETWEEN ? AND ?", within)
        connection.execute(
            "INSERT INTO frame(id, first, size, codec, data, crc) VALUES (?, ?, ?, ?, ?, ?)",
            (number << SHIFT | portion.start, *portion[1:]),
        )


def new_text(connection: sqlite3.Connection, owner: int) -> int:
    """Begin a text of a log. Returns the number of the text."""
    bring_up(connection)
    cursor = connection.execute("INSERT INTO text(owner) VALUES (?)", (owner,))
    assert cursor.lastrowid is not None
    return cursor.lastrowid
