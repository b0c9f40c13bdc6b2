"""Moments that a person names: ISO 8601 text as the wall clock shows it."""

from __future__ import annotations

from datetime import datetime

from reenact.errors import UsageError

_LAST_S = (1 << 63) // 1_000_000_000 - 1
"""The last second of the clock: nanoseconds are kept in 64 bits."""


def moment_us(text: str) -> int:
    """Microseconds since the epoch. A moment without an offset is one in the time zone of this process, which a fork
    runs in the zone of its parent.

    Raises:
        UsageError: It is no moment, or none that a clock can show.
    """
    try:
        moment = datetime.fromisoformat(text)
        seconds = moment.timestamp()
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"{text!r} is no moment",
            cause="it is written as ISO 8601: 2026-03-29T01:30:00+01:00, or without an offset in the agent's time zone",
            next_command="reenact fork --help",
        ) from None
    if not 0 <= seconds <= _LAST_S:
        raise UsageError(
            f"no clock can be moved to {text}",
            cause="it lies before 1970 or after 2262",
            next_command="reenact fork --help",
        )
    return int(seconds) * 1_000_000 + moment.microsecond
