"""Why a run is a cold case, on the command line: each reason, and what mends those that are mended alike once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reenact.triage.cold import Reason


def with_fixes(reasons: Sequence[Reason]) -> Iterator[tuple[Reason, str]]:
    """Each reason with the cheapest way to have next time what it misses; empty where the next reason has the same way,
    or there is none."""
    ways = [each.capture[0] if each.capture else "" for each in reasons]
    for each, way, following in zip(reasons, ways, [*ways, ""][1:], strict=True):
        yield each, "" if way == following else way
