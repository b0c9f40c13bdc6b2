"""Full text over a run's messages, tool data and printed output: gathered while it is recorded, indexed when it closes.

Of each channel only the last body is kept in mind, because it holds the conversation so far; of the rest as much as
fits. The index is SQLite's FTS5 where it is compiled in, and a plain scan where it is not. A text is found by words:
all of them must occur, each may be the beginning of a longer one.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator

from reenact.facts.call import Failure, Kind, Value
from reenact.facts.record import CallIssued, CallSettled, Noted, Printed, Record
from reenact.store.schema import LOW, SHIFT

RUN_BYTES = 256 << 10
"""Most bytes of text kept of one run."""

PRINTED_BYTES = 32 << 10
"""Most bytes kept of each standard stream: its first ones."""

_KINDS = {Kind.MODEL, Kind.TOOL, Kind.RETRIEVAL, Kind.INPUT, Kind.OUTPUT, Kind.HUMAN, Kind.MCP}
_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 16


class Gathering:
    """The text of one run so far. Takes no more than ``RUN_BYTES``, and the last body of each channel."""

    def __init__(self) -> None:
        self._channels: dict[str, bytes] = {}
        self._single: list[bytes] = []
        self._room = RUN_BYTES
        self._watched: set[int] = set()
        self._printed: dict[int, bytearray] = {}

    def see(self, record: Record) -> None:
        """Take in what is text for people. About 0.3 µs for other records."""
        if isinstance(record, CallIssued):
            call = record.call
            if call.kind is Kind.HTTP and call.channel:
                self._channels[call.channel] = call.body[-RUN_BYTES:]
            elif call.kind in _KINDS:
                self._watched.add(record.event)
                self._add(call.name.encode("utf-8", "replace"))
                if call.channel:
                    self._channels[call.channel] = call.body[-RUN_BYTES:]
                else:
                    self._add(call.body)
        elif isinstance(record, CallSettled):
            if record.event in self._watched:
                self._watched.discard(record.event)
                if isinstance(record.outcome, Value):
                    self._add(record.outcome.body)
                elif isinstance(record.outcome, Failure):
                    self._add(record.outcome.error.text.encode("utf-8", "replace"))
        elif isinstance(record, Noted) and record.key == "reading" and isinstance(record.value, dict):
            answer = record.value.get("answer")
            if answer:
                self._add(repr(answer).encode("utf-8", "replace"))
        elif isinstance(record, Printed):
            said = self._printed.setdefault(record.stream, bytearray())
            said += record.data[: max(PRINTED_BYTES - len(said), 0)]

    def text(self) -> str:
        """Everything gathered, as one text."""
        pieces = [*map(bytes, self._printed.values()), *self._single, *self._channels.values()]
        return readable(b"\n".join(pieces)[:RUN_BYTES])

    def _add(self, data: bytes) -> None:
        if self._room > 0 and data:
            self._single.append(data[: self._room])
            self._room -= len(data)


def readable(data: bytes) -> str:
    """Bytes of JSON or text as words: the escapes of JSON that would stick to a word become spaces."""
    for escape in (b"\\n", b"\\t", b"\\r", b'\\"'):
        data = data.replace(escape, b" ")
    text = data.decode("utf-8", "replace")
    if "\\u" in text:
        text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", " ")


def words_of(text: str) -> list[str]:
    """The words that are looked for."""
    return [word.casefold() for word in _WORD.findall(text)][:_MOST_WORDS]


def occurs(text: str, query: str) -> bool:
    """Whether all words of a query occur in a text, each as a word or its beginning."""
    found = {word.casefold() for word in _WORD.findall(text)}
    return all(any(each.startswith(word) for each in found) for word in words_of(query))


def create_index(connection: sqlite3.Connection) -> None:
    """Lay out the index in a new store, where this SQLite has it."""
    try:
        connection.execute(
            "CREATE VIRTUAL TABLE words_index USING fts5(body, content='words', content_rowid='id', detail='none')"
        )
    except sqlite3.OperationalError:
        pass


def put_text(connection: sqlite3.Connection, run: int, text: str) -> None:
    """Set the text of a run."""
    drop_text(connection, run)
    index_text(connection, run, text)


def index_text(connection: sqlite3.Connection, place: int, text: str) -> None:
    """Write one text to be found, under the number of its run or of a passage (``store.passages``)."""
    if not text:
        return
    connection.execute("INSERT INTO words(id, body) VALUES (?, ?)", (place, text))
    try:
        connection.execute("INSERT INTO words_index(rowid, body) VALUES (?, ?)", (place, text))
    except sqlite3.OperationalError:
        # No index in this store, or none in this SQLite: the scan finds the text all the same.
        pass


def drop_text(connection: sqlite3.Connection, run: int) -> None:
    """Forget the text of a run, with its passages."""
    rows = connection.execute(
        "SELECT id, body FROM words WHERE id = ? OR id BETWEEN ? AND ?", (run, run << SHIFT, run << SHIFT | LOW)
    ).fetchall()
    for place, body in rows:
        try:
            connection.execute(
                "INSERT INTO words_index(words_index, rowid, body) VALUES ('delete', ?, ?)", (place, body)
            )
        except sqlite3.OperationalError:
            pass
        connection.execute("DELETE FROM words WHERE id = ?", (place,))


def conditions(query: str, indexed: bool) -> Iterator[tuple[str, str]]:
    """Conditions on ``run.id``, each with its value, that all must hold for a run to contain the query.

    Args:
        query: Words.
        indexed: Whether the store has an index that this SQLite can read.
    """
    found = words_of(query)
    if not found:
        return
    if indexed:
        terms = " AND ".join(f'"{word}"*' for word in found)
        yield "r.id IN (SELECT rowid FROM words_index WHERE words_index MATCH ?)", terms
        return
    for word in found:
        yield "r.id IN (SELECT id FROM words WHERE body LIKE ?)", f"%{word}%"
