"""A model over HTTP, and payments that it asks for."""

import json
import os
import sys
import urllib.request

import reenact

TOOLS = [{"type": "function", "function": {"name": "pay", "parameters": {"type": "object"}}}]


@reenact.tool
def pay(amount):
    return {"paid": amount}


def ask(messages):
    body = json.dumps({"model": "gpt-5.4", "messages": messages, "tools": TOOLS}).encode()
    head = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    asked = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, head)
    with urllib.request.urlopen(asked) as answer:
        return json.load(answer)["choices"][0]["message"]


messages = [{"role": "user", "content": sys.argv[1]}]
for _ in range(4):
    said = ask(messages)
    if not said.get("tool_calls"):
        break
    messages.append(said)
    for use in said["tool_calls"]:
        done = pay(json.loads(use["function"]["arguments"])["amount"])
        messages.append({"role": "tool", "tool_call_id": use["id"], "content": json.dumps(2 * done["paid"])})
print(said["content"])
