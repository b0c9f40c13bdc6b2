"""A graph (langgraph, openai): two looks at once, then a node that fails; the framework adds notes to its error."""

import operator
import os
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from openai import OpenAI

client = OpenAI()


class State(TypedDict):
    """What the nodes share."""

    question: str
    facts: Annotated[list[str], operator.add]
    answer: str


def ask(system: str, text: str) -> str:
    """One question to the model."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
    return client.chat.completions.create(model="gpt-5.4", messages=messages).choices[0].message.content or ""


def weather(state: State) -> dict:
    """What the weather is."""
    return {"facts": [ask("You know the weather.", state["question"])]}


def events(state: State) -> dict:
    """What is on."""
    return {"facts": [ask("You know what is on.", state["question"])]}


def book(state: State) -> dict:
    """Book a table."""
    if os.environ.get("GATEWAY") != "open":
        error = RuntimeError("payment gateway declined 990.0\n(code 51)")
        error.add_note("the booking was not made")
        raise error
    return {"answer": " ".join(state["facts"])}


builder = StateGraph(State)
for node in (weather, events, book):
    builder.add_node(node.__name__, node)
builder.add_edge(START, "weather")
builder.add_edge(START, "events")
builder.add_edge("weather", "book")
builder.add_edge("events", "book")
builder.add_edge("book", END)
print(builder.compile().invoke({"question": "a table for two in Lima", "facts": [], "answer": ""})["answer"])
