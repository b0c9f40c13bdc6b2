"""Abridging: a large JSON-able value, cut down to the parts along one path, for reports for people."""

from __future__ import annotations

import json
from collections.abc import Sequence

from reenact.facts.call import Json

LARGE = 256 << 10
"""Bodies up to this many bytes are shown whole."""

_BESIDE = 200
_MEMBERS = 20


def abridged(value: Json, path: str) -> Json:
    """A value, shortened for a difference at ``path``: the parts along the path are whole, those beside it are short.

    A text with the size (``… (3500 members)``) replaces each omitted part, in its place, so that the path still leads
    to the same part.

    Args:
        value: JSON-able.
        path: A pointer with dots (``facts.difference``); empty for none.
    """
    return _along(value, [part.replace("~1", ".").replace("~0", "~") for part in path.split(".") if part])


def _along(value: Json, steps: Sequence[str]) -> Json:
    step = steps[0] if steps else None
    if isinstance(value, dict):
        names = list(value)[:_MEMBERS]
        if step is not None and step in value and step not in names:
            names.append(step)
        told = {name: _along(value[name], steps[1:]) if name == step else _short(value[name]) for name in names}
        left = len(value) - len(told)
        return {**told, "…": f"({left} members more)"} if left else told
    if isinstance(value, list):
        at = int(step) if step is not None and step.isdecimal() and int(step) < len(value) else -1
        until = at + 1 if at >= 0 else min(len(value), _MEMBERS)
        told_list = [_along(item, steps[1:]) if n == at else _short(item) for n, item in enumerate(value[:until])]
        return told_list if until == len(value) else [*told_list, f"… ({len(value) - until} members more)"]
    return value


def _short(value: Json) -> Json:
    """A short value unchanged; for a long one, a text with its length."""
    if isinstance(value, str):
        return value if len(value) <= _BESIDE else value[:_BESIDE] + f"… ({len(value)} characters)"
    if not isinstance(value, (dict, list)):
        return value
    if len(value) <= _MEMBERS:
        text = json.dumps(value, ensure_ascii=False, default=str)
        if len(text) <= _BESIDE:
            return value
    return f"… ({len(value)} members)"
