"""A program that calls one tool N times."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import reenact
from bench.agents.figures import measure


@reenact.tool(effect="read")
def look_up(order: int) -> dict[str, object]:
    """Find an order."""
    return {"order": order, "status": "shipped", "items": ["lamp", "shade"]}


if __name__ == "__main__":
    look_up(-1)
    measure(look_up, int(sys.argv[1]))
