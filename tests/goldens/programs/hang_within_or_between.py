"""A model that searches, and hangs within a call or between two, as its argument says."""

import os
import sys
import time
from pathlib import Path

import reenact

CASE = sys.argv[1]


@reenact.model
def think(turn):
    if turn == 2 and CASE == "within":
        hang()
    return {"search": turn} if turn < 4 else {"say": "done"}


@reenact.tool(effect="read")
def search(turn):
    return []


def hang():
    Path("draft").write_text(str(os.getpid()))
    os.rename("draft", CASE)
    time.sleep(100)


turn = 0
while "search" in (step := think(turn)):
    search(step["search"])
    turn += 1
    if turn == 2 and CASE == "between":
        hang()
print(step.get("say", "gave up"))
