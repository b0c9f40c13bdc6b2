"""A support agent that looks up orders, with the bug of ``r_8821``: it asks for orders and does not name the customer.

The model knows the customer, but the tool's schema has no place for it, so the service searches all orders and
returns three candidates; the model takes the first, which is another customer's.

Nothing here knows of a recorder.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from typing import Any

import httpx2
from anthropic import Anthropic

MODEL = os.environ.get("ORDER_AGENT_MODEL", "claude-haiku-5-5")
ORDERS_URL = os.environ.get("ORDERS_URL", "http://127.0.0.1:8077")
MAX_TURNS = 6
TOOLS: list[Any] = [
    {
        "name": "lookup_order",
        "description": "Find orders by what the customer says about them.",
        "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    }
]
SYSTEM = "You are the order desk of a web shop. The customer is {user}. It is {now}. Answer in one sentence."


def lookup_order(orders: httpx2.Client, query: str) -> Any:
    """Candidates for an order, best first."""
    reply = orders.get("/orders", params={"q": query})
    reply.raise_for_status()
    return reply.json()


def answer(question: str, user: str) -> str:
    """The agent's answer to ``user``.

    Raises:
        TimeoutError: The model did not come to an answer within its turns.
    """
    system = SYSTEM.format(user=user, now=datetime.now(UTC).isoformat())
    messages: list[Any] = [{"role": "user", "content": question}]
    with Anthropic() as client, httpx2.Client(base_url=ORDERS_URL) as orders:
        for _ in range(MAX_TURNS):
            with client.messages.stream(
                model=MODEL, max_tokens=500, system=system, messages=messages, tools=TOOLS
            ) as stream:
                reply = stream.get_final_message()
            uses = [block for block in reply.content if block.type == "tool_use"]
            if not uses:
                return "".join(block.text for block in reply.content if block.type == "text")
            messages.append({"role": "assistant", "content": [block.to_dict() for block in reply.content]})
            results: list[Any] = []
            for use in uses:
                found = lookup_order(orders, str(use.input["query"]))
                print(f"lookup_order({json.dumps(use.input)}) -> {found['count']} candidates", file=sys.stderr)
                results.append({"type": "tool_result", "tool_use_id": use.id, "content": json.dumps(found)})
            messages.append({"role": "user", "content": results})
    raise TimeoutError(f"no answer within {MAX_TURNS} turns")


if __name__ == "__main__":
    print(answer(" ".join(sys.argv[1:]) or "Where is my order?", os.environ.get("CUSTOMER", "u_7710")))
