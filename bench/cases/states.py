"""A step with its whole growing state, on the workload of the peers' runner: ours, its neighbours, and the floor.

The runner's own measure: a step is timed by the clock, the state grows by two messages (2.9 KB) a step, ``kept`` is the
store's folder, after a checkpoint, against the messages that are new. Every side reads a state back, and counts its
messages. Of ours the work of the agent's thread alone is told, too: its writer works beside it.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import reenact
from bench.absent import Absent
from bench.cases.engines import measured

RUNS = 8
"""Runs of one store whose size is asked."""


def steps_whole(size: int) -> Mapping[str, float]:
    """Plain messages, the whole state given to each step."""
    return _ours(size, models=False, grows=())


def steps_grows(size: int) -> Mapping[str, float]:
    """The same, the list declared to grow only."""
    return _ours(size, models=False, grows=("messages",))


def steps_models(size: int) -> Mapping[str, float]:
    """LangChain's messages, the whole state given to each step."""
    return _ours(size, models=True, grows=())


def steps_grows_models(size: int) -> Mapping[str, float]:
    """LangChain's messages, the list declared to grow only."""
    return _ours(size, models=True, grows=("messages",))


def steps_langgraph_delta(size: int) -> Mapping[str, float]:
    """LangGraph's SqliteSaver with its delta channel."""
    return _theirs("langgraph", "langgraph_sqlite_delta", size)


def steps_langgraph(size: int) -> Mapping[str, float]:
    """LangGraph's SqliteSaver as it comes."""
    return _theirs("langgraph", "langgraph_sqlite", size)


def steps_dbos(size: int) -> Mapping[str, float]:
    """DBOS on SQLite."""
    return _theirs("dbos", "dbos_sqlite", size)


def steps_gzip(size: int) -> Mapping[str, float]:
    """The whole history, one gzip a step."""
    return _theirs("", "seed_sqlite_gzip_full", size)


def steps_limit(size: int) -> Mapping[str, float]:
    """What is new alone, an insert a step: the floor."""
    return _theirs("msgspec", "limit_delta_normal", size)


def kept_grows(size: int) -> Mapping[str, float]:
    """What eight runs of so many steps keep, of what is new, with lists that are declared to grow only."""
    return _kept(size, ("messages",))


def kept_whole(size: int) -> Mapping[str, float]:
    """The same with whole states given."""
    return _kept(size, ())


def _theirs(engine: str, name: str, size: int) -> Mapping[str, float]:
    found = measured(engine, f"checkpoint/{name}", size)
    return {
        "step_ms": found["step_p50_us"] / 1e3,
        "last_ms": found["step_last_us"] / 1e3,
        "kept": found["bytes_vs_logical"],
        "newest_ms": found["list_newest_100_ms"],
    }


def _workload() -> Any:
    """The runner's steps.

    Raises:
        Absent: There is no runner.
    """
    folder = os.environ.get("REENACT_PEERS", "")
    if not folder or not (Path(folder) / "suite" / "workload.py").is_file():
        raise Absent("REENACT_PEERS names no folder with a peers' runner")
    sys.path.append(folder)
    from suite.workload import Step  # type: ignore[import-not-found]

    return Step


def _messages(step: Any, *, models: bool) -> list[Any]:
    if not models:
        return list(step.messages())
    from langchain_core.messages import AIMessage, ToolMessage

    call = {"id": f"call_{step.index}", "name": step.tool_name, "args": {"q": step.plan}}
    return [
        AIMessage(step.assistant, id=f"a{step.index}", tool_calls=[call]),
        ToolMessage(step.tool, id=f"t{step.index}", tool_call_id=call["id"]),
    ]


def _recorded(
    folder: str, work: Sequence[Any], *, models: bool, grows: tuple[str, ...]
) -> tuple[str, list[float], list[float]]:
    """Record one run; its id, the seconds of each step, and those in which the agent's thread works."""
    messages: list[Any] = []
    took, worked = [], []
    with reenact.record(agent="bench", store=folder) as run:
        for step in work:
            messages.extend(_messages(step, models=models))
            state = {"messages": messages, **step.small_state()}
            start, begun = time.perf_counter(), time.thread_time()
            with reenact.step("turn", state, grows=grows):
                pass
            worked.append(time.thread_time() - begun)
            took.append(time.perf_counter() - start)
    return run.id, took, worked


def _ours(size: int, *, models: bool, grows: tuple[str, ...]) -> Mapping[str, float]:
    step = _workload()
    work = [step(number) for number in range(size)]
    new = sum(len(json.dumps(each)) for one in work for each in one.messages())
    with tempfile.TemporaryDirectory() as folder:
        run, took, worked = _recorded(folder, work, models=models, grows=grows)
        with reenact.open_store(folder) as store:
            recording = store.open(run)
            start = time.perf_counter()
            listed = list(islice(recording.events(kinds=["step"], backwards=True), 100))
            newest = time.perf_counter() - start
            slots = recording.checkpoint_slots(listed[0].number, "in") or {}
            if len(json.loads(slots["messages"])) != 2 * size:
                raise AssertionError("the last state is not what it was")
        window = max(3, min(50, size // 5))
        return {
            "step_ms": median(took) * 1e3,
            "last_ms": median(took[-window:]) * 1e3,
            "thread_ms": median(worked) * 1e3,
            "thread_last_ms": median(worked[-window:]) * 1e3,
            "kept": _bytes(folder) / new,
            "newest_ms": newest * 1e3,
        }


def _kept(size: int, grows: tuple[str, ...]) -> Mapping[str, float]:
    step = _workload()
    new = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(RUNS):
            work = [step(number * size + n) for n in range(size)]
            new += sum(len(json.dumps(each)) for one in work for each in one.messages())
            _recorded(folder, work, models=False, grows=grows)
        return {"kept": _bytes(folder) / new}


def _bytes(folder: str) -> int:
    """Bytes of a store's folder, its log brought in."""
    for each in Path(folder).rglob("*.db"):
        with closing(sqlite3.connect(each)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return sum(each.stat().st_size for each in Path(folder).rglob("*") if each.is_file())
