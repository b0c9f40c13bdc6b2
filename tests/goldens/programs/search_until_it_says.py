"""A model that searches until it has something to say, or gives up."""

import sys
from pathlib import Path

import reenact

HERE = Path(__file__).parent


@reenact.model
def think(prompt):
    (HERE / "asked.txt").open("a").write(prompt + "\n")
    return {"search": "refund policy"} if "nothing" not in prompt else {"say": "I have no documents."}


@reenact.tool(effect="read")
def search(query, user=None):
    (HERE / "searched.txt").open("a").write(query + "\n")
    return {"docs": [], "count": 0}


@reenact.tool
def refund(order):
    return {"refunded": order}


def main(question):
    prompt = question
    for _ in range(5):
        step = think(prompt)
        if "say" in step:
            print(step["say"])
            return
        found = search(step["search"])
        # FIX
    raise SystemExit("gave up")


main(sys.argv[1])
