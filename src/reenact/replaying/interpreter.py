"""Options of Python that may come from a recording: a closed list, of options that load no code.

A command line that another person has recorded is data. Most options of the interpreter only change how it
reports; some load code: ``-i`` reads ``PYTHONSTARTUP``, ``-X pycache_prefix`` names a folder of bytecode, and a
category of ``-W`` with a dot in its name is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reenact.facts.lazy_regex import lazy_regex

SAFE_PATH: Final = "-P"
"""Keeps the working directory, and the folder of the script, off the import path."""

_FLAGS: Final = lazy_regex(r"-[bBdOPqRsuvx]+")
_X: Final = lazy_regex(r"(utf8|dev|faulthandler|importtime)(=[0-9])?")
_ACTION: Final = lazy_regex(r"[a-z]{1,10}")
_BUILT_IN: Final = lazy_regex(r"\w*")
"""A category without a dot, which Python takes from its own built-in names."""

_LINE: Final = lazy_regex(r"[0-9]*")


def interpreter_options(words: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The options at the beginning of a Python command line.

    Args:
        words: The words after the interpreter.

    Returns:
        The words that are options and their values, and the first option that may not come from a recording; empty
        where all may. ``-c``, ``-m`` and ``-`` are no options here: they say what is run.
    """
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-c", "-m", "-"):
        word = words[at]
        if _FLAGS.fullmatch(word):
            at += 1
            continue
        letter, joined = word[1:2], word[2:]
        value = joined or (words[at + 1] if at + 1 < len(words) else "")
        if not ((letter == "X" and _X.fullmatch(value)) or (letter == "W" and _is_plain_filter(value))):
            return tuple(words[:at]), word if joined or letter not in "XW" else f"{word} {value}".strip()
        at += 1 if joined else 2
    return tuple(words[:at]), ""


def _is_plain_filter(value: str) -> bool:
    """Whether a filter of warnings, ``action:message:category:module:line``, imports nothing."""
    action, _, category, _, line, *more = (*value.split(":"), "", "", "", "")
    return (
        not any(more)
        and _ACTION.fullmatch(action) is not None
        and _BUILT_IN.fullmatch(category) is not None
        and _LINE.fullmatch(line) is not None
    )
