"""LangGraph, synchronous, with nodes that run in parallel and a loop until a model is content (openai, requests)."""

import operator
import os
from typing import Annotated, TypedDict

import requests
from langgraph.graph import END, START, StateGraph
from openai import OpenAI

WORLD = os.environ["WORLD_URL"]
client = OpenAI()


class State(TypedDict):
    question: str
    facts: Annotated[list[str], operator.add]
    rounds: int


def source(name: str):
    def node(state: State) -> dict:
        reply = requests.get(f"{WORLD}/tools/{name}", params={"round": state["rounds"]}, timeout=5).json()
        text = client.chat.completions.create(
            model="gpt-4o-mini", messages=[{"role": "user", "content": f"{name}: {reply['value']}"}]
        )
        return {"facts": [f"{name} {text.choices[0].message.content}"]}

    return node


def judge(state: State) -> dict:
    print("round", state["rounds"], *state["facts"][-3:], sep="\n  ")
    return {"rounds": state["rounds"] + 1}


graph = StateGraph(State)
graph.add_node("judge", judge)
for name in ("web", "mail", "wiki"):
    graph.add_node(name, source(name))
    graph.add_edge(START, name)
    graph.add_edge(name, "judge")
graph.add_conditional_edges("judge", lambda state: END if state["rounds"] >= 3 else ["web", "mail", "wiki"])
print(graph.compile().invoke({"question": "why?", "facts": [], "rounds": 0}))
