"""A quoting agent, with a parser that takes what it can get: at 15:00 it invents a price.

The pricing service answers 429 when it is busy, and cuts the body off. The tool looks for a number after ``"price"``,
finds half of one, and the customer is quoted it. At 10:00 the service is idle, and all is well.

``PRICE_AGENT_VERSION=v2_checked`` is the tool that looks at the status, and parses all or nothing.
"""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import datetime
from typing import Any

import requests
from openai import OpenAI

import reenact

AGENT_VERSION = os.environ.get("PRICE_AGENT_VERSION", "v1")
MODEL = os.environ.get("PRICE_AGENT_MODEL", "gpt-5.4-mini")
PRICES_URL = os.environ.get("PRICES_URL", "http://127.0.0.1:8077")
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "price_of",
            "description": "The price of an article today.",
            "parameters": {
                "type": "object",
                "properties": {"sku": {"type": "string"}},
                "required": ["sku"],
                "additionalProperties": False,
            },
        },
    }
]


class PriceUnavailable(Exception):
    """The pricing service gave no price."""


def parsed(reply: requests.Response) -> float:
    """The price in an answer of the pricing service.

    Raises:
        PriceUnavailable: There is none in it.
    """
    if AGENT_VERSION == "v2_checked":
        if reply.status_code != 200:
            raise PriceUnavailable(f"the pricing service answered {reply.status_code}")
        return float(reply.json()["price"])
    found = re.search(r'"price":\s*([\d.]+)', reply.text)  # the bug: half a JSON has a price too, or half of one
    if found is None:
        raise PriceUnavailable("the pricing service named no price")
    return float(found[1])


@reenact.tool(effect="read")
def price_of(sku: str) -> float:
    """The price of an article, in euros."""
    return parsed(requests.get(f"{PRICES_URL}/prices", params={"sku": sku}, timeout=10))


def answer(question: str) -> str:
    """A quote for whatever the model finds the customer asks about."""
    client = OpenAI()
    messages: list[Any] = [
        {"role": "system", "content": "Find the article number in the question and ask for its price."},
        {"role": "user", "content": question},
    ]
    message = client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message
    now = datetime.now().astimezone()
    quotes = []
    for call in message.tool_calls or ():
        sku = json.loads(call.function.arguments)["sku"] if call.type == "function" else ""
        try:
            quotes.append(f"{sku} costs {price_of(sku):.2f} EUR (quoted at {now:%H:%M:%S %Z}).")
        except PriceUnavailable:
            quotes.append(f"I cannot tell the price of {sku} right now, please ask again later ({now:%H:%M:%S %Z}).")
    return " ".join(quotes) or str(message.content)


if __name__ == "__main__":
    print(answer(" ".join(sys.argv[1:]) or "What does the espresso machine A-100 cost?"))
