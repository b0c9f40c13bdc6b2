"""A text that is drafted, edited and polished by tools that ask a model."""

import json
import os
import urllib.error
import urllib.request

import reenact


def ask(question):
    body = json.dumps({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": question}]}).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    asked = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
    return json.load(urllib.request.urlopen(asked))["choices"][0]["message"]["content"]


@reenact.tool(effect="read")
def polish(text):
    try:
        urllib.request.urlopen(os.environ["OPENAI_BASE_URL"] + "/style").read()
    except urllib.error.HTTPError:
        pass
    return ask("polish " + text)


@reenact.tool(effect="read")
def count(text):
    return len(text)


@reenact.tool(effect="read")
def twice(text):
    return polish(polish(text))


with reenact.step("draft", {"about": "refunds"}) as state:
    first = ask("write about " + state["about"])
    count(first)
with reenact.step("edit", {"text": first, "hard": 1}) as state:
    better = polish(state["text"])
print(twice(better))
polish("one more")
