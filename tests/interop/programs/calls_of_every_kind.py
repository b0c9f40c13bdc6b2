"""Calls of every kind: models over HTTP and in code, tools that answer and fail, a retriever, a step."""

import json
import sys
import urllib.error
import urllib.request

import reenact


@reenact.tool(effect="read")
def look(order, n=1):
    return {"found": [order] * n, "text": "später"}


@reenact.tool
def refund(order):
    raise ValueError(f"order {order} is closed")


@reenact.retriever(embedding_model="e5")
def find(query):
    return [{"id": "d1", "score": 0.5, "content": "refunds take 3 days"}]


@reenact.model(name="local")
def judge(messages):
    return "polite"


def ask(messages, **more):
    body = {"model": "gpt-test", "messages": messages, "temperature": 0.5, "stop": "END", **more}
    request = urllib.request.Request(
        sys.argv[1] + "/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    for attempt in range(3):
        try:
            with urllib.request.urlopen(request) as response:
                return json.load(response)["choices"][0]["message"]
        except urllib.error.HTTPError as error:
            last = error
    raise last


@reenact.step("answer")
def answer(question):
    messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": question}]
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    said = ask(messages, tools=tools)
    call = said["tool_calls"][0]
    found = look(**json.loads(call["function"]["arguments"]))
    try:
        refund("7")
    except ValueError:
        pass
    find("refund")
    messages += [said, {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(found)}]
    return ask(messages)["content"]


question = "Where is order 7?"
print(answer(question))
judge([{"role": "user", "content": "is it polite?"}])
with urllib.request.urlopen(sys.argv[1] + "/plain") as response:
    print(response.status)
