"""Hashes: what digests are made with, as far as it matters to those that use them."""

from __future__ import annotations

from typing import Protocol


class Hash(Protocol):
    """The part of a hash object that is used here."""

    def update(self, data: bytes, /) -> None:
        """Take in more bytes."""
        ...

    def digest(self) -> bytes:
        """The digest of what was taken in."""
        ...

    def hexdigest(self) -> str:
        """The same in hexadecimal digits."""
        ...

    def copy(self) -> Hash:
        """A hash that goes on from here."""
        ...
