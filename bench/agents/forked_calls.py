"""A program that calls one tool N times, and then another, at which a fork of it goes live."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import reenact
from bench.agents.figures import measure


@reenact.tool(effect="read")
def look_up(order: int) -> dict[str, object]:
    """Find an order."""
    return {"order": order, "status": "shipped", "items": ["lamp", "shade"]}


@reenact.tool(effect="read")
def arrive(place: str) -> float:
    """Leave the milliseconds of processor time that the process has used by now, its start included."""
    used = os.times()
    spent_ms = (used.user + used.system) * 1e3
    Path(place).write_text(str(spent_ms))
    return spent_ms


if __name__ == "__main__":
    look_up(-1)
    measure(look_up, int(sys.argv[1]))
    arrive(sys.argv[2])
