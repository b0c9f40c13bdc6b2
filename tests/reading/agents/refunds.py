"""A support agent (openai, streamed, tools): it looks an order up and refunds it; the gateway declines large sums."""

import json
import os
import sqlite3
import sys
import urllib.request

from openai import OpenAI

import reenact

client = OpenAI()
SHOP = os.environ["TOOLS_URL"]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": name,
            "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}},
        },
    }
    for name in ("find_order", "refund")
]


@reenact.tool(effect="read")
def find_order(order_id: str) -> dict:
    """One order of the shop."""
    with urllib.request.urlopen(f"{SHOP}/orders/{order_id}") as answer:
        return json.load(answer)


@reenact.tool
def refund(order_id: str, amount: float, reason: str = "") -> dict:
    """Give the money back."""
    if amount > float(os.environ.get("REFUND_LIMIT", "500")):
        raise RuntimeError(f"payment gateway declined {amount}")
    ledger = sqlite3.connect(":memory:")
    ledger.execute("create table refunds (order_id text, amount real)")
    ledger.execute("insert into refunds values (?, ?)", (order_id, amount))
    ledger.commit()
    return {"receipt": "R-1", "order_id": order_id, "amount": amount}


def ask(messages: list) -> tuple[str, list]:
    """One turn of the model, streamed: what it says, and the tools that it asks for."""
    said, calls = [], {}
    with client.chat.completions.create(model="gpt-5.4", messages=messages, tools=TOOLS, stream=True) as stream:
        for chunk in stream:
            for choice in chunk.choices:
                said.append(choice.delta.content or "")
                for part in choice.delta.tool_calls or ():
                    call = calls.setdefault(part.index, {"id": part.id, "name": part.function.name, "arguments": ""})
                    call["arguments"] += part.function.arguments or ""
    return "".join(said), list(calls.values())


def main(question: str) -> None:
    """Answer one question."""
    messages: list = [
        {"role": "system", "content": "You help customers of a shop. You may refund orders."},
        {"role": "user", "content": question},
    ]
    for _ in range(6):
        text, calls = ask(messages)
        if not calls:
            print(text)
            return
        asked = [
            {"id": each["id"], "type": "function", "function": {"name": each["name"], "arguments": each["arguments"]}}
            for each in calls
        ]
        messages.append({"role": "assistant", "content": text or None, "tool_calls": asked})
        for call in calls:
            tool = {"find_order": find_order, "refund": refund}[call["name"]]
            result = tool(**json.loads(call["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})


main(" ".join(sys.argv[1:]))
