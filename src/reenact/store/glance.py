"""A quick look at a store for the completion of a shell: the names in it that a person may type, read in milliseconds,
without a change to any file.

A shell asks while a person types. So this module loads nothing but SQLite (not even ``store.sqlite_recording``) and
looks at a bounded number of rows. It finds nothing where the store is missing, damaged or busy.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice

from reenact.store.store_location import file_of

_WAIT_S = 0.02
_RECENT = 200
"""The most runs that are read for names of agents, users, tenants and sessions."""
_LOGS = 20
_EVENTS = 5_000
"""The most logs that are read for names of tools, and the most events of each."""
_SHIFT, _LOW = 32, (1 << 32) - 1

Offer = tuple[str, str]
"""A completion, and its description."""


def offers(url: str | None, kind: str, start: str, most: int) -> list[Offer]:
    """Names of a kind, newest first where they are runs.

    Args:
        url: URL of the store; None for the default.
        kind: ``run`` (and events of a run, after a colon), ``tag``, ``tool``, ``agent``, ``user``, ``tenant`` or
            ``session``.
        start: The beginning of the names.
        most: The most names.
    """
    try:
        file = file_of(url)
        if file is None or not file.is_file():
            return []
        wal = file.with_name(file.name + "-wal").exists()
        name = f"{file.absolute().as_uri()}?mode=ro{'' if wal else '&immutable=1'}"
        with closing(sqlite3.connect(name, uri=True, timeout=_WAIT_S)) as connection:
            return list(islice(_found(connection, kind, start, most), most))
    except (sqlite3.Error, OSError, ValueError):
        return []


def _found(connection: sqlite3.Connection, kind: str, start: str, most: int) -> Iterator[Offer]:
    if kind == "tag":
        return _tags(connection, start)
    if kind == "tool":
        return ((name, "tool") for name in _names(connection, _recent_logs(connection), tools=True))
    if kind != "run":
        return _fields(connection, kind)
    run, colon, _ = start.rpartition(":")
    if not colon:
        return _runs(connection, start, most)
    return ((f"{run}:{name}", "event") for name in _names(connection, _logs_of(connection, run), tools=False))


def _runs(connection: sqlite3.Connection, start: str, most: int) -> Iterator[Offer]:
    if not start or start.startswith("@"):
        yield from (("@", "the last run"), ("@failed", "the last run that failed"))
    rows = connection.execute(
        f"SELECT tail, coalesce(agent, ''), status, body FROM run {'WHERE tail >= ? AND tail < ?' if start else ''}"
        " ORDER BY run_id DESC LIMIT ?",
        (*((start, start + "\uffff") if start else ()), most),
    )
    for tail, agent, status, body in rows:
        yield tail, _line(" ".join(part for part in (agent, _route(body), status) if part))


def _route(body: str) -> str:
    """The request that a run served, from the stored run."""
    _, found, rest = body.partition('"entry":{"kind":"request"')
    return rest.partition('"target":"')[2].partition('"')[0] if found else ""


def _fields(connection: sqlite3.Connection, kind: str) -> Iterator[Offer]:
    column = {"agent": "agent", "user": "user", "tenant": "tenant", "session": "session"}[kind]
    rows = connection.execute(f"SELECT {column} FROM run ORDER BY run_id DESC LIMIT ?", (_RECENT,))
    return ((name, kind) for name in dict.fromkeys(name for (name,) in rows) if name)


def _tags(connection: sqlite3.Connection, start: str) -> Iterator[Offer]:
    """The names of labels, each with an equals sign. If ``start`` has an equals sign, the values of that label."""
    name, equals, _ = start.partition("=")
    last = ""
    while True:
        ask = ("SELECT value FROM tag WHERE name = ? AND value > ? ORDER BY value LIMIT 1", (name, last))
        if not equals:
            ask = ("SELECT name FROM tag WHERE name > ? ORDER BY name LIMIT 1", (last,))  # type: ignore[assignment]
        row = connection.execute(*ask).fetchone()
        if row is None:
            return
        last = row[0]
        yield (f"{name}={last}" if equals else f"{last}="), "label"


def _recent_logs(connection: sqlite3.Connection) -> list[int]:
    rows = connection.execute("SELECT DISTINCT log FROM (SELECT log FROM run ORDER BY run_id DESC LIMIT ?)", (_LOGS,))
    return [log for (log,) in rows]


def _logs_of(connection: sqlite3.Connection, run: str) -> list[int]:
    """The log of the run with this name; for ``@`` and similar references, the newest logs."""
    if run.startswith("@"):
        return _recent_logs(connection)
    return [log for (log,) in connection.execute("SELECT log FROM run WHERE tail = ? OR run_id = ?", (run, run))]


def _names(connection: sqlite3.Connection, logs: list[int], *, tools: bool) -> list[str]:
    """Names of events in logs, each once."""
    found: dict[str, None] = {}
    for log in logs:
        rows = connection.execute(
            "SELECT DISTINCT kind, name FROM (SELECT kind, name FROM event WHERE id BETWEEN ? AND ? LIMIT ?)",
            (log << _SHIFT, log << _SHIFT | _LOW, _EVENTS),
        )
        found.update(dict.fromkeys(name for kind, name in rows if kind == "tool" or not tools))
    return list(found)


def _line(text: str) -> str:
    """Recorded text in a form that cannot control a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
