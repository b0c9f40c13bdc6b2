"""An agent that says where an order is: a model says which tool to call, the tool is asked, the answer is put in words.

Two things go wrong with it in production, and neither is in this file: the model `fast-2` breaks off its answers at two
in the morning, and the order service of one tenant answers in a new form.
"""

from __future__ import annotations

import json
from typing import Any

import reenact


@reenact.model(name="fast-1")
def fast_1(prompt: str, hour: int) -> str:
    """The older model."""
    return json.dumps({"tool": "lookup_order", "prompt": prompt})


@reenact.model(name="fast-2")
def fast_2(prompt: str, hour: int) -> str:
    """The newer one: at two in the morning its answers are cut off."""
    answer = json.dumps({"tool": "lookup_order", "prompt": prompt})
    return answer[:-9] if hour == 2 else answer


@reenact.tool(effect="read")
def lookup_order(order: str, tenant: str, service: str) -> dict[str, Any]:
    """The order service, which may be slow, or have a new form of answers."""
    if service == "slow":
        raise TimeoutError(f"no answer for order {order} within 3 s")
    found = {"id": order, "state": "sent", "days": 2}
    return {"order": found, "links": []} if service == "new" else found


@reenact.record(agent="orders@1")
def answer(order: str, tenant: str, model: str, hour: int, service: str) -> str:
    """Where is the order?"""
    ask = fast_2 if model == "fast-2" else fast_1
    wanted = json.loads(ask(f"Where is order {order}?", hour))
    assert wanted["tool"] == "lookup_order"
    found = lookup_order(order, tenant, service)
    return f"Order {found['id']} was {found['state']}, it takes {found['days']} days."
