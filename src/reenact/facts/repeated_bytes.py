"""Searches bytes that mostly repeat earlier bytes: only the new part is searched.

Each request of an agent sends the whole conversation again, with one more turn. A pattern without a match in the last
request has no match in the common beginning and end of this one either. The rest is some kilobytes, at any place (a
moved mark, an edit). The two requests are compared byte by byte, so nothing is assumed. A request that differs
everywhere is searched whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reenact.facts.common_bytes import common_head, common_tail
from reenact.facts.lazy_regex import lazy_regex

_LONG = 1 << 14
"""The number of bytes from which on the comparison saves time."""

_TOO_LONG = 4 << 20
"""The number of bytes above which a body is not remembered."""

_SIDE_BY_SIDE = 4
"""The number of conversations that are remembered."""

_MARGIN = 128
"""The bytes on each side of the new part that are searched too, because a match may cross its edge."""

_GAP = lazy_regex(rb"\s{24}")
"""White space that is so long that a match may exceed the margin."""


class PatternSearch:
    """A search for any of some patterns.

    Args:
        patterns: No pattern looks back, and none reads more than 64 bytes, not counting white space at up to two
            places.
    """

    def __init__(self, *patterns: re.Pattern[bytes]) -> None:
        self._patterns = patterns
        self._without: Sequence[bytes] = ()

    def finds(self, body: bytes) -> bool:
        """Whether one of the patterns is found in a body."""
        if len(body) < _LONG or type(body) is not bytes:
            return self._searched(body, 0, len(body))
        without = self._without
        heads = [common_head(body, each) for each in without]
        nearest = max(range(len(heads)), key=heads.__getitem__, default=-1)
        start, end = 0, len(body)
        if nearest >= 0:
            start, end = _new(body, without[nearest], heads[nearest])
        if self._searched(body, start, end) and self._searched(body, 0, len(body)):  # a part may seem to match
            return True
        if len(body) <= _TOO_LONG:
            others = [each for each, head in zip(without, heads, strict=True) if 2 * head < len(each)]
            self._without = (body, *others[: _SIDE_BY_SIDE - 1])
        return False

    def _searched(self, body: bytes, start: int, end: int) -> bool:
        return any(pattern.search(body, start, end) is not None for pattern in self._patterns)


def _new(body: bytes, before: bytes, head: int) -> tuple[int, int]:
    """The start and end of the part of a body that must be searched, if an earlier body with the same beginning has no
    match."""
    tail = common_tail(body, before, len(body), len(before), min(len(body), len(before)) - head)
    start, end = max(head - _MARGIN, 0), min(len(body) - tail + _MARGIN, len(body))
    across = _GAP.search(body, start, head) or _GAP.search(body, len(body) - tail, end)
    return (0, len(body)) if across else (start, end)
