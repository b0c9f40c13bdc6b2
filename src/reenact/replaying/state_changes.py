"""Another state at the start of a step: values set by their paths, in place wherever the state can be changed.

A path is written with dots (``docs.0.title``); a dot inside a key is ``~1``, a tilde ``~0``.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, MutableSequence
from copy import deepcopy
from typing import Any

from reenact.errors import ForkError
from reenact.facts.call import Json

_NUMBERS = frozenset([int, float])


def parts_of(path: str) -> tuple[str, ...]:
    """The keys that a path names, from the outermost on."""
    return tuple(part.replace("~1", ".").replace("~0", "~") for part in path.split("."))


def restated(state: Any, values: Mapping[str, Json]) -> Any:
    """The given state with some of its values set.

    Args:
        state: The agent's own state; changed in place where possible.
        values: New values by their paths; copied, because the agent may change them.

    Returns:
        The same object, or another one where it cannot be changed in place.

    Raises:
        ForkError: A path leads nowhere, or through something that cannot be changed.
    """
    for path, value in values.items():
        state = _put(state, parts_of(path), deepcopy(value), path)
    return state


def differs(state: Any, values: Mapping[str, Json]) -> bool:
    """Whether a state has another value at any of these paths. No code of the agent runs in this comparison: any value
    that is not plain counts as different.

    Raises:
        ForkError: A path leads nowhere.
    """
    return any(not _is_plainly(_at(state, path), value) for path, value in values.items())


def _at(state: Any, path: str) -> Any:
    for key in parts_of(path):
        state = _get(state, key, path)
    return state


def _is_plainly(there: Any, value: Json) -> bool:
    if type(there) in _NUMBERS and type(value) in _NUMBERS:
        return bool(there == value)
    if type(there) is not type(value):
        return False
    if isinstance(value, dict):
        return there.keys() == value.keys() and all(_is_plainly(there[key], each) for key, each in value.items())
    if isinstance(value, list):
        return len(there) == len(value) and all(map(_is_plainly, there, value))
    return bool(there == value)


def _put(holder: Any, keys: tuple[str, ...], value: Json, path: str) -> Any:
    """``holder`` with the value at ``keys`` set: itself, or a changed copy of what is immutable."""
    key, rest = keys[0], keys[1:]
    inner = _get(holder, key, path)
    new = _put(inner, rest, value, path) if rest else value
    if rest and new is inner:
        return holder
    if isinstance(holder, MutableMapping):
        holder[key] = new
        return holder
    if isinstance(holder, MutableSequence):
        holder[int(key)] = new
        return holder
    return _set_field(holder, key, new, path)


def _get(holder: Any, key: str, path: str) -> Any:
    if isinstance(holder, Mapping):
        if key in holder:
            return holder[key]
        raise _nowhere(path, key, [str(name) for name in holder])
    if isinstance(holder, (list, tuple)) and not hasattr(holder, "_fields"):
        if key.isdigit() and int(key) < len(holder):
            return holder[int(key)]
        raise _nowhere(path, key, [f"0 to {len(holder) - 1}"] if holder else [])
    if not key.startswith("_") and hasattr(holder, key):
        return getattr(holder, key)
    raise _nowhere(path, key, _fields(holder))


def _set_field(holder: Any, key: str, new: Any, path: str) -> Any:
    if isinstance(holder, tuple):
        if hasattr(holder, "_replace"):
            return holder._replace(**{key: new})
        return (*holder[: int(key)], new, *holder[int(key) + 1 :])
    try:
        setattr(holder, key, new)
        return holder
    except (AttributeError, TypeError, ValueError):  # the object is frozen in some way
        pass
    import dataclasses  # late: only a fork that changes a state needs it

    if dataclasses.is_dataclass(holder) and not isinstance(holder, type):
        return dataclasses.replace(holder, **{key: new})
    copier = getattr(holder, "model_copy", None)
    if callable(copier):
        return copier(update={key: new})
    raise ForkError(
        f"the state at {path} cannot be changed: {type(holder).__name__} is immutable",
        cause="only mappings, sequences, records and plain objects can be given other values",
        next_command="reenact fork --help",
    )


def _fields(holder: Any) -> list[str]:
    import dataclasses

    if dataclasses.is_dataclass(holder):
        return [field.name for field in dataclasses.fields(holder)]
    return [name for name in getattr(holder, "__dict__", {}) if not name.startswith("_")]


def _nowhere(path: str, key: str, names: list[str]) -> ForkError:
    there = ", ".join(names[:12]) or "nothing"
    return ForkError(
        f"the state has no {path}: there is no {key} in it",
        cause=f"at that place it has {there}",
        next_command="reenact show @ --state",
    )
