"""A support agent that answers from documents, with the bug of ``run_xyz789``: it searches until it times out.

The documents say nothing about refunds. The search says so, ``{"docs": [], "count": 0}``; the model, told to answer
only from documents, asks for the same search again, and nothing here stops it before the deadline.

Its search is marked as a tool and its loop as steps. ``agent_plain.py`` is the same agent without a mark.
"""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from datetime import UTC, datetime
from typing import Any

from openai import OpenAI

import reenact

AGENT_VERSION = os.environ.get("REFUND_AGENT_VERSION", "v1")
"""``v1`` has the bug; ``v2_with_empty_check`` stops when a search finds nothing."""

MODEL = os.environ.get("REFUND_AGENT_MODEL", "gpt-5.4-mini")
MAX_SEARCHES = 20
DEADLINE_S = 60.0
PAUSE_S = 0.02

DOCUMENTS = {
    "shipping times": "Orders leave within two working days and arrive within five.",
    "warranty": "Every device has a warranty of two years.",
}
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "search_docs",
            "description": "Search the support documents.",
            "parameters": {
                "type": "object",
                "properties": {"query": {"type": "string"}},
                "required": ["query"],
                "additionalProperties": False,
            },
        },
    }
]
SYSTEM = (
    "You are the support agent of a web shop. Answer only from documents that search_docs returns; never from memory. "
    "Ticket {ticket}, opened {now}."
)


@reenact.tool(effect="read")
def search_docs(query: str) -> dict[str, Any]:
    """Documents whose title shares a word with the query."""
    time.sleep(PAUSE_S)  # the index is shared: be gentle
    words = set(query.lower().split())
    docs = [{"title": title, "text": text} for title, text in DOCUMENTS.items() if words & set(title.split())]
    return {"docs": docs, "count": len(docs)}


def answer(question: str) -> str:
    """The agent's answer to a customer's question.

    Raises:
        TimeoutError: The budget of searches, or the deadline, is used up.
    """
    client = OpenAI()
    deadline = time.monotonic() + DEADLINE_S
    system = SYSTEM.format(ticket=uuid.uuid4(), now=datetime.now(UTC).isoformat())
    state: dict[str, Any] = {
        "agent_version": AGENT_VERSION,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": question}],
        "docs": [],
        "searches": 0,
        "answer": None,
    }
    while state["answer"] is None:
        if state["searches"] >= MAX_SEARCHES or time.monotonic() > deadline:
            raise TimeoutError(f"timed out after {state['searches']} searches without an answer to {question!r}")
        with reenact.step("decide", state):
            decide(client, state)
        with reenact.step("search", state):
            search(state)
    return str(state["answer"])


def decide(client: OpenAI, state: dict[str, Any]) -> None:
    """Ask the model what to do next."""
    reply = client.chat.completions.create(model=MODEL, messages=state["messages"], tools=TOOLS)
    message = reply.choices[0].message
    state["messages"].append(message.model_dump(exclude_none=True, exclude={"annotations", "refusal"}))
    if not message.tool_calls:
        state["answer"] = message.content


def search(state: dict[str, Any]) -> None:
    """Do the searches that the model asked for."""
    for call in state["messages"][-1].get("tool_calls", ()):
        found = search_docs(**json.loads(call["function"]["arguments"]))
        state["searches"] += 1
        state["docs"] = found["docs"]
        state["messages"].append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(found)})
        moment = datetime.now(UTC).strftime("%H:%M:%S.%f")
        print(f"{moment} search {state['searches']}: {call['function']['arguments']} -> {found['count']} documents")
        if state["agent_version"] == "v2_with_empty_check" and found["count"] == 0:
            query = json.loads(call["function"]["arguments"])["query"]
            state["answer"] = f"I don't have any documents about {query}. Please check with support."
            return


if __name__ == "__main__":
    print(answer(" ".join(sys.argv[1:]) or "What is your refund policy?"))
