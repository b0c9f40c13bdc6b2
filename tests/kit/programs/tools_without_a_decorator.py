"""Tools that a model may use, some of which read or ask without being declared."""

import json
import sys
import urllib.request

import reenact

URL = "URL"

SETTINGS = open("settings.json").read()  # before any tool runs


def read(order):
    return open("order.json").read()


def pure(order):
    return order * 2


def ask(order):
    return read(order) + urllib.request.urlopen(URL + "/stock").read().decode()


def only_asks(order):
    return urllib.request.urlopen(URL + "/stock").read().decode()


@reenact.tool(effect="read")
def decorated(order):
    return open("order.json").read()


@reenact.tool(effect="read", name="looks_it_up")
def renamed(order):
    return open("order.json").read()


@reenact.tool
def act(order):
    return "done"


TOOLS = {f.__name__: f for f in (read, pure, ask, only_asks, act)} | {"decorated": decorated, "renamed": renamed}
offered = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in sys.argv[1:]]
messages = [{"role": "user", "content": "Where is order 17?"}]
while True:
    body = json.dumps({"model": "gpt-5.4-mini", "messages": messages, "tools": offered}).encode()
    headers = {"content-type": "application/json", "authorization": "Bearer any"}
    request = urllib.request.Request(URL + "/v1/chat/completions", body, headers)
    said = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
    messages.append(said)
    if not said.get("tool_calls"):
        break
    for use in said["tool_calls"]:
        result = TOOLS[use["function"]["name"]](**json.loads(use["function"]["arguments"]))
        messages.append({"role": "tool", "tool_call_id": use["id"], "content": result})
