"""The agent of the samples: a model, two tools, a stream, steps with state, a clock, chance. Standard library only."""

from __future__ import annotations

import json
import os
import random
import sys
import time
import urllib.request

import reenact

BASE = os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
ORDERS = {"A-1": {"item": "lamp", "state": "lost"}, "A-2": {"item": "chair", "state": "sent"}}


@reenact.tool
def look_up(order: str) -> dict[str, str]:
    """One order."""
    return ORDERS[order]


@reenact.tool(effect="write")
def refund(order: str, cents: int) -> str:
    """Pay back."""
    return f"refunded {cents} for {order}"


def ask(messages: list[dict[str, str]], *, stream: bool = False) -> str:
    """The model's answer."""
    body = {"model": "gpt-5.4-mini", "messages": messages, "stream": stream}
    request = urllib.request.Request(
        f"{BASE}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        if not stream:
            return str(json.load(answer)["choices"][0]["message"]["content"])
        text = ""
        for line in answer:
            if line.startswith(b"data: {"):
                choices = json.loads(line[6:])["choices"]
                text += (choices[0]["delta"].get("content") or "") if choices else ""
        return text


def main() -> None:
    """Answer one question."""
    question = sys.argv[1]
    state = {"question": question, "messages": [{"role": "user", "content": question}]}
    with reenact.step("understand", state):
        order = ask(state["messages"])
        state["messages"].append({"role": "assistant", "content": order})
    with reenact.step("act", state):
        found = look_up(order.strip())
        ticket = f"T-{random.randrange(10_000):04}-{time.time_ns() % 1000:03}"
        state["messages"].append({"role": "user", "content": f"{ticket}: {found['item']} is {found['state']}"})
        if found["state"] == "lost":
            state["messages"].append({"role": "user", "content": refund(order.strip(), 4200)})
    with reenact.step("answer", state):
        print(ask(state["messages"], stream=True))


if __name__ == "__main__":
    main()
