"""Data and names in the notation of expressions."""

from __future__ import annotations

import keyword

from reenact.errors import UsageError
from reenact.facts.call import Json

__all__ = ["called", "quoted", "spelled"]


def called(word: str, *names: str) -> str:
    """A word with names in its brackets, quoted where they must be: ``calls(search_docs)``, ``calls('GET a.test')``."""
    return f"{word}({', '.join(map(quoted, names))})"


def spelled(value: Json) -> str:
    """Data in the notation of expressions.

    Raises:
        UsageError: The value is no JSON data.
    """
    match value:
        case None | bool() | str() | int():
            return repr(value)
        case float() if value - value == 0:
            return repr(value)
        case list() | tuple():
            return f"[{', '.join(map(spelled, value))}]"
        case dict() if all(isinstance(name, str) for name in value):
            return f"{{{', '.join(f'{name!r}: {spelled(each)}' for name, each in value.items())}}}"
    raise UsageError(
        f"an expectation cannot hold {type(value).__name__}",
        cause="it is kept as text: None, booleans, numbers, texts, lists, and objects with texts as keys",
        next_command="reenact ls --help",
    )


def quoted(name: str) -> str:
    """A name in the brackets of a word, in quotes where it must be."""
    return name if name.isascii() and name.isidentifier() and not keyword.iskeyword(name) else repr(name)
