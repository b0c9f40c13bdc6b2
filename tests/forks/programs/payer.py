"""Twelve payments, each after a question, over HTTP."""

import json
import os
import urllib.request

import reenact

WORLD = os.environ["WORLD_URL"]


@reenact.tool(effect="read")
def look(number):
    with urllib.request.urlopen(f"{WORLD}/look/{number}") as answer:
        return json.load(answer)


@reenact.tool(effect="write")
def pay(number, words):
    body = json.dumps({"number": number, "words": words}).encode()
    with urllib.request.urlopen(f"{WORLD}/pay", data=body) as answer:
        return json.load(answer)


words = "paid"
for number in range(12):
    found = look(number)
    words = found.get("words", words)
    with reenact.step("paying", {"number": number, "words": words}):
        pay(number, words)
print(words)
