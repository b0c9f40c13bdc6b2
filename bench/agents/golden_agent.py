"""An agent of twenty tool calls, as the goldens of ``bench.cases.goldens`` hold it."""

from __future__ import annotations

import sys

import reenact


@reenact.tool(effect="read")
def look_up(order: str, page: int) -> dict[str, object]:
    """One page of what is known of an order."""
    return {"order": order, "page": page, "lines": [{"item": f"item {page}.{n}", "price": n * 100} for n in range(5)]}


def total(order: str) -> int:
    """What an order costs."""
    found = 0
    for page in range(20):
        lines: list[dict[str, int]] = look_up(order, page)["lines"]  # type: ignore[assignment]
        found += sum(line["price"] for line in lines)
    return found


if __name__ == "__main__":
    print(total(sys.argv[1]))
