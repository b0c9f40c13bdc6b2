"""Says how an order stands: a model tells which order is meant, as JSON, and the order service is asked."""

import json
import os
import sys
import urllib.request

import reenact

PROMPT = "Be chatty."


@reenact.tool(effect="read")
def lookup_order(order: str) -> dict:
    if os.path.exists("shut"):
        raise RuntimeError("the real tool was called")
    return {"id": order, "state": "sent"}


def ask(question: str) -> str:
    messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": question}]
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": "gpt-5.4-mini", "messages": messages}).encode(),
        {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]


wanted = json.loads(ask(sys.argv[1]))
order = wanted["order"]
print(f"{order} was {lookup_order(order)['state']}" if order else "Which order?")
