"""The world of the order look-up: an order service whose data moves on, and a model that takes the first candidate."""

from __future__ import annotations

from reenact.testing.provider import Ask, Route, Rule, Script, ToolUse, When

FOREIGN = {"order": "#4421", "customer": "u_1043", "status": "shipped", "arrives": "on Thursday"}
OWN = {"order": "#5093", "customer": "u_7710", "status": "packed", "arrives": "on Friday"}
DELIVERED = {"order": "#3987", "customer": "u_2266", "status": "delivered", "arrives": "last week"}


def first_candidate(ask: Ask) -> tuple[str, ...]:
    """Ways to tell a customer about the first candidate, which may be another customer's."""
    found = ask.results[-1].data["orders"][0]
    order, status, arrives = found["order"], found["status"], found["arrives"]
    return (
        f"Your order {order} is {status} and arrives {arrives}.",
        f"Good news: order {order} is {status}, it arrives {arrives}.",
        f"I found it: {order} is {status}; expect it {arrives}.",
    )


SCRIPT = Script(
    rules=(
        Rule(
            say="Let me look that up.",
            uses=(ToolUse("lookup_order", {"query": "my order"}),),
            when=When(tool="lookup_order", results=False),
        ),
        Rule(say=first_candidate, when=When(tool="lookup_order", results=True)),
    ),
    routes=(
        Route("/orders", {"orders": [OWN], "count": 1}, query={"user_id": "u_7710"}),
        Route("/orders", {"orders": [OWN], "count": 1}, from_day=2),
        Route("/orders", {"orders": [FOREIGN, OWN, DELIVERED], "count": 3}),
    ),
)
