"""Shell text: a command as a person types it into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Final

_SPECIAL: Final = frozenset('"$`\\!')
"""The characters that a shell interprets within double quotes."""


def typed(words: Iterable[str]) -> str:
    """One command line of some words. A word with single quotes in it is put between double quotes where possible, so
    that it stays readable."""
    return " ".join(f'"{each}"' if "'" in each and not _SPECIAL & set(each) else shlex.quote(each) for each in words)
