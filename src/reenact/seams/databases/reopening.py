"""Reopening: the database behind a recorded connection, opened at its first live use.

Until then nothing was opened, so the real connection lacks all earlier statements. Settings of the connection are made
again. If the connection had anything beside settings (an uncommitted write, a temporary table, an attached database),
it would now read other data than in the recording, and the session stops.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, Final

from reenact.facts.call import Effect
from reenact.facts.lazy_regex import lazy_regex
from reenact.seams.databases.statements import bare, effect_of, ending_of, first_word, statements_of
from reenact.seams.lanes import Lane

_PRAGMA: Final = lazy_regex(r"PRAGMA\s+(?:\w+\.)?(\w+)", re.IGNORECASE)
_SETTINGS: Final = frozenset(
    {"automatic_index", "busy_timeout", "cache_size", "cache_spill", "case_sensitive_like", "cell_size_check"}
    | {"defer_foreign_keys", "foreign_keys", "ignore_check_constraints", "mmap_size", "query_only"}
    | {"read_uncommitted", "recursive_triggers", "reverse_unordered_selects", "synchronous", "temp_store"}
    | {"threads", "trusted_schema"}
)
"""The settings that a ``PRAGMA`` makes for one connection (by SQLite's documentation); others are in the file."""

_ATTRIBUTES: Final = ("text_factory", "isolation_level", "autocommit")
"""The attributes of a connection that decide the form of rows, and when writes are committed."""

UNMADE: Final = "a write that it had not committed was not made again"

_NAME: Final = r"(?:[\"`\[]([^\"`\]]+)[\"`\]]|(\w+))"
_SCHEMA: Final = lazy_regex(
    rf"(CREATE|DROP)\s+(?:TABLE|VIEW)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?(?:\w+\.)?{_NAME}", re.IGNORECASE
)
_TEMPORARY: Final = lazy_regex(r"CREATE\s+TEMP(?:ORARY)?\b", re.IGNORECASE)


_made: dict[str, dict[str, None]] = {}
"""Tables and views that statements answered from a recording have made, by file: another connection may ask them."""


class ReopenedConnection:
    """A connection that was answered from a recording, and the real connection once it is needed.

    Attributes:
        live: The real one; None until something had to be asked.

    Args:
        name: The database, for people.
        path: Its file.
        open_it: Opens it as the program did.
    """

    def __init__(self, name: str, path: str, open_it: Callable[[], Any]) -> None:
        self._name = name
        self._path = path
        self._open_it = open_it
        self._settings: list[str] = []
        self._defined: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self._lost = ""
        self._uncommitted = self._begun = self._saved = False
        self.live: Any = None

    def passed(self, sql: str, *, uncommitted: bool, script: bool = False) -> None:
        """A statement was answered from the recording.

        Args:
            sql: Its text.
            uncommitted: Whether it left a transaction open.
            script: Whether it has several statements.
        """
        for each in statements_of(sql) if script else (bare(sql),):
            if self.live is None:
                self._keep(each)
                self._uncommitted = uncommitted and (self._uncommitted or effect_of(each) is Effect.WRITE)
                self._saved = uncommitted and (self._saved or first_word(each) == "SAVEPOINT")
            self._follow(each)

    def _keep(self, sql: str) -> None:
        """Keep the effects of a statement on the connection."""
        pragma = _PRAGMA.match(sql)
        if pragma is not None and pragma[1].lower() in _SETTINGS:
            self._settings.append(sql)
        elif first_word(sql) == "ATTACH":
            self._lost = "another database was attached to it"
        elif _TEMPORARY.match(sql):
            self._lost = "it had made something temporary"
        elif schema := _SCHEMA.match(sql):
            made, name = _made.setdefault(self._path, {}), (schema[2] or schema[3]).lower()
            made.pop(name, None)
            if schema[1].upper() == "CREATE":
                made[name] = None

    def _follow(self, sql: str) -> None:
        """Begin and end a transaction of the real connection where the answered statement does."""
        live, word = self.live, first_word(sql)
        if word == "BEGIN":
            self._begun = True
            if live is not None and not live.in_transaction:
                live.execute("BEGIN")
        elif ending := ending_of(sql):
            self.ended()
            if live is not None and live.in_transaction:
                live.rollback() if ending == "rollback" else live.commit()

    def ended(self) -> None:
        """The open transaction has ended."""
        self._begun = self._uncommitted = self._saved = False

    def define(self, how: str, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        """The program defines a function, an aggregate or a collation."""
        self._defined.append((how, args, options))
        if self.live is not None:
            getattr(self.live, how)(*args, **options)

    def require(self, lane: Lane, stand_in: Any, sql: str = "") -> Any:
        """The real connection.

        Args:
            lane: The calling lane.
            stand_in: The program's connection, whose settings are copied to the real one.
            sql: The statement.

        Raises:
            Exception: The real connection would answer differently from the recorded one; the session stops.
        """
        if self.live is None:
            if self._uncommitted:
                self._lost = UNMADE
            elif self._saved:
                self._lost = "a savepoint that it had set was not set again"
            elif not os.path.exists(self._path):
                self._lost = "its file is not there any more"
            if self._lost:
                raise cannot_go_on(lane, self._name, self._lost)
            live = self._open_it()
            for how, args, options in self._defined:
                getattr(live, how)(*args, **options)
            for setting in self._settings:
                live.execute(setting)
            _make_like(live, stand_in)
            if missing := self._missing(live, sql):
                live.close()
                raise cannot_go_on(lane, self._name, f"the run had made {missing} in it, which its file does not have")
            if self._begun:
                live.execute("BEGIN")
            self.live = live
        _make_like(self.live, stand_in)
        return self.live

    def _missing(self, live: Any, sql: str) -> str:
        """A table that a statement needs and the real database lacks: the creation was answered, not executed."""
        named = {word.lower() for word in re.findall(r"\w+", sql)}
        for table in _made.get(self._path, ()):
            if named.issuperset(re.findall(r"\w+", table)):
                there = live.execute("SELECT 1 FROM sqlite_master WHERE lower(name) = ?", (table,)).fetchone()
                if there is None:
                    return f"the table {table}"
        return ""

    @property
    def would_lose(self) -> bool:
        """Whether a commit in the world would lose the program's writes, which were only answered, not made."""
        return self.live is None and self._uncommitted

    def close(self) -> None:
        """Close the real connection, if there is one."""
        if self.live is not None:
            self.live.close()


def _make_like(live: Any, stand_in: Any) -> None:
    """Copy a program's settings from one connection to another."""
    for name in _ATTRIBUTES:
        wanted = getattr(stand_in, name, None)
        if getattr(live, name, None) != wanted:
            setattr(live, name, wanted)


def cannot_go_on(lane: Lane, name: str, why: str) -> Exception:
    """The error for a recorded connection to ``name`` that cannot be used now."""
    return lane.session.cannot_go_on(
        f"the run cannot go on asking {name}: {why}",
        cause="the connection was answered from the recording, and its changes are not in the database",
    )
