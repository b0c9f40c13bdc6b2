"""Runs the reminder agent as if it were 23:59:59.9 UTC: the clock goes on from there, through midnight.

It stands for having to wait. The agent knows nothing of it; a program's own travels in time are recorded like any
other reading of the clock.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import agent
import time_machine

MOMENT = datetime(2026, 11, 20, 23, 59, 59, 900_000, tzinfo=UTC)

if __name__ == "__main__":
    with time_machine.travel(MOMENT, tick=True):
        print(agent.remind(sys.argv[1:] or ["invoice"]))
