"""The reasons why a run is a cold case, as printed; a fix that several reasons share is printed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reenact.triage.cold_reasons import Reason


def with_fixes(reasons: Sequence[Reason]) -> Iterator[tuple[Reason, str]]:
    """Each reason with the cheapest fix for later recordings. The fix is empty if the next reason has the same fix, or
    if there is no fix."""
    ways = [each.capture[0] if each.capture else "" for each in reasons]
    for each, way, following in zip(reasons, ways, [*ways, ""][1:], strict=True):
        yield each, "" if way == following else way
