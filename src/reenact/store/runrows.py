"""The row of a run. The recorder writes it when the run begins and ends; people amend it later, in columns of their
own."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import TYPE_CHECKING

from reenact.errors import StoreError
from reenact.facts.ids import tail
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import replace
from reenact.store.check_sums import damaged, sum_of
from reenact.store.row_guards import UNSOUND

if TYPE_CHECKING:
    from reenact.facts.run import Run
    from reenact.store.codec import dump, load, pack_run, unpack_run
else:
    dump = late("reenact.store.codec", "dump")
    load = late("reenact.store.codec", "load")
    pack_run = late("reenact.store.codec", "pack_run")
    unpack_run = late("reenact.store.codec", "unpack_run")

COLUMNS = "r.id, r.log, r.body, r.amended, r.crc"
"""The columns that ``run_of`` needs."""


_NEXT = (
    "SELECT max(coalesce((SELECT max(id) FROM run), 0), coalesce((SELECT value FROM meta WHERE name = 'last_run'), 0))"
    " + 1"
)
"""A query for the number of the next run. No earlier run had this number, so that a reader of a removed run never reads
another run."""


def remember_last(connection: sqlite3.Connection) -> None:
    """Keep the last number of a run; called before rows of runs are deleted, so that their numbers are not used
    again."""
    connection.execute(f"INSERT OR REPLACE INTO meta(name, value) SELECT 'last_run', ({_NEXT}) - 1")


def insert_run(connection: sqlite3.Connection, run: Run, *, log: int | None = None) -> int:
    """Write a new run's row, and return its number.

    Args:
        connection: A connection, in a transaction.
        run: The run.
        log: Number of the log that holds its events; None for a log of its own.

    Raises:
        StoreError: There is already a run with this id.
    """
    body = pack_run(run)
    try:
        cursor = connection.execute(
            f"INSERT INTO run(id, run_id, tail, log, lane, agent, user, tenant, session, status, started_us, parent, "
            f"body, crc) VALUES (({_NEXT}), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                run.id, tail(run.id), log or 0, run.lane, run.agent, run.user, run.tenant, run.session,
                run.status.value, run.started_us, run.parent, body, sum_of(0, body),
            ),
        )  # fmt: skip
    except sqlite3.IntegrityError:
        raise StoreError(
            f"there is a run {run.id} already", cause="the same id was used twice", next_command="reenact ls"
        ) from None
    number = cursor.lastrowid
    assert number is not None
    if log is None:
        connection.execute("UPDATE run SET log = id WHERE id = ?", (number,))
    _set_tags(connection, number, run.tags)
    return number


def update_run(connection: sqlite3.Connection, number: int, run: Run) -> None:
    """Write a run's row again; people's changes are kept."""
    body = pack_run(run)
    connection.execute(
        "UPDATE run SET lane = ?, agent = ?, user = ?, tenant = ?, session = ?, status = ?, started_us = ?, "
        "parent = ?, body = ?, crc = ? WHERE id = ?",
        (
            run.lane, run.agent, run.user, run.tenant, run.session, run.status.value, run.started_us, run.parent,
            body, sum_of(0, body), number,
        ),
    )  # fmt: skip
    amended = connection.execute("SELECT amended FROM run WHERE id = ?", (number,)).fetchone()[0]
    tags = dict(run.tags)
    if amended:
        tags.update(load(amended)["tags"])
    _set_tags(connection, number, tags)


def amend_run(connection: sqlite3.Connection, number: int, *, flag: str | None, tags: Mapping[str, str] | None) -> None:
    """Set a person's verdict or labels."""
    body, amended = connection.execute("SELECT body, amended FROM run WHERE id = ?", (number,)).fetchone()
    said = load(amended) if amended else {"flag": None, "tags": {}}
    if flag is not None:
        said["flag"] = flag
    said["tags"].update(tags or {})
    connection.execute("UPDATE run SET amended = ? WHERE id = ?", (dump(said), number))
    _set_tags(connection, number, {**unpack_run(body).tags, **said["tags"]})


def row_number(connection: sqlite3.Connection, run_id: str) -> int | None:
    """The number of a run's row; None if there is no row."""
    row = connection.execute("SELECT id FROM run WHERE run_id = ?", (run_id,)).fetchone()
    return None if row is None else int(row[0])


def run_of(body: str, amended: str | None, crc: int) -> Run:
    """The run of a row, with people's changes.

    Raises:
        StoreError: The row is damaged.
    """
    if type(body) is not str or sum_of(0, body) != crc:
        raise damaged("a run")
    try:
        return amended_run(unpack_run(body), load(amended) if amended else None)
    except UNSOUND as error:
        raise damaged("a run") from error


def amended_run(run: Run, said: Mapping[str, object] | None) -> Run:
    """A run with a person's verdict and labels (``flag``, ``tags``)."""
    if not said:
        return run
    tags = said["tags"]
    assert isinstance(tags, Mapping)
    if said["flag"] is not None:
        run = replace(run, flag=str(said["flag"]), flagged=True)
    return replace(run, tags={**run.tags, **tags}) if tags else run


def _set_tags(connection: sqlite3.Connection, number: int, tags: Mapping[str, str]) -> None:
    connection.execute("DELETE FROM tag WHERE run = ?", (number,))
    connection.executemany(
        "INSERT OR IGNORE INTO tag(name, value, run) VALUES (?, ?, ?)",
        [(name, value, number) for name, value in tags.items()],
    )
