"""Statements of SQL as calls: the possible effect of a statement, by its words, and its name and key. Pure."""

from __future__ import annotations

import re
from typing import Any, Final

from reenact.facts.call import Call, Effect, Json, Kind
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.values import encode

RULE: Final = "sql/1"
"""Key of a statement: the database, the statement as written, and its parameters."""

_COMMENT: Final = lazy_regex(r"\A(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?\*/)+", re.DOTALL)
_WORD: Final = lazy_regex(r"[A-Za-z]+")
_READING: Final = frozenset(
    {"SELECT", "VALUES", "EXPLAIN", "SHOW", "BEGIN", "START", "SAVEPOINT", "RELEASE", "ROLLBACK"}
)
_QUOTED: Final = r"--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\[[^\]]*\]|`[^`]*`"
_PARTS: Final = lazy_regex(rf"(?:{_QUOTED}|[^;])+", re.DOTALL)
"""The statements of a script: the parts between semicolons that are neither quoted nor in a comment."""
_PARTLY: Final = lazy_regex(r"ROLLBACK\b.*\bTO\b", re.IGNORECASE | re.DOTALL)
"""Back to a savepoint: the transaction goes on."""
_CHANGING: Final = lazy_regex(r"\b(?:INSERT|UPDATE|DELETE|REPLACE|MERGE|INTO|FOR\s+UPDATE)\b", re.IGNORECASE)


def first_word(sql: str) -> str:
    """The word a statement begins with, in capitals; empty where there is none."""
    found = _WORD.match(bare(sql))
    return found[0].upper() if found else ""


def bare(sql: str) -> str:
    """A statement without the space and the comments before it."""
    return _COMMENT.sub("", sql, count=1)


def statements_of(script: str) -> list[str]:
    """The statements of a script. The body of a trigger is split too; its parts count as changes."""
    return [found for part in _PARTS.findall(script) if (found := bare(part).rstrip())]


def effect_of(sql: str) -> Effect:
    """The effect of a statement: a statement that is not known to only read counts as a write."""
    word = first_word(sql)
    if word == "PRAGMA":
        return Effect.WRITE if "=" in sql else Effect.READ
    if word == "WITH":
        return Effect.WRITE if _CHANGING.search(sql) else Effect.READ
    return Effect.READ if word in _READING else Effect.WRITE


def statement(database: str, sql: str, parameters: Any, how: str = "", *, unsaved: bool = True) -> Call:
    """A statement as a call.

    Args:
        database: Its name, for people and for the key.
        sql: The statement as written.
        parameters: The values of its placeholders.
        how: ``many`` or ``script`` where it is not a single statement.
        unsaved: Whether the transaction that is open may have changed something: else its commit is no write.
    """
    asked: dict[str, Any] = {"sql": sql, "parameters": parameters}
    encoded = encode(asked, sort_sets=True)
    head: dict[str, Json] = {"database": database, "sql": sql}
    if how:
        head["how"] = how
    if encoded.opaque:
        head["opaque"] = list(encoded.opaque)
    idle = not how and not unsaved and ending_of(sql) == "commit"
    effect = Effect.WRITE if how else Effect.READ if idle else effect_of(sql)
    name = f"{first_word(sql) or 'statement'} {database}"
    return Call(Kind.DB, name, effect, RULE, head, encoded.body, "application/json")


def further(database: str, what: str, effect: Effect = Effect.READ, of: int | None = None) -> Call:
    """Any other call of a database: ``connect``, ``commit``, more rows of a statement (named by its event)."""
    head: dict[str, Json] = {"database": database, "what": what} | ({} if of is None else {"of": of})
    return Call(Kind.DB, f"{what} {database}", effect, RULE, head)


def ending_of(sql: str) -> str:
    """How a statement ends a transaction: ``commit`` or ``rollback``; empty if the transaction goes on."""
    word = first_word(sql)
    if word == "ROLLBACK":
        return "" if _PARTLY.match(bare(sql)) else "rollback"
    return "commit" if word in ("COMMIT", "END") else ""


def ends_with(call: Call) -> str:
    """How a call on a database ends a transaction, as for ``ending_of``; a script first commits an open transaction."""
    if call.head.get("how") == "script":
        return "commit"
    return ending_of(str(call.head.get("sql") or call.head.get("what") or ""))
