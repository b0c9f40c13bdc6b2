"""Typed: a command as a person types it into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Final

_SPECIAL: Final = frozenset('"$`\\!')
"""The characters that a shell interprets within double quotes."""


def typed(words: Iterable[str]) -> str:
    """One command line of some words. An expression with quotes in it keeps them as they are, where that can be."""
    return " ".join(f'"{each}"' if "'" in each and not _SPECIAL & set(each) else shlex.quote(each) for each in words)
