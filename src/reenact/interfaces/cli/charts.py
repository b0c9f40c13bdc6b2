"""Charts of one line: figures over time as bars."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final

_BARS: Final = "▁▂▃▄▅▆▇█"
_PLAIN: Final = "_.:-=+*#"


def bars_for(encoding: str | None) -> str:
    """Bars that an encoding has, the lowest first: blocks, or signs where it has none."""
    return _BARS if encodes(_BARS, encoding) else _PLAIN


def days_between(first: str, last: str, most: int) -> list[str]:
    """Each day from one to another, those at the end if they are more than ``most``."""
    end = date.fromisoformat(last)
    count = min((end - date.fromisoformat(first)).days, max(most, 1) - 1)
    return [(end - timedelta(days=n)).isoformat() for n in range(count, -1, -1)]


def sparkline(values: Sequence[int], bars: str) -> str:
    """Figures as one bar each, the largest as the highest; nothing as a blank."""
    top = max(values, default=0)
    return "".join(bars[-(-value * len(bars) // top) - 1] if value else " " for value in values)


def encodes(text: str, encoding: str | None) -> bool:
    """Whether an encoding has all characters of a text."""
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
