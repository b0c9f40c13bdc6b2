"""The progress of slow work, on one line of a terminal; nothing is shown if standard error is no terminal."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

_QUIET_S = 2.0
"""The seconds of work before any progress is shown."""


def remaining(done: int, total: int, spent: float) -> str:
    """The estimated time that is left; empty while it is too early to tell.

    Args:
        done: The number of items that were done in the time ``spent``.
        total: The number of items in all.
        spent: The time, in seconds.
    """
    if not done or spent < _QUIET_S or done >= total:
        return ""
    return f", about {max(1, round(spent / done * (total - done)))} s left"


class Progress:
    """A progress bar; nothing is shown if standard error is no terminal.

    Args:
        total: The number of items.
        bad: The word for items that went wrong, which are counted separately.
        known: The number of items that were done before.
    """

    def __init__(self, total: int, bad: str, *, known: int = 0) -> None:
        self._total = total
        self._word = bad
        self._known = self._done = known
        self._bad = 0
        self._shown = sys.stderr is not None and sys.stderr.isatty() and total - known > 1
        self._since = time.monotonic()

    def one(self, *, bad: bool) -> None:
        """Count one more item."""
        self._done += 1
        self._bad += bad
        if self._shown:
            filled = 30 * self._done // self._total
            bar = "#" * filled + "." * (30 - filled)
            spent = time.monotonic() - self._since
            left = remaining(self._done - self._known, self._total - self._known, spent)
            told = f"[{bar}] {self._done}/{self._total}  {self._bad} {self._word}  {spent:.0f} s{left}"
            sys.stderr.write(f"\r{told}\x1b[K")
            sys.stderr.flush()

    def end(self) -> None:
        """End the line of the bar. A second call does nothing."""
        if self._shown:
            self._shown = False
            sys.stderr.write("\n")


class ReadingProgress:
    """The progress of reading a store, on one line of a terminal, when it takes longer than a moment."""

    _MOMENT = 0.5

    def __init__(self) -> None:
        self._shown = sys.stderr is not None and sys.stderr.isatty()
        self._since = time.monotonic()
        self._what = "", self._since
        self._wrote = False

    def at(self, what: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` items are read."""
        if self._shown and time.monotonic() - self._since > self._MOMENT:
            self._wrote = True
            if self._what[0] != what:
                self._what = what, time.monotonic()
            left = remaining(done, total, time.monotonic() - self._what[1])
            sys.stderr.write(f"\r{what} {done}/{total}{left}\x1b[K")
            sys.stderr.flush()

    def end(self) -> None:
        """Clear the line; a second call does nothing."""
        if self._wrote:
            self._wrote = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class WorkProgress:
    """A context manager that shows the current work and its duration, if the work takes longer than a moment.

    Args:
        what: The name of the work, such as ``packing 1,200 events``.
        quiet_s: The seconds before the first line is shown.
    """

    def __init__(self, what: str, *, quiet_s: float = _QUIET_S) -> None:
        self._what = what
        self._quiet_s = quiet_s
        self._reached = 0, 0
        self._since = time.monotonic()
        self._over = threading.Event()
        self._wrote = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> WorkProgress:
        if sys.stderr is not None and sys.stderr.isatty():
            self._thread = threading.Thread(target=self._tell, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def reached(self, done: int, total: int) -> None:
        """Note the finished share of the work, which is shown with an estimate of the remaining time."""
        self._reached = done, total

    @property
    def idle(self) -> bool:
        """Whether there is no terminal to show progress on."""
        return self._thread is None

    def end(self) -> None:
        """Clear the line; a second call does nothing."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._wrote:
            self._wrote = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _tell(self) -> None:
        pause = self._quiet_s
        while not self._over.wait(pause):
            self._wrote = True
            (done, total), spent = self._reached, time.monotonic() - self._since
            share = f"  {100 * done // total} %" if total else ""
            sys.stderr.write(f"\rreenact: {self._what}{share}  {spent:.0f} s{remaining(done, total, spent)}\x1b[K")
            sys.stderr.flush()
            pause = 1.0
