"""Hashes: the interface of the objects that make digests."""

from __future__ import annotations

from typing import Protocol


class Hash(Protocol):
    """The part of a hash object that is used here."""

    def update(self, data: bytes, /) -> None:
        """Take in more bytes."""
        ...

    def digest(self) -> bytes:
        """The digest of all bytes so far."""
        ...

    def hexdigest(self) -> str:
        """The digest of all bytes so far, in hexadecimal digits."""
        ...

    def copy(self) -> Hash:
        """A hash that goes on from here."""
        ...
