"""Drivers of PostgreSQL: a connection is named with its database, and refused in a replay; rows are not recorded yet.

``psycopg`` and ``psycopg2`` go through the C library of PostgreSQL, whose sockets no hook sees; ``asyncpg`` has sockets
of Python's own, which the audit hook names as well. The name never holds a password.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from reenact.seams.contacts import database
from reenact.seams.lanes import listening
from reenact.seams.patching import replace, when_imported
from reenact.seams.switchboard import guarded

__all__ = ["install", "name_of"]


def install() -> None:
    """Watch each driver once the program has imported it; imports none itself."""
    when_imported("psycopg", _watch_psycopg, answers=False)
    when_imported("psycopg2", _watch_psycopg2, answers=False)
    when_imported("asyncpg", _watch_asyncpg, answers=False)


def _watch_psycopg(module: ModuleType) -> None:
    for name in ("Connection", "AsyncConnection"):
        replace(getattr(module, name), "connect", lambda original: _by_class("psycopg", original), answers=False)
    replace(module, "connect", lambda _: module.Connection.connect, answers=False)


def _watch_psycopg2(module: ModuleType) -> None:
    replace(module, "connect", lambda original: _telling("psycopg2", original), answers=False)


def _watch_asyncpg(module: ModuleType) -> None:
    for name in ("connect", "create_pool"):
        if hasattr(module, name):
            replace(module, name, lambda original: _telling("asyncpg", original), answers=False)


def _telling(driver: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def connect(*args: Any, **options: Any) -> Any:
        _tell(driver, args, options)
        return original(*args, **options)

    return connect


def _by_class(driver: str, original: Any) -> Any:
    function = original.__func__

    def connect(cls: Any, *args: Any, **options: Any) -> Any:
        _tell(driver, args, options)
        return function(cls, *args, **options)

    return classmethod(connect)


def _tell(driver: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    lane = listening()
    if lane is None:
        return
    where = next((each for each in (*args, options.get("dsn"), options.get("conninfo")) if isinstance(each, str)), "")
    database(driver, guarded(lane, lambda: name_of(where, options)) or "a database")


def name_of(where: str, options: Mapping[str, Any]) -> str:
    """A database in words: its name and its place; never the user or the password.

    Args:
        where: A URL, or words ``key=value``; empty where there is none.
        options: The same facts as keywords, which outrank ``where``.
    """
    told: dict[str, str] = {}
    if "://" in where:
        parts = urlsplit(where)
        told = {"dbname": parts.path.lstrip("/"), "host": parts.hostname or "", "port": str(parts.port or "")}
    else:
        told = {key: value.strip("'") for key, _, value in (word.partition("=") for word in where.split())}
    told |= {key: str(value) for key, value in options.items() if isinstance(value, (str, int))}
    name = told.get("dbname") or told.get("database") or "the default database"
    host = told.get("host") or ""
    port = f":{told['port']}" if told.get("port") and host else ""
    return f"{name} on {host}{port}" if host else name
