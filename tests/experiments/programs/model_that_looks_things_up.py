"""Answers a question with a model that may look things up."""

import json
import os
import sys
import urllib.request

import reenact

PROMPT = "You are thorough. Look twice."
LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


@reenact.tool(effect="read")
def look(query: str) -> dict:
    if os.path.exists("shut"):
        raise RuntimeError("the real tool was called")
    return {"found": f"three days, says {query}"}


def ask(messages: list) -> dict:
    body = {"model": "gpt-large", "temperature": 1, "messages": messages, "tools": [LOOK]}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["choices"][0]["message"]


messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": sys.argv[1]}]
while (said := ask(messages)).get("tool_calls"):
    messages.append(said)
    for use in said["tool_calls"]:
        found = look(**json.loads(use["function"]["arguments"]))
        messages.append({"role": "tool", "tool_call_id": use["id"], "content": json.dumps(found)})
print(said["content"])
