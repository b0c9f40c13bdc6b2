"""The standard streams of a recorded or replayed process, taken over before any of its code runs."""

from __future__ import annotations

from collections.abc import Mapping

from reenact.facts.call import Json
from reenact.seams import stdin, stdout
from reenact.seams.stdout import OnBytes, OutputDigest, facts, flush

__all__ = ["OutputDigest", "facts", "flush", "install"]


def install(on_bytes: OnBytes, *, terminal: Mapping[str, Json] | None = None) -> list[str]:
    """Take over the three standard streams.

    Args:
        on_bytes: Called with everything that leaves through standard output (1) and error (2).
        terminal: ``facts()`` of a recording: the terminal that the replayed program sees.

    Returns:
        The escapes, in words: streams that are not ordinary ones.
    """
    watched = stdout.take_over(on_bytes, terminal=terminal)
    gaps = [f"{name} is noted as it is written to, not as it leaves" for name in watched]
    if not stdin.take_over(terminal):
        gaps.append("standard input is not recorded")
    return gaps
