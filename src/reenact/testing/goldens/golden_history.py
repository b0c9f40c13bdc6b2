"""The history of a golden, entry by entry, each chained to those before it.

An entry is a JSON object whose last field is its ``chain``: the first 32 hexadecimal digits of SHA-256 over the chain
of the entry before and the entry itself, written as compact JSON with sorted names and without that field. So no entry
can be altered, left out, added or moved by itself. Histories of format 1 have no chain; they get one when they are next
written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from reenact.errors import StoreError
from reenact.facts.lazy_dataclass import asdict, dataclass, fields

DIGITS: Final = 32
_FIRST: Final = hashlib.sha256(b"reenact golden.json history").hexdigest()[:DIGITS]
_write = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_ALWAYS: Final = ("at", "what", "event", "category", "reason")


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One entry of a golden's history, or a difference that was accepted while others are open.

    Attributes:
        at: The time, ISO 8601 in UTC.
        what: ``added``, ``accepted`` (one difference), ``reviewed`` (all differences were: from here on another run
            answers), ``recorded`` (what was missing), ``rerecorded`` (what was recorded later, again) or ``verified``
            (it passed on the code of a deploy).
        event: The number of the event, in the run that the golden answered from; None for the whole golden, or without
            an event.
        category: ``create``, ``fix``, ``trim`` or ``update``; empty where nothing was accepted.
        reason: The reason, in a person's words; for ``verified``, the text of the deploy's mark.
        today: The number of the event in the run of that day; None without one.
        call: The call, for people.
        old, new: Digests of the old and the new event, see ``golden_differences``; empty without one. For ``reviewed``,
            the ids of the answering run before and after.
        revision: Revision of the code that was accepted, or verified; empty where git knows none.
    """

    at: str
    what: str
    event: int | None = None
    category: str = ""
    reason: str = ""
    today: int | None = None
    call: str = ""
    old: str = ""
    new: str = ""
    revision: str = ""

    def to_json(self) -> dict[str, Any]:
        """The entry as JSON-able data; empty fields are left out."""
        return {name: value for name, value in asdict(self).items() if name in _ALWAYS or value not in (None, "")}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> HistoryEntry:
        """The inverse of ``to_json``.

        Raises:
            TypeError, KeyError: The data is no entry.
        """
        for name in data.keys() - _TYPES.keys():
            raise TypeError(f"an entry of the history has a field {str(name)[:40]!r}")
        found = cls(**data)
        for name, types in _TYPES.items():
            if type(getattr(found, name)) not in types:
                raise TypeError(f"{name} of an entry of the history is not what it should be")
        return found


_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    each.name: (int, type(None)) if each.name in ("event", "today") else (str,) for each in fields(HistoryEntry)
}


def chained(history: Iterable[HistoryEntry]) -> list[dict[str, Any]]:
    """A history as JSON-able data, with its chain."""
    found, link = [], _FIRST
    for change in history:
        data = change.to_json()
        link = _next(link, data)
        found.append({**data, "chain": link})
    return found


def unchained(entries: Sequence[Any], *, required: bool) -> tuple[HistoryEntry, ...]:
    """A history, verified to be as it was written.

    Args:
        entries: The result of ``chained``.
        required: Whether each must have a chain; those of format 1 have none.

    Raises:
        StoreError: An entry is not chained to those before it.
        TypeError, KeyError: The data is no history.
    """
    found, link = [], _FIRST
    for number, entry in enumerate(entries, 1):
        data = dict(entry)
        said = data.pop("chain", None)
        found.append(HistoryEntry.from_json(data))  # before the digest: this verifies that the data is flat
        link = _next(link, data)
        if (said is not None or required) and said != link:
            raise StoreError(
                f"the history of this golden was altered: entry {number} is not chained to those before it",
                cause="the bundle was made by another program than reenact, or by hand",
                next_command="git log -- tests/goldens",
            )
    return tuple(found)


def _next(link: str, data: Mapping[str, Any]) -> str:
    return hashlib.sha256(f"{link}{_write(data)}".encode()).hexdigest()[:DIGITS]
