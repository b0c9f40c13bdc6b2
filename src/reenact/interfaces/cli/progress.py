"""Progress over many goldens, or cells of an experiment, on one line of a terminal."""

from __future__ import annotations

import sys
import time


class Progress:
    """What has been done so far; nothing is shown where standard error is no terminal.

    Args:
        total: How many there are.
        bad: What those are called that are counted apart.
        known: How many of them were done before.
    """

    def __init__(self, total: int, bad: str, *, known: int = 0) -> None:
        self._total = total
        self._word = bad
        self._done = known
        self._bad = 0
        self._shown = sys.stderr is not None and sys.stderr.isatty() and total - known > 1
        self._since = time.monotonic()

    def one(self, *, bad: bool) -> None:
        """One more is known."""
        self._done += 1
        self._bad += bad
        if self._shown:
            filled = 30 * self._done // self._total
            bar = "#" * filled + "." * (30 - filled)
            spent = time.monotonic() - self._since
            sys.stderr.write(f"\r[{bar}] {self._done}/{self._total}  {self._bad} {self._word}  {spent:.0f} s ")
            sys.stderr.flush()

    def end(self) -> None:
        """Leave the line. Again: nothing."""
        if self._shown:
            self._shown = False
            sys.stderr.write("\n")


class Reading:
    """How far the reading of a store is, on one line of a terminal, once it takes longer than a moment."""

    _MOMENT = 0.5

    def __init__(self) -> None:
        self._shown = sys.stderr is not None and sys.stderr.isatty()
        self._since = time.monotonic()
        self._wrote = False

    def at(self, what: str, done: int, total: int) -> None:
        """So many of these are read."""
        if self._shown and time.monotonic() - self._since > self._MOMENT:
            self._wrote = True
            sys.stderr.write(f"\r{what} {done}/{total}\x1b[K")
            sys.stderr.flush()

    def end(self) -> None:
        """Leave the line empty. Again: nothing."""
        if self._wrote:
            self._wrote = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
