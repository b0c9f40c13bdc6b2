"""The order agent without the bug of ``r_8821``: its own code, never the model, says whose orders are searched.

The look-up is marked as a tool, and carries the customer and the shop; the order service then answers with the one
order that is theirs.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from typing import Any

import httpx2
from anthropic import Anthropic

import reenact

MODEL = os.environ.get("ORDER_AGENT_MODEL", "claude-haiku-5-5")
ORDERS_URL = os.environ.get("ORDERS_URL", "http://127.0.0.1:8077")
MAX_TURNS = 6
TOOLS: list[Any] = [
    {
        "name": "lookup_order",
        "description": "Find the customer's orders by what they say about them.",
        "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    }
]
SYSTEM = "You are the order desk of a web shop. The customer is {user}. It is {now}. Answer in one sentence."


@reenact.tool(effect="read")
def lookup_order(query: str, user_id: str, tenant_id: str) -> dict[str, Any]:
    """Candidates for an order among the customer's own, best first."""
    reply = httpx2.get(
        f"{ORDERS_URL}/orders",
        params={"q": query, "user_id": user_id},
        headers={"X-Tenant-Id": tenant_id},
    )
    reply.raise_for_status()
    found: dict[str, Any] = reply.json()
    return found


def answer(question: str, user: str, tenant: str) -> str:
    """The agent's answer to ``user`` of the shop ``tenant``.

    Raises:
        TimeoutError: The model did not come to an answer within its turns.
    """
    system = SYSTEM.format(user=user, now=datetime.now(UTC).isoformat())
    messages: list[Any] = [{"role": "user", "content": question}]
    with Anthropic() as client:
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
                found = lookup_order(str(use.input["query"]), user, tenant)
                print(f"lookup_order({json.dumps(use.input)}) -> {found['count']} candidates", file=sys.stderr)
                results.append({"type": "tool_result", "tool_use_id": use.id, "content": json.dumps(found)})
            messages.append({"role": "user", "content": results})
    raise TimeoutError(f"no answer within {MAX_TURNS} turns")


if __name__ == "__main__":
    print(
        answer(
            " ".join(sys.argv[1:]) or "Where is my order?",
            os.environ.get("CUSTOMER", "u_7710"),
            os.environ.get("SHOP", "shop_4"),
        )
    )
