"""The tables of a SQLite store, format 5.

Each log (the run that owns it has ``log.id`` = ``run.id``) is numbered, and everything of a log is addressed by one
integer: ``log << 32 | number``. So the rows of one run lie together, a range finds them, and forgetting a run is a
range delete.

========== ====================================================================================================
``meta``    the two format numbers; the key of the payloads' hash
``run``     one row for each run; ``body`` is the run as JSON, ``amended`` the changes by people; the rest is for search
``tag``     labels, as an index
``log``     the number of events of a log, and the number of its last event
``lane``    lanes by ``log << 32 | number``; ``kind`` is 0 for a strand, 1 for a scope, 2 if only the order names it
``event``   events by ``log << 32 | number``; ``asked`` and ``came`` are JSON: see ``store.rows`` and ``store.folding``
``stream``  the ends of streams, by event
``chunk``   bytes of a stream, in the order in which they came, with a packed table of their segments
``payload`` bodies by keyed hash; ``owner`` is the log that stored one, ``held`` names further logs that use it
``slot``    the state at an event, in one row: see ``store.slot_rows``
``shape``   names of the slots of such states, by ``log << 32 | n``
``note``    evidence by event, or by minus the run's number
``ambient`` packed ambient reads by lane and position
``turns``   the order: packs of deliveries by ``log << 32 | first``
``printed`` standard output and error
``gap``     the escapes of a run
``words``   text for the search: a short text by run; of a long one, the passages by ``run << 32 | n``
``piece``   the rows that a log reads in another log: packed ranges of numbers by log, base and part: ``store.pieces``
``passage`` the passages that a log reads in another log (``base``): from ``n`` to before ``end``
``text``    the new parts of the bodies of a log (``owner``), in the order in which they came: see ``store.splice_rows``
``frame``   the frames of such a text, packed, by ``text << 32 | first byte``
``effect``  the run and event that make, or made, a write: one row for each identity of a write (``facts.effects``)
========== ====================================================================================================

Columns named ``crc`` hold the CRC-32 of the row's content, started with the low half of its address: they find damage
inside a row, as the hash does for payloads.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

from reenact.store.versions import (
    OLDEST_READER,
    SHAPE_TABLE,
    SHARED_TABLES,
    SPLICED_TABLES,
    WRITTEN,
    Format,
    write_format,
)

TEXTS = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
"""The query for the SQL text of each table and index, by name."""

SHIFT = 32
"""The number of bits below the number of the log in an address."""

LOW = (1 << SHIFT) - 1

STRAND, SCOPE, MENTIONED = range(3)
"""The kinds of a lane, in its row."""

TABLES = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
CREATE TABLE run(id INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, tail TEXT NOT NULL, log INTEGER NOT NULL,
  lane TEXT NOT NULL, agent TEXT, user TEXT, tenant TEXT, session TEXT, status TEXT NOT NULL,
  started_us INTEGER NOT NULL, parent TEXT, body TEXT NOT NULL, amended TEXT, crc INTEGER NOT NULL);
CREATE INDEX run_started ON run(started_us, id);
CREATE INDEX run_tail ON run(tail);
CREATE INDEX run_log ON run(log);
CREATE INDEX run_parent ON run(parent) WHERE parent IS NOT NULL;
CREATE INDEX run_user ON run(user, started_us) WHERE user IS NOT NULL;
CREATE INDEX run_session ON run(session, started_us) WHERE session IS NOT NULL;
CREATE TABLE tag(name TEXT, value TEXT, run INTEGER, PRIMARY KEY(name, value, run)) WITHOUT ROWID;
CREATE INDEX tag_run ON tag(run);
CREATE TABLE log(id INTEGER PRIMARY KEY, events INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE TABLE lane(id INTEGER PRIMARY KEY, path TEXT NOT NULL, parent INTEGER, kind INTEGER NOT NULL);
CREATE INDEX lane_path ON lane(path);
CREATE TABLE event(id INTEGER PRIMARY KEY, strand INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
  request INTEGER, answer INTEGER, asked TEXT NOT NULL, asked_crc INTEGER NOT NULL, came TEXT, came_crc INTEGER);
CREATE INDEX event_strand ON event(strand);
CREATE INDEX event_name ON event(name);
CREATE TABLE stream(id INTEGER PRIMARY KEY, digest BLOB NOT NULL, ended TEXT NOT NULL, crc INTEGER NOT NULL);
CREATE INDEX stream_digest ON stream(digest);
CREATE TABLE chunk(id INTEGER PRIMARY KEY, event INTEGER NOT NULL, n INTEGER NOT NULL, codec INTEGER NOT NULL,
  size INTEGER NOT NULL, said TEXT, segments BLOB NOT NULL, data BLOB NOT NULL, digest BLOB NOT NULL);
CREATE UNIQUE INDEX chunk_event ON chunk(event, n);
CREATE TABLE payload(id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, size INTEGER NOT NULL,
  codec INTEGER NOT NULL, owner INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX payload_owner ON payload(owner);
CREATE TABLE held(payload INTEGER, log INTEGER, PRIMARY KEY(payload, log)) WITHOUT ROWID;
CREATE INDEX held_log ON held(log);
CREATE TABLE slot(event INTEGER, phase TEXT, n INTEGER, name TEXT, digest BLOB NOT NULL, fidelity TEXT NOT NULL,
  remark TEXT NOT NULL, PRIMARY KEY(event, phase, n)) WITHOUT ROWID;
CREATE TABLE note(owner INTEGER, name TEXT, n INTEGER NOT NULL, fidelity TEXT NOT NULL, value TEXT,
  digest BLOB, crc INTEGER NOT NULL, PRIMARY KEY(owner, name)) WITHOUT ROWID;
CREATE TABLE ambient(strand INTEGER, position INTEGER, n INTEGER, source TEXT NOT NULL, data BLOB NOT NULL,
  crc INTEGER NOT NULL, PRIMARY KEY(strand, position, n)) WITHOUT ROWID;
CREATE TABLE turns(id INTEGER PRIMARY KEY, count INTEGER NOT NULL, data BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE printed(id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, at_us INTEGER NOT NULL, said TEXT,
  codec INTEGER NOT NULL, data BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE INDEX printed_owner ON printed(owner);
CREATE TABLE gap(id INTEGER PRIMARY KEY, log INTEGER NOT NULL, what TEXT NOT NULL, place TEXT NOT NULL,
  count INTEGER NOT NULL, UNIQUE(log, what, place));
CREATE TABLE words(id INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE effect(address TEXT PRIMARY KEY, run TEXT NOT NULL, event INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX effect_run ON effect(run);
"""

NARROW = "run_found"
"""The index with only the fields that filters need, see ``store.run_query``."""

NARROW_INDEX = f"""
CREATE INDEX IF NOT EXISTS {NARROW} ON run(run_id, status, started_us, tenant, user, session, agent, parent, lane);
"""
"""Stores of older versions lack this index. A reader that does not know it loses nothing; SQLite updates it at each
write."""


def create(connection: sqlite3.Connection, key: bytes) -> None:
    """Create the tables of an empty store.

    Args:
        connection: A connection to an empty file.
        key: The secret of this store's payload hash: 32 unpredictable bytes.
    """
    connection.executescript(TABLES + NARROW_INDEX + SHARED_TABLES + SPLICED_TABLES + SHAPE_TABLE)
    connection.execute("INSERT INTO meta(name, value) VALUES ('key', ?)", (key,))
    write_format(connection, Format(WRITTEN, OLDEST_READER))


def declared() -> dict[str, str]:
    """The SQL text of each table and index that a store may have, by name; every format has the same text."""
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(TABLES + NARROW_INDEX + SHARED_TABLES + SPLICED_TABLES + SHAPE_TABLE)
        return dict(empty.execute(TEXTS))
