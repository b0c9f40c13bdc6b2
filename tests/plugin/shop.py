"""An agent of a shop, with the mistake that its goldens are about: it searches again although nothing is found."""

from __future__ import annotations

import asyncio
import json
import os
import urllib.request
from typing import Any

import reenact

SEARCHES = 5
PROMPT = "You have no documents. Answer politely."


@reenact.tool(effect="read")
def search_docs(query: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{os.environ['SHOP_URL']}/docs") as answer:
        return {"docs": json.load(answer)["docs"], "query": query}


def ask(question: str) -> str:
    messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": question}]
    body = {"model": "gpt-4o-mini", "temperature": 0, "messages": messages}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    asked = urllib.request.Request(
        f"{os.environ['SHOP_URL']}/v1/chat/completions", json.dumps(body).encode(), headers, method="POST"
    )
    with urllib.request.urlopen(asked) as answer:
        return str(json.load(answer)["choices"][0]["message"]["content"])


@reenact.record(agent="shop@v1")
def reply(question: str) -> str:
    """One search too many, then an answer."""
    state: dict[str, Any] = {"docs": [], "searches": 0}
    for _ in range(SEARCHES):
        with reenact.step("search", state):
            state["docs"] += search_docs(question)["docs"]
            state["searches"] += 1
    return ask(question)


@reenact.record(agent="greeter@v1")
async def greet(name: str) -> str:
    """Asks nobody but the model, from a coroutine."""
    return await asyncio.to_thread(ask, f"Greet {name}.")


if __name__ == "__main__":
    print(reply("What is your refund policy?"))
