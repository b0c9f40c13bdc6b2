"""Estimates how large the rows of an older format would be in today's format, by rewriting some of them in memory."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence
from contextlib import closing

from reenact.errors import StoreError
from reenact.store.folding import FOLDED, ColumnFold
from reenact.store.full_text import each_once, plain
from reenact.store.payloads import LEAST_SPLICED, MOST_SPLICED, decompress
from reenact.store.schema import LOW, SHIFT, create
from reenact.store.splice_rows import SPLICED
from reenact.store.splicing import BodySplicer

WHOLE_BODIES = f"codec < {SPLICED} AND size BETWEEN {LEAST_SPLICED} AND {MOST_SPLICED}"
"""The condition for rows of ``payload`` with a whole body that today's format stores as a change."""

_SAMPLE = 8 << 20
"""The number of bytes of bodies that are packed on trial, about."""
_TEXTS = 64
_EVENTS = 4_000
_OVERHEAD = 1.1
"""About how many bytes a row takes in the file for each byte of its data."""


def saved(connection: sqlite3.Connection, logs: Sequence[int]) -> int:
    """The number of bytes of the file that become free if some logs are rewritten, about."""
    kept = sum(
        connection.execute(
            f"SELECT coalesce(sum(length(data)), 0) FROM payload WHERE owner = ? AND {WHOLE_BODIES}", (log,)
        ).fetchone()[0]
        for log in logs
    )
    (texts,) = connection.execute(
        "SELECT coalesce(sum(length(body)), 0) FROM words WHERE typeof(body) = 'text'"
    ).fetchone()
    events = sum(
        connection.execute(
            "SELECT coalesce(sum(length(asked) + coalesce(length(came), 0)), 0) FROM event WHERE id BETWEEN ? AND ?",
            (log << SHIFT, log << SHIFT | LOW),
        ).fetchone()[0]
        for log in logs
    )
    found = kept * (1 - _bodies(connection, logs)) if kept else 0.0
    found += texts * (1 - _texts(connection)) if texts else 0.0
    found += events * (1 - _events(connection, logs)) if events else 0.0
    return round(found * _OVERHEAD)


def _bodies(connection: sqlite3.Connection, logs: Sequence[int]) -> float:
    """The share of their present size that bodies would take as changes."""
    before = seen = 0
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as trial:
        create(trial, bytes(32))
        for log in logs:
            splicing = BodySplicer(log)
            within = log << SHIFT, log << SHIFT | LOW
            names = dict(connection.execute(
                "SELECT request, kind || ' ' || name FROM event WHERE id BETWEEN ? AND ?", within
            ).fetchall())  # fmt: skip
            for row, digest, codec, data in connection.execute(
                f"SELECT id, digest, codec, data FROM payload WHERE owner = ? AND {WHOLE_BODIES} ORDER BY id", (log,)
            ):
                try:
                    body = decompress(codec, data)
                except ValueError:
                    continue
                splicing.insert(trial, digest, body, names.get(row, ""))
                splicing.finish(trial)
                before, seen = before + len(data), seen + len(body)
                if seen >= _SAMPLE:
                    break
            splicing.seal(trial)
            if seen >= _SAMPLE:
                break
        (after,) = trial.execute(
            "SELECT (SELECT coalesce(sum(length(data)), 0) FROM payload) "
            "+ (SELECT coalesce(sum(length(data)), 0) FROM frame)"
        ).fetchone()
    return min(after / before, 1.0) if before else 1.0


def _texts(connection: sqlite3.Connection) -> float:
    before = after = 0
    for (body,) in connection.execute("SELECT body FROM words WHERE typeof(body) = 'text' LIMIT ?", (_TEXTS,)):
        try:
            before += len(body)
            after += len(zlib.compress(each_once(plain(body)).encode("utf-8", "surrogatepass")))
        except StoreError:
            continue
    return min(after / before, 1.0) if before else 1.0


def _events(connection: sqlite3.Connection, logs: Sequence[int]) -> float:
    before = after = seen = 0
    for log in logs:
        for column in ("asked", "came"):
            folding = ColumnFold()
            for address, text in connection.execute(
                f"SELECT id, {column} FROM event WHERE id BETWEEN ? AND ? LIMIT {_EVENTS}",
                (log << SHIFT, log << SHIFT | LOW),
            ):
                if type(text) is str:
                    seen += 1
                    before += len(text)
                    kept = text if text[:1] == FOLDED else folding.fold(address & LOW, text, lambda _: True)
                    after += len(kept)
        if seen >= _EVENTS:
            break
    return min(after / before, 1.0) if before else 1.0
