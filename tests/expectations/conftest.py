"""The incident and its mending as two recorded runs: an agent that searches twenty times, and one that stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import reenact
from reenact.abc.store import Recording
from reenact.store.memory_store import MemoryStore


@reenact.tool(effect="read")
def search_docs(query: str) -> dict[str, Any]:
    return {"docs": [], "count": 0, "query": query}


@reenact.tool(effect="read")
def get_order(number: int, user_id: str) -> dict[str, Any]:
    return {"number": number, "owner": user_id}


@reenact.tool
def refund(number: int) -> str:
    return f"refunded {number}"


@reenact.model(name="writer")
def write(messages: list[dict[str, str]]) -> str:
    return messages[-1]["text"]


def recorded(play: Callable[[], Any], **who: Any) -> Recording:
    """A run of ``play`` in a store of its own. An exception is how it failed."""
    store = MemoryStore()
    with reenact.record(store=store, **who) as run:
        try:
            play()
        except TimeoutError:
            pass
    return store.open(store.run(run.id))


def loop() -> None:
    """v1: the same search until time is up, then two orders, one of somebody else, and a refund."""
    state: dict[str, Any] = {"docs": [], "searches": 0}
    for _ in range(20):
        with reenact.step("search", state):
            state["docs"] = search_docs("refund policy")["docs"]
            state["searches"] += 1
    get_order(5, "u1")
    get_order(6, "u2")
    refund(6)
    raise TimeoutError("no answer")


@reenact.record(agent="refund@v2", user="u1", store=(MENDED := MemoryStore()))
def stop() -> str:
    """v2: one search, then an answer."""
    state: dict[str, Any] = {"docs": [], "searches": 0}
    with reenact.step("search", state):
        state["docs"] = search_docs("refund policy")["docs"]
        state["searches"] += 1
    return "I don't have any documents about that."


@pytest.fixture(scope="session")
def bad() -> Recording:
    """The run that went wrong."""
    return recorded(loop, agent="refund@v1", user="u1")


@pytest.fixture(scope="session")
def fixed() -> Recording:
    """The run that was mended."""
    stop()
    return MENDED.open(MENDED.run("@"))
