"""A support agent that tells a customer which of their orders arrives today. It knows nothing of its tests."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from typing import Any

from openai import OpenAI

import reenact

ORDERS = {
    "u-17": [{"number": 5093, "arrives": "2026-11-21"}, {"number": 5120, "arrives": "2026-11-24"}],
    "u-23": [{"number": 4421, "arrives": "2026-11-21"}],
}
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "find_orders",
            "description": "The orders of the customer who asks.",
            "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        },
    }
]


@reenact.tool(effect="read")
def find_orders(user_id: str) -> list[dict[str, Any]]:
    """A customer's orders. In a real shop this is a database, far away."""
    return ORDERS.get(user_id, [])


def reference() -> str:
    """What a customer quotes when they write again."""
    return f"T-{uuid.uuid4().hex[:8]}"


def answer(client: OpenAI, question: str, user_id: str) -> dict[str, str]:
    """The answer to a customer, under a reference of its own."""
    today = datetime.now(UTC).date().isoformat()
    messages: list[Any] = [
        {"role": "system", "content": f"You are the support agent of a shop. Today is {today}."},
        {"role": "user", "content": question},
    ]
    while True:
        said = client.chat.completions.create(model="gpt-5.4-mini", messages=messages, tools=TOOLS).choices[0].message
        if not said.tool_calls:
            return {"reference": reference(), "text": said.content or ""}
        messages.append(said.model_dump(exclude_none=True, exclude={"annotations", "refusal"}))
        for call in said.tool_calls:
            # Whose orders are looked up is never the model's to say.
            found = [order | {"due_today": order["arrives"] == today} for order in find_orders(user_id)]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(found)})
