"""Rewrites single facts of a stored run, digests and check sums included, so that a test may ask who notices.

For tests alone: whatever this writes, the store holds to be what was recorded.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from reenact.facts.call import Call, Failure, Json, Value
from reenact.facts.event import Event
from reenact.facts.record import SegmentArrived
from reenact.store import open_store
from reenact.store.check_sums import sum_of
from reenact.store.codec import dump, pack_call, pack_settled
from reenact.store.folding import first_of, whole
from reenact.store.keyed_hash import KeyedHash
from reenact.store.payloads import compress
from reenact.store.stream_pieces import FIRST_LINK, Chunk, OpenStream, parts_of

_CALL_AT = 7
_DIGEST_AT = 5


class Edited:
    """One closed SQLite store, opened for rewriting.

    Args:
        folder: The ``.reenact`` directory.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "store.db"
        with closing(sqlite3.connect(self._file)) as connection, connection:
            for column in ("asked", "came"):
                _unfold(connection, column)

    def request(self, event: Event, call: Call) -> None:
        """Make ``call`` what the event asked."""
        with closing(sqlite3.connect(self._file)) as connection, connection:
            address, (text,) = self._row(connection, event, "asked")
            asked = json.loads(text)
            where, digest = self._keep(connection, address, call.body)
            asked[5:_CALL_AT] = [digest.hex(), len(call.body)]
            asked[_CALL_AT:] = pack_call(call)
            self._write(connection, "asked", address, dump(asked))
            connection.execute("UPDATE event SET request = ? WHERE id = ?", (where, address))

    def outcome(self, event: Event, outcome: Value | Failure) -> None:
        """Make ``outcome`` what came back."""
        with closing(sqlite3.connect(self._file)) as connection, connection:
            address, (text,) = self._row(connection, event, "came")
            came = json.loads(text)
            body = outcome.body if isinstance(outcome, Value) else b""
            where, digest = self._keep(connection, address, body)
            came[4:] = [digest.hex(), len(body), *pack_settled(outcome)]
            self._write(connection, "came", address, dump(came))
            connection.execute("UPDATE event SET answer = ? WHERE id = ?", (where, address))

    def head(self, event: Event, head: Mapping[str, Json]) -> None:
        """Make ``head`` the head of the stream that came back."""
        with closing(sqlite3.connect(self._file)) as connection, connection:
            address, (text,) = self._row(connection, event, "came")
            came = json.loads(text)
            came[7] = dict(head)
            self._write(connection, "came", address, dump(came))

    def segments(self, event: Event, change: Callable[[list[bytes]], list[bytes]]) -> None:
        """Rewrite the segments of the stream that came back; their number stays."""
        with closing(sqlite3.connect(self._file)) as connection, connection:
            hasher = self._hasher(connection)
            address = self._row(connection, event, "came")[0]
            rows = connection.execute(
                "SELECT event, n, codec, size, said, segments, data, digest FROM chunk WHERE event = ? ORDER BY n",
                (address,),
            ).fetchall()
            link, parts = FIRST_LINK, []
            for row in rows:
                chunk = Chunk(*row)
                parts += parts_of(hasher, link, chunk)
                link = chunk.digest
            assert not any(part.continued for part in parts), "segments above 256 KiB are not for this corpus"
            data = change([part.data for part in parts])
            stream = OpenStream(address, hasher.begin())
            for part, piece in zip(parts, data, strict=True):
                stream.add(SegmentArrived(event.number, part.at_us, piece, part.delivery))
            connection.execute("DELETE FROM chunk WHERE event = ?", (address,))
            connection.executemany(
                "INSERT INTO chunk(event, n, codec, size, said, segments, data, digest) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                list(stream.cut(hasher)),
            )
            (text,) = connection.execute("SELECT ended FROM stream WHERE id = ?", (address,)).fetchone()
            ended = json.loads(text)
            ended[4] = stream.size
            again = dump(ended)
            connection.execute(
                "UPDATE stream SET digest = ?, ended = ?, crc = ? WHERE id = ?",
                (stream.whole.digest(), again, sum_of(address, again), address),
            )

    # --- rows ------------------------------------------------------------------------------------------------------

    @staticmethod
    def _hasher(connection: sqlite3.Connection) -> KeyedHash:
        return KeyedHash(connection.execute("SELECT value FROM meta WHERE name = 'key'").fetchone()[0])

    def _keep(self, connection: sqlite3.Connection, address: int, body: bytes) -> tuple[int | None, bytes]:
        if not body:
            return None, b""
        digest = self._hasher(connection).of(body)
        codec, data = compress(body)
        connection.execute(
            "INSERT OR IGNORE INTO payload(digest, size, codec, owner, data) VALUES (?, ?, ?, ?, ?)",
            (digest, len(body), codec, address >> 32, data),
        )
        (where,) = connection.execute("SELECT id FROM payload WHERE digest = ?", (digest,)).fetchone()
        return where, digest

    @staticmethod
    def _row(connection: sqlite3.Connection, event: Event, column: str) -> tuple[int, tuple[str]]:
        (log,) = connection.execute("SELECT log FROM run WHERE run_id = ?", (event.run,)).fetchone()
        address = log << 32 | event.number
        found = connection.execute(f"SELECT {column} FROM event WHERE id = ?", (address,)).fetchone()
        return address, found

    @staticmethod
    def _write(connection: sqlite3.Connection, column: str, address: int, text: str) -> None:
        done = connection.execute(
            f"UPDATE event SET {column} = ?, {column}_crc = ? WHERE id = ?",
            (text, sum_of(address, text), address),
        )
        assert done.rowcount == 1


def _unfold(connection: sqlite3.Connection, column: str) -> None:
    """Let each text of a column stand by itself: an edit of one changes none that is like it."""
    texts = dict(connection.execute(f"SELECT id, {column} FROM event"))
    plain = {
        address: whole(text, texts[first])
        for address, text in texts.items()
        if (first := first_of(text, address)) is not None
    }
    connection.executemany(
        f"UPDATE event SET {column} = ? WHERE id = ?", [(text, address) for address, text in plain.items()]
    )


def facts(folder: Path) -> list[tuple[Event, bytes, bytes]]:
    """Every event of the last run of a store, with what it asked and what it was answered."""
    with open_store(folder) as store:
        recording = store.open("@")
        return [
            (event, recording.body(event.request), recording.body(event.answer) if event.answer is not None else b"")
            for event in recording.events()
        ]
