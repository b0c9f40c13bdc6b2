"""Choices that follow from given bytes, and the pieces that a text is streamed in."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Choices that follow from some bytes.

    Args:
        seed: The bytes.
        greedy: Whether the first, most likely alternative is always taken, as at temperature 0.
    """

    __slots__ = ("_count", "_seed", "greedy")

    def __init__(self, seed: bytes, greedy: bool = False) -> None:
        self._seed = seed
        self._count = 0
        self.greedy = greedy

    def number(self, below: int) -> int:
        """The next number, at least 0 and less than ``below``."""
        self._count += 1
        block = hashlib.blake2b(self._count.to_bytes(8, "big"), key=self._seed[:64], digest_size=8).digest()
        return int.from_bytes(block, "big") % below

    def pick(self, options: Sequence[T]) -> T:
        """One of ``options``, by number."""
        return options[self.number(len(options))]

    def likely(self, options: Sequence[T]) -> T:
        """One of ``options``: the first when greedy."""
        return options[0] if self.greedy else self.pick(options)

    def token(self, length: int, alphabet: str) -> str:
        """Text of ``length`` letters of ``alphabet``."""
        return "".join(alphabet[self.number(len(alphabet))] for _ in range(length))


def pieces(text: str) -> list[str]:
    """The pieces in which a text is streamed: one word each, with the white space before it. Joined, they give the
    text."""
    return re.findall(r"\s*\S+|\s+$", text)
