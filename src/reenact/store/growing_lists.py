"""Growing lists in a SQLite store: each list has a text of its own, and every version of the list is this text up to
some position.

The text begins with the bracket that closes the list. So a version consists of two pieces: the text after this bracket,
up to the end of the version, and the bracket itself. A version needs no earlier version, and its digest continues the
digest of the earlier text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from reenact.abc.hash_protocol import Hash
from reenact.facts.growth import NewEntries
from reenact.facts.lazy_dataclass import dataclass
from reenact.store.frames import StreamPacker
from reenact.store.splice_rows import LOW, Splice
from reenact.store.splices import SplicePiece, VersionChange
from reenact.store.splicing import new_text, put_portions

_CLOSE = b"]"
_MOST_WAITING = 8 << 20
"""The most bytes of a list that wait in memory as long as no version of the list has a row."""
_PACKED = 16
"""The number of lists whose current frame is kept open: each takes about 0.5 MB."""


class EntriesLost(Exception):
    """Raised where earlier entries of the list were not written."""


@dataclass(slots=True)
class _KeptList:
    """One list in its stored form.

    Attributes:
        hash: The hash of its bytes without the closing bracket.
        entries: The number of entries.
        end: The number of bytes of its text.
        text: The number of the text; 0 before any part of the text is written.
        waiting: The part that has yet to be written.
        used: Whether a version of it has a row.
    """

    hash: Hash
    entries: int = 0
    end: int = len(_CLOSE)
    text: int = 0
    waiting: tuple[bytes, ...] = (_CLOSE,)
    used: bool = False

    def copy(self) -> _KeptList:
        return _KeptList(self.hash.copy(), self.entries, self.end, self.text, self.waiting, self.used)


class GrowingLists:
    """The growing lists of one log. The additions of a transaction count only after ``commit``.

    Args:
        owner: Number of the log.
        begin: Gives a new hash object.
    """

    def __init__(self, owner: int, begin: Callable[[], Hash]) -> None:
        self._owner = owner
        self._begin = begin
        self._lists: dict[int, _KeptList] = {}
        self._before: dict[int, _KeptList | None] = {}
        self._packings: dict[int, StreamPacker] = {}

    def take(self, grown: NewEntries) -> tuple[bytes, int]:
        """Take in new entries of a list. Returns the digest and the size of the version that has them.

        Raises:
            EntriesLost: Earlier entries were not taken in.
        """
        kept = self._lists.get(grown.number)
        if grown.number not in self._before:
            self._before[grown.number] = None if kept is None else kept.copy()
        if kept is None:
            kept = self._lists[grown.number] = _KeptList(self._begin())
        if kept.entries != grown.start or kept.end + len(grown) >= LOW:
            raise EntriesLost
        for some in (grown.lead, grown):
            if some:
                kept.hash.update(some)
                kept.waiting += (bytes(some),)
                kept.end += len(some)
        kept.entries = grown.end
        whole = kept.hash.copy()
        whole.update(_CLOSE)
        return whole.digest(), kept.end

    def row(self, connection: sqlite3.Connection, number: int) -> bytes:
        """The data for the row of the latest version of a list."""
        kept = self._lists[number]
        kept.used = True
        if not kept.text:
            kept.text = new_text(connection, self._owner)
        pieces = (SplicePiece(len(_CLOSE), kept.end - len(_CLOSE)), SplicePiece(0, len(_CLOSE)))
        return Splice(kept.text, 0, VersionChange(0, 0, pieces)).pack()

    def finish(self, connection: sqlite3.Connection) -> None:
        """Write the new parts of the texts, before the transaction ends."""
        for number in self._before:
            kept = self._lists.get(number)
            if kept is None or not kept.waiting:
                continue
            size = sum(map(len, kept.waiting))
            if not kept.used and size < _MOST_WAITING:
                continue
            if not kept.text:
                kept.text = new_text(connection, self._owner)
            packing = self._packings.pop(number, None) or StreamPacker(kept.end - size)
            self._packings[number] = packing
            put_portions(connection, kept.text, packing.pack(b"".join(kept.waiting)))
            kept.waiting = ()
            if len(self._packings) > _PACKED:
                self._seal(connection, next(iter(self._packings)))

    def seal(self, connection: sqlite3.Connection) -> None:
        """Write the new parts of the texts before the last transaction ends."""
        self.finish(connection)
        for number in list(self._packings):
            self._seal(connection, number)

    def _seal(self, connection: sqlite3.Connection, number: int) -> None:
        put_portions(connection, self._lists[number].text, self._packings.pop(number).seal())

    def commit(self) -> None:
        """Called when the transaction is committed."""
        self._before.clear()

    def roll_back(self) -> None:
        """Called when the transaction has failed: texts then continue in a frame of their own."""
        for number, kept in self._before.items():
            if kept is None:
                del self._lists[number]
            else:
                self._lists[number] = kept
        if self._before:
            self._packings.clear()
        self._before.clear()
