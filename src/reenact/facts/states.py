"""States: the agent's state at one moment, encoded once, as a whole and part by part.

A look at a state encodes both: the parts, which are compared and searched later, and the whole, which is the state
before or after a step. The whole is joined from the parts where that gives the same text. For a list that is declared
to grow only, the whole has its length, and a part has its content.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from reenact.facts.encoding import EncodedValue, ValuePart, encode, encode_part, join_parts
from reenact.facts.growth import NewEntries

GROWS = "grows"
"""The key, in the head of a step, for the names of the lists in its state whose lengths are in its body."""

Look = Callable[[str, list[Any]], tuple[NewEntries, tuple[str, ...]] | None]
"""Looks at a growing list by its name; gives None if the list must be written whole."""


class State(NamedTuple):
    """A state as data.

    Attributes:
        body: The whole: JSON, UTF-8.
        opaque: Names of the types in it that could not be stored.
        slots: The value of each key of a dictionary; for any other state, the whole under an empty name.
        grows: The names of the lists whose lengths are in the whole.
    """

    body: bytes
    opaque: tuple[str, ...]
    slots: Mapping[str, bytes]
    grows: tuple[str, ...] = ()


def encode_state(state: Any, grows: tuple[str, ...] = (), look: Look | None = None) -> State:
    """A look at a state. Never raises, except for errors of a signal handler of the program.

    Args:
        state: The state.
        grows: Keys of a dictionary whose lists are declared to grow only.
        look: Looks at these lists; without it they are written whole.
    """
    if type(state) is dict:
        held = state.copy()  # in one step, because another thread may replace the entries in between
        if held and all(type(key) is str and key for key in held):
            lists = [key for key in grows if type(held.get(key)) is list]
            if lists:
                found = _grown_state(held, lists, look)
                if found is not None:
                    return found
            parts = {key: encode_part(value, key) for key, value in held.items()}
            whole = join_parts(parts) or encode(state, sort_sets=True)
            return State(whole.body, whole.opaque, {key: part.encoded.body for key, part in parts.items()})
        if not held:
            return State(encode(held).body, (), {})
    whole = encode(state, sort_sets=True)
    return State(whole.body, whole.opaque, {"": whole.body})


def _grown_state(held: dict[str, Any], lists: list[str], look: Look | None) -> State | None:
    """A state with growing lists; None where it must be written like any other state."""
    slots: dict[str, bytes] = {}
    parts: dict[str, ValuePart] = {}
    for key, value in held.items():
        seen = look(key, value) if look is not None and key in lists else None
        if seen is not None:
            slots[key], opaque = seen
            size = seen[0].end
        else:
            part = parts[key] = encode_part(value, key)
            slots[key], opaque = part.encoded.body, part.encoded.opaque
            size = len(value) if key in lists else 0
        if key in lists:
            parts[key] = ValuePart(EncodedValue(b'{"~grown":%d}' % size, opaque), 2, 2, plain=True)
    whole = join_parts(parts)
    return None if whole is None else State(whole.body, whole.opaque, slots, tuple(lists))
