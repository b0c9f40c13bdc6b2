"""Long bodies, each stored as a text of its own and written piece by piece, so that a body is never in memory as a
whole."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable
from zlib import crc32

from reenact.store.frames import DEFLATED
from reenact.store.splice_rows import SHIFT, Splice
from reenact.store.splices import SplicePiece, VersionChange
from reenact.store.splicing import new_text

_TRIAL = 8192
_WORTH = 0.6
"""If the first bytes of a piece pack to more than this share of their size, the piece is packed without a search for
repetitions. Base64 of packed data shrinks to three quarters by its small alphabet alone, in a quarter of the time."""


def put_pieces(connection: sqlite3.Connection, owner: int, pieces: Iterable[bytes]) -> bytes:
    """Write a body as a text: each piece is a frame. Returns the content of the body's row (codec ``SPLICED``).

    Args:
        connection: A connection, in a transaction.
        owner: The number of the log to which the body belongs.
        pieces: The pieces of the body, in order.
    """
    text, place = new_text(connection, owner), 0
    for piece in pieces:
        connection.execute(
            "INSERT INTO frame(id, first, size, codec, data, crc) VALUES (?, ?, ?, ?, ?, ?)",
            (text << SHIFT | place, place, len(piece), DEFLATED, _packed(piece), crc32(piece, place)),
        )
        place += len(piece)
    return Splice(text, 0, VersionChange(0, 0, (SplicePiece(0, place),))).pack()


def _packed(piece: bytes) -> bytes:
    repeats = len(zlib.compress(piece[:_TRIAL], 1)) <= _WORTH * min(len(piece), _TRIAL)
    strategy = zlib.Z_DEFAULT_STRATEGY if repeats else zlib.Z_HUFFMAN_ONLY
    deflate = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, strategy)
    return deflate.compress(piece) + deflate.flush()
