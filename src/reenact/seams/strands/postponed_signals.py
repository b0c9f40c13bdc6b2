"""Signals that came in the middle of our own code: each is sent again a moment later, for a limited time."""

from __future__ import annotations

import _thread
from collections.abc import Callable

from reenact.seams import background, lanes
from reenact.seams.clock import REAL

MOMENT_S = 0.0005
"""The time after which a signal is sent again."""
PATIENCE_NS = 250_000_000
"""The longest postponement: our own code may wait for the system in an unforeseen place."""
TRIES = 100
"""The least number of postponements: on a loaded machine the main thread may not have run in that time."""
_mono_ns = REAL.monotonic_ns


class PostponedSignals:
    """Sends the signals from a thread of ours, which sleeps while there are none.

    Once the thread exists, no code here lets the interpreter handle pending signals: each would be postponed again.

    Args:
        ring: Sends a signal to the main thread.

    Attributes:
        since: Since when each has been postponed, in nanoseconds, and how often.
        sending: Held while signals are sent.
    """

    def __init__(self, ring: Callable[[int], object]) -> None:
        self.since: dict[int, tuple[int, int]] = {}
        self.sending = _thread.allocate_lock()
        self._ring = ring
        self._numbers: set[int] = set()
        self._begun = False
        self._bell = _thread.allocate_lock()
        self._bell.acquire()

    def postpone(self, number: int, for_long: bool) -> bool:
        """Have a signal sent again in a moment, in the main thread.

        False where it has been postponed for long enough, unless ``for_long`` is set, or where no thread can be
        started."""
        now_ns = _mono_ns()
        since_ns, tries = self.since.get(number, (now_ns, 0))
        self.since[number] = since_ns, tries + 1
        if now_ns - since_ns > PATIENCE_NS and tries >= TRIES and not for_long:
            return False
        self._numbers.add(number)
        if not self._begun:
            self._begun = True
            try:
                background.start(self._run)
            except RuntimeError:
                self._begun = False
                return False
        if self._bell.locked():
            try:
                self._bell.release()
            except RuntimeError:  # a signal that came just now has released it
                pass
        return True

    def _run(self) -> None:
        lanes.adopt_thread(None)
        pause = _thread.allocate_lock()
        pause.acquire()
        while True:
            self._bell.acquire()
            pause.acquire(True, MOMENT_S)
            while self._numbers:
                with self.sending:  # unless the program has taken its handler away meanwhile
                    self._ring(self._numbers.pop())
