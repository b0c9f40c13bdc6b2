"""Regular expressions that are compiled when they are first used.

The package has three hundred of them, most of them for the search for credentials, and a process needs some twenty.
Compiling them all took a quarter of a start.
"""

from __future__ import annotations

import re
from re import compile as _compile
from typing import Any, AnyStr, Final

__all__ = ["complete", "lazy_regex"]

_METHODS: Final = ("findall", "finditer", "fullmatch", "match", "scanner", "search", "split", "sub", "subn")
_FACTS: Final = ("flags", "groupindex", "groups")
_uncompiled: list[_Lazy] = []


class _Lazy:
    """Stands for an expression. Once it is compiled, its methods are attributes of this object, and cost no more."""

    def __init__(self, text: Any, flags: int) -> None:
        self.pattern = text
        self._asked = flags
        _uncompiled.append(self)

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS and name not in _FACTS:  # ``copy`` looks such names up
            raise AttributeError(name)
        compiled = _compile(self.pattern, self._asked)
        vars(self).update({each: getattr(compiled, each) for each in (*_METHODS, *_FACTS)})
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return f"lazy_regex({self.pattern!r})"


def lazy_regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """An expression that is compiled at its first use. Modules call this instead of ``re.compile`` when they are
    loaded.

    Args:
        text: The expression.
        flags: The flags for ``re.compile``.
    """
    standing_in: Any = _Lazy(text, flags)
    return standing_in  # type: ignore[no-any-return]  # it has the methods, and is no Pattern for isinstance


def complete() -> None:
    """Compile every expression. For a process that forks children which use them."""
    while _uncompiled:
        _uncompiled.pop().flags  # noqa: B018 - asking compiles
