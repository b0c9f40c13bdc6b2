"""A record/replay wrapper around one tool: the first time this script runs it asks the world, afterwards never again.

The first run records ``price_in``; each later run replays it: its own code is executed again, while
``exchange_rate`` is answered from the recording, whatever the market does now.
"""

from __future__ import annotations

import random
import sys

import reenact

AGENT = "tool_wrapper"


@reenact.tool(effect="read")
def exchange_rate(currency: str) -> float:
    """Today's rate of a currency to the euro; the market is never the same twice."""
    print(f"asking the market for {currency}", file=sys.stderr)
    return round(1 + random.random(), 6)


@reenact.record(agent=AGENT)
def price_in(currency: str, euros: float) -> float:
    """A price in another currency; each call is one recorded run."""
    return round(euros * exchange_rate(currency), 2)


def main() -> None:
    """Record where nothing is recorded yet, else replay."""
    with reenact.open_store() as store:
        before = next(store.runs(agent=AGENT, limit=1), None)
    if before is None:
        print("recorded", price_in("CHF", 100.0))
        return
    replay = reenact.replay(before)
    print("replayed", replay.output, f"({replay.verdict}, {replay.live_calls} live calls)")


if __name__ == "__main__":
    main()
