"""Progress of what takes more than a moment, on one line of a terminal; nothing where standard error is none."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

_QUIET_S = 2.0
"""What ends within this time needs no progress."""


def remaining(done: int, total: int, spent: float) -> str:
    """How long the rest will take, from what is done so far; empty where that says too little.

    Args:
        done: How many were done in this time.
        total: How many there were to do.
        spent: The time, in seconds.
    """
    if not done or spent < _QUIET_S or done >= total:
        return ""
    return f", about {max(1, round(spent / done * (total - done)))} s left"


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
        self._known = self._done = known
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
            left = remaining(self._done - self._known, self._total - self._known, spent)
            told = f"[{bar}] {self._done}/{self._total}  {self._bad} {self._word}  {spent:.0f} s{left}"
            sys.stderr.write(f"\r{told}\x1b[K")
            sys.stderr.flush()

    def end(self) -> None:
        """Leave the line. Again: nothing."""
        if self._shown:
            self._shown = False
            sys.stderr.write("\n")


class ReadingProgress:
    """How far the reading of a store is, on one line of a terminal, once it takes longer than a moment."""

    _MOMENT = 0.5

    def __init__(self) -> None:
        self._shown = sys.stderr is not None and sys.stderr.isatty()
        self._since = time.monotonic()
        self._what = "", self._since
        self._wrote = False

    def at(self, what: str, done: int, total: int) -> None:
        """So many of these are read."""
        if self._shown and time.monotonic() - self._since > self._MOMENT:
            self._wrote = True
            if self._what[0] != what:
                self._what = what, time.monotonic()
            left = remaining(done, total, time.monotonic() - self._what[1])
            sys.stderr.write(f"\r{what} {done}/{total}{left}\x1b[K")
            sys.stderr.flush()

    def end(self) -> None:
        """Leave the line empty. Again: nothing."""
        if self._wrote:
            self._wrote = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class WorkProgress:
    """Says what is being done, and for how long, once it has taken longer than a moment. Use as a context manager.

    Args:
        what: What is being done: ``packing 1,200 events``.
        quiet_s: How long nothing is said.
    """

    def __init__(self, what: str, *, quiet_s: float = _QUIET_S) -> None:
        self._what = what
        self._quiet_s = quiet_s
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

    @property
    def idle(self) -> bool:
        """Whether nobody is there to be told anything."""
        return self._thread is None

    def end(self) -> None:
        """Leave the line empty. Again: nothing."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._wrote:
            self._wrote = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _tell(self) -> None:
        since = time.monotonic()
        pause = self._quiet_s
        while not self._over.wait(pause):
            self._wrote = True
            sys.stderr.write(f"\rreenact: {self._what}  {time.monotonic() - since:.0f} s\x1b[K")
            sys.stderr.flush()
            pause = 1.0
