"""The world of the invented price: a pricing service that is busy in the afternoon (day 1) and not next morning."""

from __future__ import annotations

import json

from reenact.testing.provider import Reply, Route, Rule, Script, ToolUse, Visit, When

PRICE = json.dumps({"sku": "A-100", "currency": "EUR", "price": 1249.0, "valid_until": "tonight"}).encode()
JSON = ("content-type", "application/json")


def busy(visit: Visit) -> Reply:
    """429, and a body that was cut off in the middle of the price."""
    return Reply(429, (JSON, ("retry-after", "30")), PRICE[: PRICE.index(b"49.0")])


SCRIPT = Script(
    rules=(Rule(uses=(ToolUse("price_of", {"sku": "A-100"}),), when=When(tool="price_of", results=False)),),
    routes=(
        Route("/prices", Reply(200, (JSON,), PRICE), from_day=2),
        Route("/prices", busy),
    ),
)
