"""Charts of one line: figures over time as bars."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final

_BARS: Final = "▁▂▃▄▅▆▇█"
_PLAIN: Final = "_.:-=+*#"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS: Final = 40
_HOURS: Final = 48
_HOUR_US: Final = 3_600_000_000


def bars_for(encoding: str | None) -> str:
    """The characters for bars, the lowest first: blocks, or ASCII signs where the encoding has no blocks."""
    return _BARS if encodes(_BARS, encoding) else _PLAIN


def days_between(first: str, last: str, most: int) -> list[str]:
    """Each day from ``first`` to ``last``; if there are more than ``most`` days, only the last ones."""
    end = date.fromisoformat(last)
    count = min((end - date.fromisoformat(first)).days, max(most, 1) - 1)
    return [(end - timedelta(days=n)).isoformat() for n in range(count, -1, -1)]


def sparkline(values: Sequence[int], bars: str) -> str:
    """Figures as a line with one bar for each: the largest figure has the highest bar, and a zero is a blank."""
    top = max(values, default=0)
    return "".join(bars[-(-value * len(bars) // top) - 1] if value else " " for value in values)


def encodes(text: str, encoding: str | None) -> bool:
    """Whether an encoding has all characters of a text."""
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def moment_in(zone: tzinfo, at_us: int) -> datetime:
    """A time in a zone; the epoch for a time that ``datetime`` cannot represent."""
    try:
        return (_EPOCH + timedelta(microseconds=at_us)).astimezone(zone)
    except OverflowError:
        return _EPOCH


def by_day(moments: Iterable[int], zone: tzinfo) -> list[tuple[str, int]]:
    """How many of some moments fall on each day, from the first day to the last; of a long period, only the latest
    days. The moments (at least one) are in microseconds since the epoch."""
    counts = Counter(moment_in(zone, at_us).date().isoformat() for at_us in moments)
    return [(day, counts[day]) for day in days_between(min(counts), max(counts), _DAYS)]


def by_hour(moments: Iterable[int]) -> list[tuple[int, int]]:
    """How many of some moments fall in each hour, from the first hour to the last; empty if the moments are more than
    two days apart.

    Args:
        moments: The moments, at least one, in microseconds since the epoch.

    Returns:
        The beginning of each hour (UTC), in microseconds since the epoch, and the number of moments in it.
    """
    counts = Counter(at_us // _HOUR_US for at_us in moments)
    first, last = min(counts), max(counts)
    hours = range(first, last + 1) if last - first < _HOURS else ()
    return [(hour * _HOUR_US, counts[hour]) for hour in hours]


def curve(moments: Iterable[int], zone: tzinfo) -> str:
    """How many of some moments fall in each hour, or on each day if they are far apart, as a line of bars; empty for a
    single hour. The moments (at least one) are in microseconds since the epoch."""
    every = list(moments)
    hours = [count for _, count in by_hour(every)]
    counts = hours or [count for _, count in by_day(every, zone)]
    if len(counts) < 2:
        return ""
    bars = sparkline(counts, bars_for(getattr(sys.stdout, "encoding", None)))
    return f"by {'hour' if hours else 'day'} {bars}"


def stretch(first_us: int, last_us: int, zone: tzinfo) -> str:
    """The first and the last moment, to the minute, as text."""
    first, last = (f"{moment_in(zone, at):%Y-%m-%d %H:%M}" for at in (first_us, last_us))
    return f"{first} to {last}" if first != last else first
