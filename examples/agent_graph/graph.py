"""A minimal agent graph whose steps emit events: three nodes, one of them a loop, and the story they leave behind.

Each node is a step: the recording holds the state before and after it, and what happened inside.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import reenact

State = dict[str, Any]
Node = Callable[[State], str]
"""A node changes the state in place and gives the name of the next one; empty at the end."""

SHELF = {"refund": "Refunds take five days.", "shipping": "Orders leave within two days."}


@reenact.tool(effect="read")
def look_up(topic: str) -> str | None:
    """What the shelf says about a topic; None when nothing."""
    return SHELF.get(topic)


def plan(state: State) -> str:
    """Choose the topics of the question."""
    state["topics"] = [word for word in state["question"].lower().strip("?").split() if word in SHELF or len(word) > 6]
    return "gather"


def gather(state: State) -> str:
    """Look up one topic; come back here while there are more."""
    topic = state["topics"].pop(0) if state["topics"] else ""
    found = look_up(topic) if topic else None
    if found is None:
        reenact.note("missed", topic)
    else:
        state["facts"].append(found)
    return "gather" if state["topics"] else "write"


def write(state: State) -> str:
    """Write the answer from what was gathered."""
    state["answer"] = " ".join(state["facts"]) or "I do not know."
    return ""


NODES: dict[str, Node] = {"plan": plan, "gather": gather, "write": write}


@reenact.record(agent="agent_graph@1")
def run(question: str) -> str:
    """Walk the graph from ``plan`` to its end; each call is one recorded run."""
    state: State = {"question": question, "topics": [], "facts": [], "answer": None}
    node = "plan"
    while node:
        with reenact.step(node, state):
            node = NODES[node](state)
    return str(state["answer"])


def main() -> None:
    """Answer, then tell from the store what happened."""
    print(run(" ".join(sys.argv[1:]) or "How do refund and shipping depend on holidays?"))
    with reenact.open_store() as store:
        for event in store.events(store.run("@")):
            print(f"  {event.number:2}  {event.kind:7} {event.name}")


if __name__ == "__main__":
    main()
