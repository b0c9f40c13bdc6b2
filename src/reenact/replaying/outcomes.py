"""Outcomes compared: whether a body of the agent's own code came to the same when it ran again."""

from __future__ import annotations

from reenact.facts.call import Failure, Value
from reenact.facts.values import canonical


def came_to_the_same(left: Value | Failure, right: Value | Failure) -> bool:
    """Whether two bodies of the agent's own code returned the same, or raised the same."""
    if isinstance(left, Value) and isinstance(right, Value):
        return equal(left.body, right.body)
    if isinstance(left, Failure) and isinstance(right, Failure):
        return (left.error.type, left.error.text) == (right.error.type, right.error.text)
    return False


def equal(left: bytes, right: bytes) -> bool:
    """Whether two encoded values are equal, as Python means it: the order of a dict's keys does not count."""
    return left == right or canonical(left) == canonical(right)
