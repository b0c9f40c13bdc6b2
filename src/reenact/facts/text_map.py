"""The places of the characters of a changed text in the text from which it was made."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable

_LONG = 1 << 16
"""The size in bytes from which on a view with few changes is searched only around the changes."""
_LINES_BEFORE = 2048
_LINES_AFTER = 8192
"""How many bytes before and after a change are searched too, up to whole lines. They are enough for names before a
value and for long values."""


class TextMap:
    """Maps places of the view to places of the text. It keeps pairs of places at which a run of equal characters
    begins, or a part that represents other characters."""

    __slots__ = ("there", "view")

    def __init__(self) -> None:
        self.view = [0]
        self.there = [0]

    def begin(self, place: int) -> int:
        """The beginning, in the text, of the part at ``place``."""
        at = bisect_right(self.view, place) - 1
        return self.there[at] + (place - self.view[at] if self._equal(at) else 0)

    def end(self, place: int) -> int:
        """The end, in the text, of the part that ends at ``place``."""
        at = bisect_left(self.view, place)
        if at < len(self.view) and self.view[at] == place:
            return self.there[at]
        at -= 1
        return self.there[at] + place - self.view[at] if self._equal(at) else self.there[at + 1]

    def windows(self, text: bytes) -> tuple[tuple[int, int], ...]:
        """The lines around the decoded places of a long view, if these are few. The rest has been searched in the text
        itself. If they are many, no lines."""
        found: list[tuple[int, int]] = []
        for place in self.view[1:] if len(text) >= _LONG else ():
            if found and place + _LINES_AFTER <= found[-1][1]:
                continue
            start = max(text.rfind(b"\n", 0, max(0, place - _LINES_BEFORE)) + 1, place - _LINES_AFTER)
            end = text.find(b"\n", place + _LINES_AFTER, place + 2 * _LINES_AFTER)
            end = min(place + 2 * _LINES_AFTER, len(text)) if end < 0 else end
            if found and start <= found[-1][1]:
                start = found.pop()[0]
            found.append((start, end))
        return tuple(found) if 2 * sum(end - start for start, end in found) <= len(text) else ()

    def _equal(self, at: int) -> bool:
        if at + 1 >= len(self.view):
            return True
        return self.view[at + 1] - self.view[at] == self.there[at + 1] - self.there[at]


def changed(
    data: bytes, pattern: re.Pattern[bytes], change: Callable[[re.Match[bytes]], bytes | None]
) -> tuple[bytes, TextMap]:
    """The text in which each match of a pattern is replaced by the result of ``change``; None leaves it."""
    parts: list[bytes] = []
    places = TextMap()
    size = at = 0
    for found in pattern.finditer(data):
        new = change(found)
        if new is None:
            continue
        start, end = found.span()
        parts += (data[at:start], new)
        size += start - at
        places.view += (size, size + len(new))
        places.there += (start, end)
        size += len(new)
        at = end
    parts.append(data[at:])
    return b"".join(parts), places
