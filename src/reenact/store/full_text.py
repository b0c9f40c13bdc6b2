"""The words of a run's messages, tool data and printed output, by which the run is found. Each word is stored once.

The words are gathered while the run is recorded, from the new part of each body (a conversation is sent again in each
call). They are indexed when the run closes, in the order of their first use, so that the words of a fork begin with
those of its parent. The search uses SQLite's FTS5 where it is compiled in, and a plain scan where it is not. A run
matches a query if it has all words of the query, each as a word or as the beginning of a longer one.
"""

from __future__ import annotations

import re
import sqlite3
import zlib
from itertools import islice

from reenact.errors import StoreError
from reenact.facts.call import Failure, Kind, Value
from reenact.facts.common_bytes import common_tail, nearest
from reenact.facts.large_values import is_large, is_withheld
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.record import CallIssued, CallSettled, EvidenceNoted, OutputPrinted, Record
from reenact.store.schema import LOW, SHIFT

LONGEST = 64
"""The number of letters of a word that are stored and searched."""

MOST = 400_000
"""The most words of one run. A book has some 20,000."""

SIDE_BY_SIDE = 8
"""The most conversations under one name whose last body is kept in memory."""

_KINDS = {Kind.MODEL, Kind.TOOL, Kind.RETRIEVAL, Kind.INPUT, Kind.OUTPUT, Kind.HUMAN, Kind.MCP}
_WORD = lazy_regex(r"[^\W_]+")
_WITHIN = lazy_regex(rb"[0-9A-Za-z_\\\x80-\xff]")
"""A byte that may be inside a word or an escape of JSON."""
_FAR = 4 * LONGEST
"""The most bytes in which the edge of a word is looked for."""
_MOST_PIECES = 8
"""The most pieces of a long text that are read for words: some 6 MB."""
_ENCODED = lazy_regex(rb"[0-9A-Za-z+/=_-]{512,}")
"""Encoded data that is no text, such as images."""
_IN_RUN = bytes(97 if (chr(byte).isalnum() and byte < 128) or byte in b"+/=_-" else 32 for byte in range(256))
_RUN = b"a" * 512
_LETTERS = bytes(byte if chr(byte).isalnum() and byte < 128 else 32 for byte in range(256))
"""A table for ``translate`` that keeps the ASCII characters of ``_WORD`` and replaces all others by spaces, which is
faster than a search."""
_SAID = ("text", "answer")
"""The fields of a model call's reading that hold text."""
_MOST_WORDS = 16
_ERASURE = "words_erasure"
_TO_BEGIN, _UNDER_WAY = 1, 2
_PAGES = 64
"""The number of pages of the index that one step of an erasure writes."""


class TextGatherer:
    """The words of one run so far. The gatherer also holds the last body of each conversation in memory."""

    def __init__(self) -> None:
        self._words: dict[str, None] = {}
        self._lasts: dict[str, list[bytes]] = {}
        self._watched: set[int] = set()
        self._printed: dict[int, bytes] = {}

    def see(self, record: Record) -> None:
        """Take in the readable text of a record. A record without such text costs about 0.3 µs."""
        if isinstance(record, CallIssued):
            call = record.call
            if call.kind is Kind.HTTP and call.channel:
                self._grown(call.channel, call.body)
            elif call.kind in _KINDS:
                self._watched.add(record.event)
                self._add(call.name.encode("utf-8", "replace"))
                if call.channel:
                    self._grown(call.channel, call.body)
                else:
                    self._add(call.body)
        elif isinstance(record, CallSettled):
            if record.event in self._watched:
                self._watched.discard(record.event)
                if isinstance(record.outcome, Value):
                    self._add_value(record.outcome.body)
                elif isinstance(record.outcome, Failure):
                    self._add(record.outcome.error.text.encode("utf-8", "replace"))
        elif isinstance(record, EvidenceNoted) and record.key == "reading" and isinstance(record.value, dict):
            self._add("\n".join([str(record.value.get(name) or "") for name in _SAID]).encode("utf-8", "replace"))
        elif isinstance(record, OutputPrinted):
            said = self._printed.get(record.stream, b"") + record.data
            end = _edge(said, len(said), -1)  # the next output may continue the last word
            self._add(said[:end])
            self._printed[record.stream] = said[end:]

    def text(self) -> str:
        """All words so far, in the order of their first appearance."""
        for said in self._printed.values():
            self._add(said)
        return " ".join(self._words)

    def _grown(self, channel: str, body: bytes) -> None:
        """Take in the part of a body that earlier bodies of the channel did not have."""
        lasts = self._lasts.setdefault(channel, [])
        head, number = nearest(body, lasts)
        tail, before = 0, -1
        if number >= 0:
            last = lasts[number]
            before = len(last)
            tail = common_tail(body, last, len(body), len(last), min(len(body), len(last)) - head)
            if 2 * (head + tail) >= len(last) or len(lasts) >= SIDE_BY_SIDE:
                del lasts[number]
        lasts.append(bytes(body))
        end = len(body) - tail
        if head < end or len(body) != before:  # a part may be cut out: words at the cut are read again
            self._add(body[_edge(body, head, -1) : _edge(body, end, 1)])

    def _add_value(self, body: bytes) -> None:
        """Take in the result of a call. Of a value in pieces, only the first pieces are read."""
        if not is_large(body):
            if not is_withheld(body):
                self._add(body)
            return
        left = b""
        for piece in islice(body.pieces(), 0 if isinstance(body.value, bytes) else _MOST_PIECES):
            text = left + piece
            end = _edge(text, len(text), -1)  # the next piece may continue the last word
            self._add(text[:end])
            left = text[end:]

    def _add(self, data: bytes) -> None:
        if data and len(self._words) < MOST:
            if _RUN in data.translate(_IN_RUN):  # this check is quicker than the search for encoded data
                data = _ENCODED.sub(b" ", data)
            words = dict.fromkeys(_read(data))
            self._words.update(dict.fromkeys([word[:LONGEST] for word in words]))


def _edge(data: bytes, at: int, by: int) -> int:
    """The nearest place, backwards (``by`` is -1) or forwards (1), where no word is cut; ``at`` if there is none
    nearby."""
    place = at
    while 0 < place < len(data) + (by < 0) and abs(place - at) < _FAR:
        if not _WITHIN.match(data, place - (by < 0)):
            return place
        place += by
    return place if abs(place - at) < _FAR else at


def _read(data: bytes) -> list[str]:
    """The words of JSON or text, in order."""
    if not data.isascii() or b"\\u" in data:
        return _WORD.findall(readable(data).casefold())
    return _without_escapes(data).lower().translate(_LETTERS).decode("ascii").split()


def _without_escapes(data: bytes) -> bytes:
    for escape in (b"\\n", b"\\t", b"\\r", b'\\"'):
        data = data.replace(escape, b" ")
    return data


def readable(data: bytes) -> str:
    """The text of some bytes (JSON or plain) for the search of words: escapes of JSON that would stick to a word become
    spaces."""
    data = _without_escapes(data)
    text = data.decode("utf-8", "replace")
    if "\\u" in text:
        text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", " ")


def words_of(text: str) -> list[str]:
    """The words of a query, at most ``_MOST_WORDS``."""
    return [word[:LONGEST] for word in _WORD.findall(text.casefold())][:_MOST_WORDS]


def each_once(text: str) -> str:
    """The stored form of a text: each word once, in the order of its first appearance."""
    return " ".join(dict.fromkeys([word[:LONGEST] for word in _WORD.findall(text.casefold())]))


def occurs(text: str, query: str) -> bool:
    """Whether all words of a query occur in a text, each as a word or its beginning."""
    found = set(_WORD.findall(text.casefold()))
    return all(any(each.startswith(word) for each in found) for word in words_of(query))


def create_index(connection: sqlite3.Connection) -> None:
    """Create the index in a new store, where this SQLite has FTS5."""
    try:
        connection.execute(
            "CREATE VIRTUAL TABLE words_index USING fts5(body, content='words', content_rowid='id', detail='none')"
        )
    except sqlite3.OperationalError as error:
        _require_no_index(error)


def _require_no_index(error: sqlite3.OperationalError) -> None:
    """Raise the error, unless its cause is that this store, or this SQLite, has no index."""
    if "no such" not in str(error):  # "no such table: words_index", "no such module: fts5"
        raise error


def put_text(connection: sqlite3.Connection, run: int, text: str) -> None:
    """Set the text of a run."""
    drop_text(connection, run)
    index_text(connection, run, text)


def index_text(connection: sqlite3.Connection, place: int, text: str) -> None:
    """Add one text to the index, under the number of its run or of a passage (``store.passages``)."""
    if not text:
        return
    body: str | bytes = zlib.compress(text.encode("utf-8", "surrogatepass"))
    try:
        connection.execute("INSERT INTO words_index(rowid, body) VALUES (?, ?)", (place, text))
    except sqlite3.OperationalError as error:
        _require_no_index(error)
        body = text  # without the index, the scan finds the text
    connection.execute("INSERT INTO words(id, body) VALUES (?, ?)", (place, body))


def plain(body: str | bytes) -> str:
    """The words of a row; they are stored packed where only the index needs them.

    Raises:
        StoreError: The words are damaged.
    """
    if isinstance(body, str):
        return body
    try:
        return zlib.decompress(body).decode("utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError) as error:
        raise StoreError(
            "the words of a run are damaged", cause="the store's file was changed or cut", next_command="reenact fsck"
        ) from error


def drop_text(connection: sqlite3.Connection, run: int) -> None:
    """Forget the text of a run, with its passages."""
    rows = connection.execute(
        "SELECT id, body FROM words WHERE id = ? OR id BETWEEN ? AND ?", (run, run << SHIFT, run << SHIFT | LOW)
    ).fetchall()
    for place, body in rows:
        try:
            connection.execute(
                "INSERT INTO words_index(words_index, rowid, body) VALUES ('delete', ?, ?)", (place, plain(body))
            )
        except sqlite3.OperationalError as error:
            _require_no_index(error)
        connection.execute("DELETE FROM words WHERE id = ?", (place,))


def mark_erasure(connection: sqlite3.Connection) -> None:
    """Note that words were dropped in this transaction. They stay in the file, though no search finds them, until
    ``erase_some`` has gone through the whole index."""
    connection.execute("INSERT OR REPLACE INTO meta(name, value) VALUES (?, ?)", (_ERASURE, _TO_BEGIN))


def erase_some(connection: sqlite3.Connection) -> bool:
    """One step of rewriting the index without dropped entries. Returns whether there is more to do. Each step is a
    transaction of its own; after a kill, the next call goes on. All steps together take as long as it takes to read the
    index."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (_ERASURE,)).fetchone()
    if row is None:
        return False
    pages = -_PAGES if row[0] == _TO_BEGIN else _PAGES  # a negative number merges the whole index into one part
    before = connection.total_changes
    try:
        connection.execute("INSERT INTO words_index(words_index, rank) VALUES ('merge', ?)", (pages,))
        more = pages < 0 or connection.total_changes - before > 1  # sqlite.org/fts5.html, "The 'merge' Command"
    except sqlite3.OperationalError as error:
        _require_no_index(error)
        more = False
    if more:
        connection.execute("UPDATE meta SET value = ? WHERE name = ?", (_UNDER_WAY, _ERASURE))
    else:
        connection.execute("DELETE FROM meta WHERE name = ?", (_ERASURE,))
    return more
