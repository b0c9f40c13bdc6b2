"""States: the agent's state at one moment, encoded once, as a whole and part by part.

A look at a state makes both: its parts are what is compared and searched later, the whole is what a step was given or
came to. The whole is put together of the parts wherever that is what it would be written as.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from reenact.facts.encoding import encode, encode_part, join_parts


class State(NamedTuple):
    """A state as data.

    Attributes:
        body: The whole: JSON, UTF-8.
        opaque: Names of the types in it that could not be stored.
        slots: The value of each key of a dictionary; of anything else the whole, without a name.
    """

    body: bytes
    opaque: tuple[str, ...]
    slots: Mapping[str, bytes]


def encode_state(state: Any) -> State:
    """A look at a state. Never raises, but for what a signal handler of the program raises meanwhile."""
    if type(state) is dict:
        held = state.copy()  # in one step: another thread may put other entries in meanwhile
        if held and all(type(key) is str and key for key in held):
            parts = {key: encode_part(value, key) for key, value in held.items()}
            whole = join_parts(parts) or encode(state, sort_sets=True)
            return State(whole.body, whole.opaque, {key: part.encoded.body for key, part in parts.items()})
        if not held:
            return State(encode(held).body, (), {})
    whole = encode(state, sort_sets=True)
    return State(whole.body, whole.opaque, {"": whole.body})
