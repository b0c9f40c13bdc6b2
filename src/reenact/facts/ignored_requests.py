"""Requests that a server answers without a run: patterns of paths that a project sets (``server.ignore``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from reenact.facts.lazy_regex import lazy_regex

_PATTERN = lazy_regex(r"(?:([A-Z]+) )?((?:/|\*)\S*)")


def unrecorded(patterns: Iterable[str]) -> Callable[[str, str], bool]:
    """A function of a request's method and path that tells whether one of the patterns matches them.

    Args:
        patterns: ``PATH`` or ``METHOD PATH``, as ``reenact ls`` shows a request; ``*`` stands for any text.

    Raises:
        ValueError: A text is no such pattern.
    """
    parts = []
    for pattern in patterns:
        found = _PATTERN.fullmatch(pattern)
        if found is None:
            raise ValueError(f"has {pattern!r}, which is no path of a request (/health, /static/*, GET /ping)")
        method, path = found.groups()
        parts.append(f"{method or '[^ ]*'} " + ".*".join(re.escape(part) for part in path.split("*")))
    if not parts:
        return lambda method, path: False
    matches = re.compile("|".join(f"(?:{part})" for part in parts), re.DOTALL).fullmatch
    return lambda method, path: matches(f"{method} {path}") is not None
