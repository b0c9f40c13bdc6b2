"""A graph of two nodes, each with a tool."""

from typing import TypedDict

from langgraph.graph import END, START, StateGraph

import reenact


@reenact.tool(effect="read")
def look(what, n):
    return f"{what} {n}"


class State(TypedDict):
    facts: list[str]


def weather(state):
    return {"facts": [look("weather", 1)]}


def book(state):
    return {"facts": [look("table", 1)]}


builder = StateGraph(State)
for node in (weather, book):
    builder.add_node(node.__name__, node)
builder.add_edge(START, "weather")
builder.add_edge("weather", "book")
builder.add_edge("book", END)
builder.compile().invoke({"facts": []})
