"""A record/replay wrapper around one tool: the world is asked once, and never again.

``price_in`` is recorded, then replayed: its own code is executed again, in a fresh interpreter, while
``exchange_rate`` is answered from the recording, whatever the market does now.
"""

from __future__ import annotations

import random
import sys

import reenact


@reenact.tool(effect="read")
def exchange_rate(currency: str) -> float:
    """Today's rate of a currency to the euro; the market is never the same twice."""
    print(f"asking the market for {currency}", file=sys.stderr)
    return round(1 + random.random(), 6)


@reenact.record(agent="tool_wrapper")
def price_in(currency: str, euros: float) -> float:
    """A price in another currency; each call is one recorded run."""
    return round(euros * exchange_rate(currency), 2)


def main() -> None:
    """Record one call, then replay it twice."""
    print("recorded", price_in("CHF", 100.0))
    for _ in range(2):
        replay = reenact.replay("@")
        print("replayed", replay.output, f"({replay.verdict}, {replay.live_calls} live calls)")


if __name__ == "__main__":
    main()
