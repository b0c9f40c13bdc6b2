"""A model that says the same in other words each time."""

import sys
from pathlib import Path

import reenact

SAID = Path(__file__).parent / "said.txt"
ANSWERS = ("You shall have a refund.", "I have no documents.", "There are no documents about that.")


@reenact.tool(effect="read")
def search(query):
    return {"docs": []}


@reenact.model
def think(prompt):
    times = len(SAID.read_text().splitlines()) if SAID.exists() else 0
    SAID.open("a").write(prompt + "\n")
    return ANSWERS[times % 3]


search(sys.argv[1])
said = think(sys.argv[1])
# FIX
print(said)
