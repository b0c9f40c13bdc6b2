"""The clock of a hold. It stands still while the program is ready to run and does not get a core.

A delivery is held until nothing else can run. On a busy machine, the strands for which a delivery is held wait for a
core or for the interpreter's lock. A hold that counted this time would end before they have done anything. The clock is
a value that is fed with looks (``seams.watch``); it reads nothing by itself.
"""

from __future__ import annotations

from typing import NamedTuple

LOOK_US = 1_000
"""How often the watch looks, if it gets the processor."""
IMPORTING = 10
"""Of the processor time of an import, one part in this many counts."""


class WatchLook(NamedTuple):
    """One look of the watch at the time since the look before.

    Attributes:
        past_us: How long that time is.
        used_us: How much processor time the program's threads have had in it.
        looking_us: How much of it the watch has used for looking.
        delayed_us: The longest that one of the program's threads has waited for a core. The longest and not the sum:
            several wait at the same time.
        ready: Whether a thread runs, or could run, at its end.
        importing: Whether a module is being imported.
    """

    past_us: int
    used_us: int
    looking_us: int = 0
    delayed_us: int = 0
    ready: bool = False
    importing: bool = False

    @property
    def late_us(self) -> int:
        """The delay between the moment for which the watch had asked and the moment at which it could look.

        The thread waits for a core and for the interpreter's lock like every thread of the program. No other measure
        shows the wait for that lock."""
        return max(0, self.past_us - LOOK_US - self.looking_us)

    def reckoned(self) -> tuple[int, int]:
        """The part of the time in which the program has worked, and the part that is left out.

        If a thread is ready, all time without work is left out; an import counts as work only in part. If no thread is
        ready now, a thread may have been ready before, for as long as the look was late or a thread was delayed."""
        if not self.ready:
            return 0, max(self.late_us, min(self.past_us, self.delayed_us))
        worked_us = min(self.past_us, self.used_us // IMPORTING if self.importing else self.used_us)
        return worked_us, self.past_us - worked_us


class HoldClock(NamedTuple):
    """How long a delivery has been held.

    Attributes:
        passes: The number of deliveries when the hold began; -1 while no look has seen it.
        since_us: When it began, by our own clock.
        waited_us: How much of the time since then counts.
        worked_us: In how much of that the program worked.
        spared_us: How long the clock has stood still.
    """

    passes: int = -1
    since_us: int = 0
    waited_us: int = 0
    worked_us: int = 0
    spared_us: int = 0

    def at(self, now_us: int, worked_us: int, spared_us: int, ceiling_us: int) -> HoldClock:
        """The clock after one more look.

        Args:
            now_us: Our own clock.
            worked_us, spared_us: The counted time of the look (``WatchLook.reckoned``).
            ceiling_us: The longest time for which it stands still: a strand that never rests must not stop it for ever.
        """
        spared_us = min(ceiling_us, self.spared_us + spared_us)
        waited_us = max(0, now_us - self.since_us - spared_us)
        worked_us = min(waited_us, self.worked_us + worked_us)
        return HoldClock(self.passes, self.since_us, waited_us, worked_us, spared_us)


UNSEEN = HoldClock()
"""The clock of a hold that no look has seen."""
