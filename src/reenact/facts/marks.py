"""Marks: lines in time that a person or a deploy job has set (`v2 deployed`), so that runs before and after can be
compared."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass

LAST: Final = "@"
"""Names the last mark."""

SHORT: Final = 12
"""The number of digits of a commit that are shown to people."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark.

    Attributes:
        id: Its id, in the form of a run's id.
        text: The event, in a person's words.
        at_us: The time of the event, microseconds since the epoch.
        revision: The deployed commit; empty where none was given.
    """

    id: str
    text: str
    at_us: int
    revision: str = ""

    @property
    def name(self) -> str:
        """Its short name: its text, and the beginning of its commit."""
        return f"{self.text} ({self.revision[:SHORT]})" if self.revision else self.text

    def to_json(self) -> dict[str, Json]:
        """The mark as JSON-able data."""
        return {"id": self.id, "text": self.text, "at_us": self.at_us, "revision": self.revision}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Mark:
        """The inverse of ``to_json``.

        Raises:
            KeyError, TypeError: The data is no mark.
        """
        found = cls(data["id"], data["text"], data["at_us"], data.get("revision") or "")
        if not (type(found.at_us) is int and all(type(each) is str for each in (found.id, found.text, found.revision))):
            raise TypeError("a field of a mark is not what it should be")
        return found


def in_order(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """Marks by the time that they mark; marks of one moment in the order in which they were set."""
    return tuple(sorted(marks, key=lambda mark: (mark.at_us, mark.id)))


def find_mark(marks: Sequence[Mark], ref: str) -> Mark:
    """The mark of a reference.

    Args:
        marks: All marks, in order.
        ref: Its text, a prefix of its id as shown, or ``@`` for the last one. If several marks have the text, the last
            one is meant.

    Raises:
        UsageError: No mark matches, or several do.
    """
    found = [mark for mark in marks if ref in (LAST, mark.text)][-1:]
    found = found or [mark for mark in marks if ref and (tail(mark.id).startswith(ref) or mark.id.startswith(ref))]
    if len(found) == 1:
        return found[0]
    known = ", ".join(f"{mark.text} ({tail(mark.id)})" for mark in (found or marks)[-5:])
    raise UsageError(
        f"{'several marks match' if found else 'no mark matches'} {ref!r}",
        cause=f"{'these do' if found else 'the marks are'}: {known}" if known else "no mark was set in this store",
        next_command="reenact mark" if marks else 'reenact mark "v2 deployed"',
    )


class Periods:
    """The stretches of time between marks, each named by the mark that it follows.

    Args:
        marks: All marks, in order.
    """

    def __init__(self, marks: Sequence[Mark]) -> None:
        self._marks = marks
        first = f"before {_named(marks[0], marks)}" if marks else ""
        self.names: tuple[str, ...] = (first, *(f"since {_named(mark, marks)}" for mark in marks))
        """The name of each stretch, in order of time. Where there are no marks, there is one stretch with an empty
        name."""

    def of(self, at_us: int) -> str:
        """The name of the stretch that a moment (microseconds since the epoch) lies in."""
        return self.names[bisect_right(self._marks, at_us, key=lambda mark: mark.at_us)]


def _named(mark: Mark, marks: Sequence[Mark]) -> str:
    """The name of a mark among others: with its id, if another mark has the same text."""
    same = sum(each.text == mark.text for each in marks) > 1
    return f"{mark.text} [{tail(mark.id)}]" if same else mark.text
