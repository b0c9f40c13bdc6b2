"""Rewrites one log of an older format in rows of today's format, step by step. Each step is a transaction that reads
its new rows back, and is undone if their content differs from that of the old rows.

A log that is partly rewritten can be read like any other log, because each row says how it is stored. Damaged rows stay
unchanged, and are named.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from reenact.errors import StoreError
from reenact.store.check_sums import sum_of
from reenact.store.connection import WriteConnection
from reenact.store.folding import FOLDED, ColumnFold, first_of, whole
from reenact.store.keyed_hash import KeyedHash
from reenact.store.payloads import decompress
from reenact.store.rewrite_estimate import WHOLE_BODIES
from reenact.store.row_sharing import GOES_ON, share_with
from reenact.store.runrows import run_of
from reenact.store.schema import LOW, SHIFT
from reenact.store.speech_migration import share_words
from reenact.store.splice_rows import SPLICED, SplicedBodies
from reenact.store.splicing import BodySplicer

STEP_BYTES = 4 << 20
"""About how many bytes of bodies are rewritten in one transaction; a larger body is rewritten alone."""

MARK = "migrating:"
"""The beginning of the key in ``meta`` that marks a log as not yet rewritten; the log's number follows."""

_ROWS = 2_000
"""The most rows that are rewritten in one transaction."""


class Damage(NamedTuple):
    """A row that was left unchanged because it is damaged.

    Attributes:
        log: Number of the log.
        what: The row, as people name it.
    """

    log: int
    what: str


class LogMigration:
    """Rewrites one log in rows of today's format.

    Args:
        log: The number of the log. Its run has ended, or the process of its run is gone.
        hasher: The store's hash.

    Attributes:
        damaged: Damaged rows that were left unchanged.
    """

    def __init__(self, log: int, hasher: KeyedHash) -> None:
        self.damaged: list[Damage] = []
        self._log = log
        self._hasher = hasher
        self._splicing = BodySplicer(log)
        self._channels: dict[int | bytes, str] | None = None
        self._body_at = 0

    def steps(self, writing: WriteConnection) -> Iterator[int]:
        """Rewrite the log. Yields after each transaction the number of bytes of bodies that are done."""
        done, more = 0, True
        while more:
            with writing.transaction() as connection:
                there = self._is_there(connection)
                size = self._bodies(connection) if there else 0
                more = size > 0
                if there and not more:
                    self._seal(connection)
            writing.checkpoint(least_growth=WriteConnection.CHECKPOINT_BYTES)
            done += size
            yield done
        with writing.transaction() as connection:
            shares = self._share(connection)
        yield done
        for column in ("asked", "came") if not shares else ():
            folding, at = ColumnFold(), self._log << SHIFT
            while at <= self._log << SHIFT | LOW:
                with writing.transaction() as connection:
                    at = fold_some(connection, self._log, column, folding, at, self.damaged)
                writing.checkpoint(least_growth=WriteConnection.CHECKPOINT_BYTES)
                yield done
        with writing.transaction() as connection:
            connection.execute("DELETE FROM meta WHERE name = ?", (f"{MARK}{self._log}",))

    def _is_there(self, connection: sqlite3.Connection) -> bool:
        """Whether the log still exists."""
        return connection.execute("SELECT 1 FROM log WHERE id = ?", (self._log,)).fetchone() is not None

    # --- bodies --------------------------------------------------------------------------------------------------

    def _bodies(self, connection: sqlite3.Connection) -> int:
        """Store some bodies as changes. Returns the size of these bodies; 0 if none is left."""
        if self._channels is None:
            self._channels = _channels(connection, self._log)
        before = _open_frame(connection, self._log)
        rows = connection.execute(
            f"SELECT id, size FROM payload WHERE owner = ? AND id > ? AND {WHOLE_BODIES} ORDER BY id LIMIT {_ROWS}",
            (self._log, self._body_at),
        ).fetchall()
        done = 0
        found: list[tuple[int, bytes]] = []
        for row, size in rows:
            if done and done + size > STEP_BYTES:
                break
            done += size
            self._body_at = row
            digest, codec, data = connection.execute(
                "SELECT digest, codec, data FROM payload WHERE id = ?", (row,)
            ).fetchone()
            try:
                body = decompress(codec, data)
            except ValueError:
                body = b""
            if len(body) != size or self._hasher.of(body) != digest:
                self.damaged.append(Damage(self._log, f"payload {digest.hex()[:12]}"))
                continue
            channel = self._channels.get(row) or self._channels.get(digest) or ""
            self._splicing.replace(connection, row, body, channel)
            found.append((row, digest))
        self._splicing.finish(connection)
        self._check(connection, found, before)
        return done

    def _seal(self, connection: sqlite3.Connection) -> None:
        before = _open_frame(connection, self._log)
        self._splicing.seal(connection)
        self._check(connection, [], before)

    def _check(
        self, connection: sqlite3.Connection, found: list[tuple[int, bytes]], before: tuple[int, int, bytes] | None
    ) -> None:
        """Check the written rows by reading them back, and with them the older part of the frame that they continue."""
        spliced = SplicedBodies(lambda sql, values: connection.execute(sql, values).fetchall())
        if before is not None and spliced.text(before[0], before[1], len(before[2])) != before[2]:
            raise _unequal(f"text {before[0]}")
        for row, digest in found:
            codec, data = connection.execute("SELECT codec, data FROM payload WHERE id = ?", (row,)).fetchone()
            if codec != SPLICED or self._hasher.of(spliced.body(data)) != digest:
                raise _unequal(f"payload {digest.hex()[:12]}")

    # --- rows ----------------------------------------------------------------------------------------------------

    def _share(self, connection: sqlite3.Connection) -> bool:
        """Leave the rows of a fork that equal rows of its parent to the parent. Returns whether the fork now reads its
        parent's log."""
        if connection.execute("SELECT 1 FROM piece WHERE log = ? LIMIT 1", (self._log,)).fetchone() is not None:
            share_words(connection, self._log)
            return True
        parent = parent_of(connection, self._log)
        if parent is None or is_folded(connection, self._log):
            return False
        events = "SELECT count(*) FROM event WHERE id BETWEEN ? AND ?"
        within = self._log << SHIFT, self._log << SHIFT | LOW
        own = connection.execute(events, within).fetchone()[0]
        connection.execute("SAVEPOINT sharing")
        share_with(connection, self._log, parent)
        shared = own - connection.execute(events, within).fetchone()[0]
        if not shared:  # no event is shared: folding saves more space
            connection.execute("ROLLBACK TO sharing")
        connection.execute("RELEASE sharing")
        return bool(shared)


def fold_some(
    connection: sqlite3.Connection, log: int, column: str, folding: ColumnFold, at: int, damaged: list[Damage]
) -> int:
    """Fold some rows of a log, from an address on. Returns the address of the next rows; after the last rows, an
    address beyond the log.

    Args:
        connection: A connection, in a transaction.
        log: The number of the log, which reads no other log.
        column: ``asked`` or ``came``.
        folding: The fold of this column, which has seen the rows before the address.
        at: The address.
        damaged: The list that gets the rows that stay unchanged.
    """
    end = log << SHIFT | LOW
    rows = connection.execute(
        f"SELECT id, {column}, {column}_crc FROM event WHERE id BETWEEN ? AND ? AND {column} IS NOT NULL "
        f"ORDER BY id LIMIT {_ROWS}",
        (at, end),
    ).fetchall()
    firsts = _firsts(connection, log, column)
    folded: list[tuple[str, int]] = []
    for address, text, crc in rows:
        if type(text) is not str or text[:1] == FOLDED:
            continue
        if sum_of(address, text) != crc:
            damaged.append(Damage(log, f"event {address & LOW}"))
            continue
        kept = folding.fold(address & LOW, text, lambda _: True)
        if kept != text and address not in firsts:
            folded.append((kept, address))
    folding.commit()
    connection.executemany(f"UPDATE event SET {column} = ? WHERE id = ?", folded)
    own = {address: (text, crc) for address, text, crc in rows}
    for _, address in folded:
        kept, crc = connection.execute(f"SELECT {column}, {column}_crc FROM event WHERE id = ?", (address,)).fetchone()
        (first,) = connection.execute(
            f"SELECT {column} FROM event WHERE id = ?", (first_of(kept, address),)
        ).fetchone() or (None,)
        if (whole(kept, first), crc) != own[address]:
            raise _unequal(f"event {address & LOW}")
    return rows[-1][0] + 1 if len(rows) == _ROWS else end + 1


def _firsts(connection: sqlite3.Connection, log: int, column: str) -> set[int | None]:
    """The addresses of the rows onto which other rows are folded: they stay whole."""
    rows = connection.execute(
        f"SELECT DISTINCT first_of({column}, id) FROM event WHERE id BETWEEN ? AND ? AND substr({column}, 1, 1) = ?",
        (log << SHIFT, log << SHIFT | LOW, FOLDED),
    )
    return {address for (address,) in rows}


def is_folded(connection: sqlite3.Connection, log: int) -> bool:
    """Whether any row of a log is folded."""
    row = connection.execute(
        "SELECT 1 FROM event WHERE id BETWEEN ? AND ? AND (substr(asked, 1, 1) = ? OR substr(came, 1, 1) = ?) LIMIT 1",
        (log << SHIFT, log << SHIFT | LOW, FOLDED, FOLDED),
    ).fetchone()
    return row is not None


def parent_of(connection: sqlite3.Connection, log: int) -> int | None:
    """The log of the run that a log's run continues, if that log has ended and lies in this store."""
    row = connection.execute("SELECT body, amended, crc FROM run WHERE id = ?", (log,)).fetchone()
    run = run_of(*row) if row is not None else None
    if run is None or run.relation not in GOES_ON:
        return None
    base = connection.execute(
        "SELECT p.log, o.status FROM run p JOIN run o ON o.id = p.log WHERE p.run_id = ?", (run.parent,)
    ).fetchone()
    return int(base[0]) if base is not None and base[0] != log and base[1] != "recording" else None


def _channels(connection: sqlite3.Connection, log: int) -> dict[int | bytes, str]:
    """The channels of the bodies of a log: by the number of the row for requests, by the digest for states and
    evidence."""
    within = log << SHIFT, log << SHIFT | LOW
    found: dict[int | bytes, str] = {}
    for row, kind, name in connection.execute(
        "SELECT request, kind, name FROM event WHERE id BETWEEN ? AND ? AND request IS NOT NULL", within
    ):
        found[row] = f"{kind} {name}"
    for digest, name in connection.execute(
        "SELECT DISTINCT digest, name FROM slot WHERE event BETWEEN ? AND ? AND n >= 0", within
    ):
        found[digest] = f"slot:{name}"
    for digest, name in connection.execute(
        "SELECT digest, name FROM note WHERE owner BETWEEN ? AND ? AND digest IS NOT NULL", within
    ):
        found[digest] = f"note:{name}"
    return found


def _open_frame(connection: sqlite3.Connection, log: int) -> tuple[int, int, bytes] | None:
    """The last frame of a log's newest text: the number of the text, the first byte of the frame, and its content."""
    row = connection.execute("SELECT max(id) FROM text WHERE owner = ?", (log,)).fetchone()
    if row[0] is None:
        return None
    number = int(row[0])
    frame = connection.execute(
        "SELECT first, (id & ?) + size FROM frame WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1",
        (LOW, number << SHIFT, number << SHIFT | LOW),
    ).fetchone()
    if frame is None:
        return None
    spliced = SplicedBodies(lambda sql, values: connection.execute(sql, values).fetchall())
    return number, frame[0], spliced.text(number, frame[0], frame[1] - frame[0])


def _unequal(what: str) -> StoreError:
    return StoreError(
        f"{what} does not read back as it was: nothing of it was changed",
        cause="memory or a disk that fails, or a fault of reenact",
        next_command="reenact fsck",
    )
