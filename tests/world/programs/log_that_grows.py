"""A function that adds a line to a file and reads it, recorded or replayed in this process."""

import os
import sys

import reenact


@reenact.tool(effect="read")
def ask(question):
    return len(question)


def agent():
    if not os.path.exists("cache"):
        ask("new")
        os.mkdir("cache")
    with open("log", "a") as file:
        file.write("a line\n")
    return ask(open("log").read() if sys.argv[1:] != ["short"] else "a line\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["record"]:
        reenact.record(agent)()
    else:
        found = reenact.replay("@", entry=agent)
        print(found.verdict, found.divergence and found.divergence.cause, *found.report.remarks)
