"""The contents of one event of a log, with all rows that belong to it, for the comparison with another log."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from reenact.store.codec import load
from reenact.store.folding import FOLDED
from reenact.store.payloads import decompress
from reenact.store.schema import LOW, SHIFT
from reenact.store.slot_rows import PACKED, StateReader, states_of

_FORM_AT = 6
"""The position of the outcome in the column ``came``, see ``store.rows``."""

WHOLE = "whole({0}.{1}, (SELECT x.{1} FROM event x WHERE x.id = first_of({0}.{1}, {0}.id)))"
"""SQL for the whole text of a column of an event's row, which may be folded (``store.folding``)."""

_COMPARED = {
    "event": (
        "SELECT e.id, l.path, e.strand & 4294967295, e.kind, e.name, e.request, e.answer, "
        + f"{WHOLE.format('e', 'asked')}, {WHOLE.format('e', 'came')} "
        + "FROM event e LEFT JOIN lane l ON l.id = e.strand WHERE e.id IN ({})"
    ),
    "stream": "SELECT id, digest, ended FROM stream WHERE id IN ({})",
    "chunk": "SELECT event, segments FROM chunk WHERE event IN ({}) ORDER BY event, n",
    "slot": "SELECT event, phase, n, name, digest, fidelity, remark FROM slot WHERE event IN ({}) ORDER BY 1, 2, 3",
    "note": "SELECT owner, name, fidelity, value, digest FROM note WHERE owner IN ({}) ORDER BY owner, n",
}
"""The columns that are compared, without derived ones (check sums) and the store's own (serial numbers). The bytes of a
stream are compared by its digest, for any division into rows."""


def events_of(connection: sqlite3.Connection, log: int, numbers: Sequence[int]) -> dict[int, dict[str, Any]]:
    """All rows of some events of one log, by number and table."""
    found: dict[int, dict[str, Any]] = {}
    addresses = [log << SHIFT | number for number in numbers]
    marks = ", ".join("?" * len(addresses))
    for table, sql in _COMPARED.items():
        if table != "event" and not found:
            break
        for address, *row in connection.execute(sql.format(marks), addresses):
            if table == "event":
                found[address & LOW] = {}
            found.get(address & LOW, {}).setdefault(table, []).append(row)
    states: StateReader | None = None
    for number, event in found.items():
        if any(row[1] == PACKED for row in event.get("slot", ())):
            states = states or states_of(connection)
            event["slot"] = _slots(states, log << SHIFT | number, event["slot"])
        if "chunk" in event:
            event["chunk"] = [_segments(table) for (table,) in event["chunk"]]
            if None not in event["chunk"]:  # else a row is damaged, and equals no sound row
                event["chunk"] = b"".join(event["chunk"])
    return found


def _slots(states: StateReader, address: int, rows: list[Any]) -> list[Any]:
    """The rows of an event's states, one for each slot. A damaged row is equal to no other."""
    found: list[Any] = []
    for row in rows:
        try:
            found += [slot[1:] for slot in states.as_slots((address, *row))]
        except ValueError:
            found.append(object())
    return [each if type(each) is object else list(each) for each in found]


def _segments(table: bytes) -> bytes | None:
    """The table of a stream's row; None where the table is damaged, which the reader of the stream reports."""
    try:
        return decompress(table[0], table[1:])
    except (ValueError, IndexError):
        return None


def is_whole(event: dict[str, Any]) -> bool:
    """Whether a call is complete, as far as its rows show."""
    came = event["event"][0][-1]
    if came is None or came[:1] == FOLDED:  # not settled, or folded onto a row that is lost
        return False
    return "stream" in event or load(came)[_FORM_AT] != "s"
