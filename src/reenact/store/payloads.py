"""The exact bytes in a SQLite store: stored once for each keyed hash, compressed where that saves space, and checked
whenever they are read.

Callers store *versions of a channel* (the request bodies of one conversation, the values of one checkpoint slot) and
get an address for each. Of a long body only the new parts are stored (``store.splicing``); a short body is stored
whole.

The hash is BLAKE2b, keyed with a secret of the store. So addresses of two stores cannot be compared, and a guess of a
stored text cannot be tested without the secret.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from reenact.errors import BlobCorrupt, BlobMissing, UsageError
from reenact.facts.event import Payload
from reenact.facts.growth import is_grown
from reenact.facts.ids import tail
from reenact.facts.large_values import Withheld, is_large, is_withheld
from reenact.facts.late import late
from reenact.facts.woven_text import Piece, Woven
from reenact.store.growing_lists import EntriesLost
from reenact.store.keyed_hash import DIGEST_SIZE
from reenact.store.splice_rows import SPLICED
from reenact.store.splicing import BodySplicer

if TYPE_CHECKING:
    from reenact.facts.growth import NewEntries
    from reenact.store.growing_lists import GrowingLists
    from reenact.store.keyed_hash import KeyedHash
    from reenact.store.portions import put_pieces
    from reenact.store.splice_moves import respliced
    from reenact.store.stepwise_removal import is_forgotten, release_rest
else:
    GrowingLists = late("reenact.store.growing_lists", "GrowingLists")
    put_pieces = late("reenact.store.portions", "put_pieces")
    is_forgotten = late("reenact.store.stepwise_removal", "is_forgotten")
    release_rest = late("reenact.store.stepwise_removal", "release_rest")
    respliced = late("reenact.store.splice_moves", "respliced")

RAW, ZLIB = range(2)
"""The codec of a row that has all bytes of a body."""
WITHHELD = 3
"""The codec of a row without bytes, which states the size and digest of a body that was removed or never stored."""

_LEAST = 160
_LEVEL = 1
_WORTH = 0.9
_TRIAL = 8192
_BLOCK = 64 << 10
"""The least number of bytes of woven text that are compressed together."""
_REMEMBERED = 50_000
LEAST_OF_A_STEP = 64
"""The least size, in bytes, of a step's state that is stored as a change of the state before. The size is small,
because a replay does not answer with states and need not read them quickly."""
LEAST_SPLICED = 1 << 10
MOST_SPLICED = 16 << 20
"""The least and the largest size of a body that is stored as a change. The upper limit exists because the last versions
are held in memory."""
_ZLIB_HEAD = b"\x78\x01"
_ZLIB_END = b"\x03\x00"
"""An empty last block of *deflate*."""


def compress(data: bytes) -> tuple[int, bytes]:
    """The stored form of some bytes: the codec, and the data. Of large bytes that cannot be compressed, only the first
    kilobytes are tried. Each block of woven text is compressed once."""
    if type(data) is Woven:
        packed = _packed(data)
        return (ZLIB, packed) if len(packed) < len(data) * _WORTH else (RAW, data)
    size = len(data)
    if size < _LEAST:
        return RAW, data
    if size > 4 * _TRIAL and len(zlib.compress(data[:_TRIAL], _LEVEL)) > _TRIAL * _WORTH:
        return RAW, data
    packed = zlib.compress(data, _LEVEL)
    return (ZLIB, packed) if len(packed) < size * _WORTH else (RAW, data)


def _packed(data: Woven) -> bytes:
    """Woven text as a zlib stream of blocks, none of which refers to an earlier block. The content decides where a
    block ends, so that an insertion or a removal leaves the later blocks unchanged."""
    blocks = [_ZLIB_HEAD]
    group: list[Piece | bytes] = []
    size = 0
    for part in data.parts:
        group.append(part)
        if isinstance(part, bytes):
            size += len(part)
            continue
        text = part.text
        size += len(text)
        if size >= _BLOCK and (text[len(text) // 2] & 1 or size > 4 * _BLOCK):
            blocks.append(_grouped(group))
            group, size = [], 0
    blocks += [_grouped(group), _ZLIB_END, zlib.adler32(data).to_bytes(4, "big")]
    return b"".join(blocks)


def _grouped(group: list[Piece | bytes]) -> bytes:
    """The compressed block of consecutive pieces and the text between them. The first piece remembers the block."""
    at, first = next(((at, part) for at, part in enumerate(group) if isinstance(part, Piece)), (0, None))
    others = at, group[:at] + group[at + 1 :]  # without the first piece: a cycle would live until a garbage collection
    known = first.known.get("packed") if first is not None else None
    if known is not None and known[0] == others:
        found: bytes = known[1]
        return found
    packed = _block(b"".join([part if isinstance(part, bytes) else part.text for part in group]))
    if first is not None:
        first.known["packed"] = (others, packed)
    return packed


def _block(data: bytes) -> bytes:
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return deflate.compress(data) + deflate.flush(zlib.Z_FULL_FLUSH)


def decompress(codec: int, data: bytes) -> bytes:
    """The original bytes of a row that has all bytes of a body.

    Raises:
        ValueError: The bytes are damaged, or stored in a form that this version does not know.
    """
    if codec == RAW:
        return data
    if codec != ZLIB:
        raise ValueError(f"unknown codec {codec}")
    try:
        return zlib.decompress(data)
    except zlib.error as error:
        raise ValueError(str(error)) from error


def corrupt(digest: str, found: str, *, run: str = "", event: int | None = None) -> BlobCorrupt:
    """The error for a payload whose bytes are damaged."""
    return BlobCorrupt(
        f"payload {digest[:12]}{place(run, event)} is corrupt",
        cause="the store's file was changed or cut after it was written",
        next_command=f"reenact show {tail(run)}" if run else "reenact ls",
        digest=digest,
        found=found,
        run=run,
        event=event,
    )


def address_of(asked: Payload | str) -> bytes:
    """The address of a payload.

    Raises:
        UsageError: The text is no address.
    """
    digest = asked.digest if isinstance(asked, Payload) else asked
    if not isinstance(digest, str):
        raise UsageError(
            f"payload() takes a digest or a Payload, not {type(asked).__name__}",
            cause="event.request and event.answer are a Payload each, or None where there is no body",
            next_command="reenact show @ --json",
        )
    if not digest:
        raise UsageError(
            "an empty digest names no payload",
            cause="nothing was kept there: the call had no body, or the run returned nothing",
            next_command="reenact show @ --json",
        )
    try:
        address = bytes.fromhex(digest)
    except ValueError:
        address = b""
    if len(address) < DIGEST_SIZE:
        raise UsageError(
            f"{digest[:40]!r} is not a digest",
            cause="a digest is hexadecimal, as `show --json` prints it",
            next_command="reenact show @ --json",
        )
    return address


def unknown(address: bytes) -> BlobMissing:
    """The error for a digest that a caller asks for and the store does not hold."""
    digest = address.hex()
    return BlobMissing(
        f"no payload {digest[:12]} is in this store",
        cause="its run was deleted, or it is of another store: each has digests of its own",
        next_command="reenact ls",
        digest=digest,
        run="",
        event=None,
    )


def missing(digest: str, run: str = "", event: int | None = None) -> BlobMissing:
    """The error for bytes that the log names and the store does not hold."""
    return BlobMissing(
        f"payload {digest[:12]}{place(run, event)} is missing",
        cause="a row of the store's file was removed",
        next_command=f"reenact show {tail(run)}" if run else "reenact ls",
        digest=digest,
        run=run,
        event=event,
    )


def taken_out(digest: str, run: str = "", event: int | None = None) -> BlobMissing:
    """The error for bytes that were removed from the store, or never stored, so that only their size and digest are
    known."""
    return BlobMissing(
        f"payload {digest[:12]}{place(run, event)} was removed: only its size and digest are left",
        cause="its run was thinned, or it was larger than largest_value_mb or largest_run_mb permits",
        next_command=f"reenact kit {tail(run)}" if run else "reenact ls",
        digest=digest,
        run=run,
        event=event,
        reason="withheld",
        exit_code=3,
    )


def place(run: str, event: int | None) -> str:
    """The end of an error message: the run or event to which a payload belongs."""
    if not run:
        return ""
    return f" of run {run}" if event is None else f" of event {run}:{event}"


class Payloads:
    """Writes the payloads of one log, and remembers them, so that a body that comes again costs no query.

    Additions of a batch count only after ``commit``: a failed transaction leaves nothing behind.

    Args:
        log: Number of the log.
        hasher: The store's hash.
        bases: Logs that exist as long as this log reads them: the payloads of these logs need not be held for this one.

    Attributes:
        bases: The argument ``bases``, set again before each batch; empty when one of these logs has been deleted.
    """

    def __init__(self, log: int, hasher: KeyedHash, bases: Sequence[int] = ()) -> None:
        self._log = log
        self.bases = bases
        self._hasher = hasher
        self._known: dict[bytes, int] = {}
        self._staged: dict[bytes, int] = {}
        self._splicing = BodySplicer(log)
        self._growing = GrowingLists(log, hasher.begin)
        self._spliced = False

    def keep(
        self, connection: sqlite3.Connection, body: bytes, channel: str = "", least: int = LEAST_SPLICED
    ) -> tuple[int | None, bytes]:
        """Keep one version of a channel.

        Args:
            connection: In the log's transaction.
            body: The version, whole.
            channel: The series of bodies that it belongs to; empty for a body by itself.
            least: The size, in bytes, from which the version may be stored as a change.

        Returns:
            The number of its row, and its digest; an empty body is not stored.
        """
        if is_grown(body):
            return self._keep_grown(connection, body)
        if not body:
            return None, b""
        digest = self._hasher.of_body(body)
        where = self._known.get(digest) or self._staged.get(digest)
        if where is None:
            where = self._find_or_insert(connection, digest, body, channel, least)
        return where, digest

    def _keep_grown(self, connection: sqlite3.Connection, grown: NewEntries) -> tuple[int | None, bytes]:
        """Keep a version of a growing list, by its new entries. If the earlier entries were lost, only the existence of
        the list is noted."""
        try:
            digest, size = self._growing.take(grown)
        except EntriesLost:
            return self.keep(connection, cast(bytes, Withheld(0, source=b"lost: %d %d" % (grown.number, grown.look))))
        where = self._known.get(digest) or self._staged.get(digest) or self._find(connection, digest, grown)
        if where is None:
            self._spliced = True
            data = self._growing.row(connection, grown.number)
            where = self._insert(connection, digest, size, SPLICED, data)
        return where, digest

    def finish(self, connection: sqlite3.Connection) -> None:
        """Write the shared text of a transaction's bodies, before the transaction ends."""
        self._splicing.finish(connection)
        self._growing.finish(connection)

    def seal(self, connection: sqlite3.Connection) -> None:
        """Write the shared text before the last transaction ends."""
        self._spliced = True  # if the transaction fails, the caches must be dropped
        self._splicing.seal(connection)
        self._growing.seal(connection)

    def commit(self) -> None:
        """Called when the transaction is committed."""
        self._spliced = False
        self._growing.commit()
        if self._staged:
            if len(self._known) > _REMEMBERED:
                self._known.clear()
            self._known.update(self._staged)
            self._staged.clear()

    def roll_back(self) -> None:
        """Called when the transaction has failed."""
        self._staged.clear()
        self._growing.roll_back()
        if self._spliced:
            self.forget()

    def forget(self) -> None:
        """Release the bodies in memory that later bodies could continue."""
        self._splicing.restart()
        self._spliced = False

    def _find_or_insert(
        self, connection: sqlite3.Connection, digest: bytes, body: bytes, channel: str, least: int
    ) -> int:
        found = self._find(connection, digest, body)
        if found is not None:
            return found
        if least <= len(body) <= MOST_SPLICED and not _is_apart(body):
            self._spliced = True
            self._staged[digest] = where = self._splicing.insert(connection, digest, body, channel)
            return where
        return self._insert(connection, digest, len(body), *self._kept_as(connection, self._log, body))

    def _insert(self, connection: sqlite3.Connection, digest: bytes, size: int, codec: int, data: bytes) -> int:
        cursor = connection.execute(
            "INSERT INTO payload(digest, size, codec, owner, data) VALUES (?, ?, ?, ?, ?)",
            (digest, size, codec, self._log, data),
        )
        assert cursor.lastrowid is not None
        self._staged[digest] = cursor.lastrowid
        return cursor.lastrowid

    def _find(self, connection: sqlite3.Connection, digest: bytes, body: bytes) -> int | None:
        """The number of the existing row with this body, which is now noted as used by this log; None if there is
        none."""
        found: Sequence[int] | None = connection.execute(
            "SELECT id, owner, codec FROM payload WHERE digest = ?", (digest,)
        ).fetchone()
        if found is not None:
            if found[2] == WITHHELD and not _has_no_bytes(body):  # the body was removed before, and comes again
                codec, data = self._kept_as(connection, found[1], body)
                connection.execute("UPDATE payload SET codec = ?, data = ? WHERE id = ?", (codec, data, found[0]))
            if found[1] != self._log:
                if self._is_kept(connection, *found[:2]):
                    return found[0]  # not remembered: it goes with the base once no row names it
                if is_forgotten(connection, found[1]):
                    connection.execute("UPDATE payload SET owner = ? WHERE id = ?", (self._log, found[0]))
                    self._staged[digest] = found[0]
                    return found[0]
                connection.execute("INSERT OR IGNORE INTO held(payload, log) VALUES (?, ?)", (found[0], self._log))
            self._staged[digest] = found[0]
            return found[0]
        return None

    @staticmethod
    def _kept_as(connection: sqlite3.Connection, owner: int, body: bytes) -> tuple[int, bytes]:
        """A body as it is stored in its row: the codec, and the bytes."""
        if is_withheld(body):
            return WITHHELD, b""
        return (SPLICED, put_pieces(connection, owner, body.pieces())) if is_large(body) else compress(body)

    def _is_kept(self, connection: sqlite3.Connection, payload: int, owner: int) -> bool:
        """Whether a payload stays because one of the bases uses it."""
        if not self.bases or owner in self.bases:
            return bool(self.bases)
        marks = ", ".join("?" * len(self.bases))
        sql = f"SELECT 1 FROM held WHERE payload = ? AND log IN ({marks}) LIMIT 1"
        return connection.execute(sql, (payload, *self.bases)).fetchone() is not None


def _has_no_bytes(body: bytes) -> bool:
    """Whether the object that represents a body does not hold all of its bytes."""
    return is_withheld(body) or is_grown(body)


def _is_apart(body: bytes) -> bool:
    """Whether a body is never compared with other bodies."""
    return is_large(body) or is_withheld(body)


def release(connection: sqlite3.Connection, log: int) -> None:
    """Forget the payloads that only this log used, at once or in steps. A payload that other logs use, too, gets one of
    these logs as its owner."""
    shared = connection.execute(
        "SELECT h.payload, min(h.log) FROM held h JOIN payload p ON p.id = h.payload WHERE p.owner = ? "
        "GROUP BY h.payload",
        (log,),
    ).fetchall()
    respliced(connection, shared)
    connection.executemany("UPDATE payload SET owner = ? WHERE id = ?", [(heir, row) for row, heir in shared])
    connection.executemany("DELETE FROM held WHERE payload = ? AND log = ?", shared)
    connection.execute("DELETE FROM held WHERE log = ?", (log,))
    release_rest(connection, log)
