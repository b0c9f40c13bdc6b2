"""LangGraph, asynchronous: Send fans out, a checkpointer keeps threads, updates are streamed (anthropic)."""

import asyncio
import operator
from typing import Annotated, TypedDict

from anthropic import AsyncAnthropic
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

client = AsyncAnthropic()


class State(TypedDict):
    subjects: list[str]
    jokes: Annotated[list[str], operator.add]
    best: str


async def ask(prompt: str) -> str:
    message = await client.messages.create(
        model="claude", max_tokens=99, messages=[{"role": "user", "content": prompt}]
    )
    return message.content[0].text


async def subjects(state: State) -> dict:
    return {"subjects": (await ask("subjects")).rstrip(".").split()[:6]}


async def joke(state: dict) -> dict:
    return {"jokes": [await ask(f"a joke about {state['subject']}")]}


async def choose(state: State) -> dict:
    return {"best": await ask("best of " + " | ".join(state["jokes"]))}


builder = StateGraph(State)
builder.add_node("subjects", subjects)
builder.add_node("joke", joke)
builder.add_node("choose", choose)
builder.add_edge(START, "subjects")
builder.add_conditional_edges(
    "subjects", lambda state: [Send("joke", {"subject": s}) for s in state["subjects"]], ["joke"]
)
builder.add_edge("joke", "choose")
builder.add_edge("choose", END)


async def main() -> None:
    graph = builder.compile(checkpointer=InMemorySaver())
    for thread in ("a", "b"):
        config = {"configurable": {"thread_id": thread}}
        async for update in graph.astream({"subjects": [], "jokes": [], "best": ""}, config, stream_mode="updates"):
            print(thread, update)
        state = await graph.aget_state(config)
        print(state.config["configurable"]["checkpoint_id"], state.created_at, state.values["best"])


asyncio.run(main())
