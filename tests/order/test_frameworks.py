"""Proves that agents of LangChain and LangGraph, which run branches in pools and tasks, replay exactly."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any, TypedDict

import pytest

from .driver import World, record_and_replay

runnables = pytest.importorskip("langchain_core.runnables", reason="langchain-core is not installed")
graphs = pytest.importorskip("langgraph.graph", reason="langgraph is not installed")


class State(TypedDict):
    """What the graph's nodes share."""

    found: Annotated[list[str], operator.add]


def test_runnable_parallel() -> None:
    def program(world: World) -> object:
        def branch(name: str) -> Any:
            def run(question: str) -> int:
                answer = world.ask(question)
                world.did(name, answer)
                return answer + world.ask(f"{name}/{len(world.said)}")

            return runnables.RunnableLambda(run)

        chain = runnables.RunnableParallel({name: branch(name) for name in "abcde"})
        return chain.invoke("the same question")

    record_and_replay(program, rounds=5)


def test_batch() -> None:
    def program(world: World) -> object:
        def run(n: int) -> int:
            answer = world.ask("the same question")
            world.did(n, answer)
            return answer + world.ask(f"{n}")

        return runnables.RunnableLambda(run).batch(list(range(8)), config={"max_concurrency": 3})

    record_and_replay(program, rounds=5)


def test_batch_as_completed() -> None:
    def program(world: World) -> None:
        def run(n: int) -> int:
            return world.ask("the same question")

        for index, answer in runnables.RunnableLambda(run).batch_as_completed(list(range(6))):
            world.did(index, answer)

    record_and_replay(program, rounds=5)


def test_asynchronous_parallel_and_batch() -> None:
    def program(world: World) -> object:
        async def run(n: int) -> int:
            answer = await world.aask("the same question")
            world.did(n, answer)
            return answer

        def blocking(n: int) -> int:
            return world.ask(f"{n}")

        step = runnables.RunnableLambda(run)
        chain = runnables.RunnableParallel(left=step, right=step, thread=runnables.RunnableLambda(blocking))

        async def main() -> object:
            return await chain.abatch(list(range(4)))

        return asyncio.run(main())

    record_and_replay(program, rounds=5)


def _graph(nodes: dict[str, Any]) -> Any:
    """All nodes at once after the start, then one that ends it."""
    graph = graphs.StateGraph(State)
    graph.add_node("write", nodes.pop("write"))
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(graphs.START, name)
        graph.add_edge(name, "write")
    graph.add_edge("write", graphs.END)
    return graph.compile()


def test_synchronous_graph_with_parallel_nodes() -> None:
    def program(world: World) -> object:
        def node(name: str) -> Any:
            def run(state: State) -> State:
                answer = world.ask("the same question")
                world.did(name, answer)
                return {"found": [f"{name}: {answer} {world.ask(name)}"]}

            return run

        def write(state: State) -> State:
            return {"found": [str(world.ask("/".join(state["found"])))]}

        app = _graph({"write": write, **{name: node(name) for name in ("search", "browse", "recall", "plan")}})
        for chunk in app.stream({"found": []}, stream_mode="updates"):
            world.did(chunk)
        return app.invoke({"found": ["again"]})

    record_and_replay(program, rounds=5)


def test_asynchronous_graph_with_parallel_nodes() -> None:
    def program(world: World) -> object:
        def node(name: str) -> Any:
            async def run(state: State) -> State:
                answer = await world.aask("the same question")
                world.did(name, answer)
                return {"found": [f"{name}: {answer} {await world.aask(name)}"]}

            return run

        def write(state: State) -> State:
            return {"found": [str(world.ask("/".join(state["found"])))]}

        app = _graph({"write": write, **{name: node(name) for name in ("search", "browse", "recall", "plan")}})

        async def main() -> object:
            async for chunk in app.astream({"found": []}, stream_mode="updates"):
                world.did(chunk)
            return await app.ainvoke({"found": ["again"]})

        return asyncio.run(main())

    record_and_replay(program, rounds=5)
