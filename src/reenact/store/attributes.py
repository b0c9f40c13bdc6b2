"""The evidence on an event, fetched on first use, because a replay never uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reenact.facts.call import Json


class Attributes(Mapping[str, Json]):
    """A mapping that is read from the store at its first use, and equals a dict of the same content.

    Args:
        fetch: Reads the notes of one address.
        address: The address of the notes.
    """

    __slots__ = ("_address", "_fetch", "_found")

    def __init__(self, fetch: Callable[[int], dict[str, Json]], address: int) -> None:
        self._fetch = fetch
        self._address = address
        self._found: dict[str, Json] | None = None

    def _all(self) -> dict[str, Json]:
        if self._found is None:
            self._found = self._fetch(self._address)
        return self._found

    def __getitem__(self, name: str) -> Json:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self._all()),)
