"""Takes values of traces apart: JSON in texts, and lists and objects that were flattened to keys with dots."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from reenact.facts.call import Json

_LEVELS: Final = 2
"""How deep texts of JSON may be nested in JSON."""
_DEEPEST: Final = 12


def opened(value: Json) -> Json:
    """A value: JSON in a text as its data, any other value unchanged."""
    for _ in range(_LEVELS):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            return value
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def loaded(value: Json) -> Json:
    """The data of a JSON text, numbers and booleans too. ``null`` stays a text, so that it differs from a missing
    value."""
    if isinstance(value, str) and value != "null":
        try:
            value = json.loads(value, parse_constant=str)
        except (ValueError, RecursionError):
            return value
    return opened(value)


def is_cut(value: Json) -> bool:
    """Whether a text begins as JSON and does not end: a limit on lengths has cut it off."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(value)
    except ValueError:
        return value.lstrip()[:2] in ('{"', "[{", "[[", '["')
    except RecursionError:
        return False
    return False


def unflattened(pairs: Iterable[tuple[str, Json]]) -> Json:
    """Keys with dots as lists and objects: numbers are places in a list, which may lack some of them."""
    root: dict[str, Any] = {}
    for key, value in pairs:
        at = root
        *path, last = key.split(".", _DEEPEST)
        for name in path:
            inner = at.get(name)
            if not isinstance(inner, dict):
                inner = at[name] = {} if inner is None else {"": inner}
            at = inner
        if isinstance(at.get(last), dict):
            at[last][""] = value
        else:
            at[last] = value
    return _listed(root)


def _listed(node: Any) -> Json:
    if not isinstance(node, dict):
        return node
    if node and all(key.isdigit() for key in node):
        return [_listed(node[key]) for key in sorted(node, key=int)]
    return {key: _listed(value) for key, value in node.items()}


def object_in(data: Mapping[str, Json], name: str) -> Mapping[str, Json] | None:
    """An object inside an object; None where it is missing, empty, or no object."""
    found = data.get(name)
    return found if isinstance(found, Mapping) and found else None


def objects_in(value: Json) -> list[Mapping[str, Json]]:
    """The objects of a list; the list may be JSON in a text."""
    data = opened(value)
    return [each for each in data if isinstance(each, Mapping)] if isinstance(data, list) else []
