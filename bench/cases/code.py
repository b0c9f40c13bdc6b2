"""Decorated functions: idle, with arguments of megabytes, replayed with their answers frozen; a request is cleaned."""

from __future__ import annotations

import json
import marshal
import os
import pickle
import random
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import reenact
from bench.driver import fork_agent, run_agent
from reenact.facts import credential_search
from reenact.facts.call import Call, Effect, Kind
from reenact.privacy import make_redactor

BATCH = 20_000


def batch(call: Callable[[int], object]) -> float:
    """Nanoseconds of the thread's work a call, in a tight loop."""
    start = time.thread_time_ns()
    for number in range(BATCH):
        call(number)
    return (time.thread_time_ns() - start) / BATCH


def idle_decorator(size: int) -> Mapping[str, float]:
    """What a decorated tool costs while nobody listens, over the plain function."""

    def plain(number: int) -> int:
        return number

    decorated = reenact.tool(effect="read")(plain)
    bare, idle = [], []
    for _ in range(7):
        bare.append(batch(plain))
        idle.append(batch(decorated))
    return {"us": (median(idle) - median(bare)) / 1e3}


def frozen_tool(size: int) -> Mapping[str, float]:
    """Microseconds of one replayed tool call, its comparison with the recording included."""
    with tempfile.TemporaryDirectory() as folder:
        return run_agent("tool_calls", size, folder)


def fork(size: int) -> Mapping[str, float]:
    """Microseconds of one frozen call in the prefix of a fork, and milliseconds of processor time that the forking
    process has used when its first call goes live, behind so many."""
    with tempfile.TemporaryDirectory() as folder:
        return fork_agent("forked_calls", size, folder)


def large_argument(size: int) -> Mapping[str, float]:
    """Milliseconds of processor of one recorded tool call that is handed 3 MB, of which a little has changed: in the
    agent's thread, and in all; and of ``json.dumps`` of that value beside it."""
    row = {"name": {"first": "Ann", "last": "Lee"}, "status": "pending", "items": ["1008292230", "2613542319"]}
    rows = {f"#W{n}": {"n": n, "total": n * 1.25, **json.loads(json.dumps(row))} for n in range(22_000)}
    database: dict[str, Any] = {"orders": rows, "users": {}}

    @reenact.tool
    def cancel(db: dict[str, Any], order: str) -> str:
        return order

    agents, whole, dumps = [], [], []
    with tempfile.TemporaryDirectory() as folder, reenact.record(store=folder):
        for n in range(size + 2):
            rows[f"#W{n * 7}"]["status"] = "cancelled"
            start = time.process_time_ns()
            json.dumps(database)
            dumps.append(time.process_time_ns() - start)
            start, thread = time.process_time_ns(), time.thread_time_ns()
            cancel(database, f"#W{n * 7}")
            agents.append(time.thread_time_ns() - thread)
            whole.append(time.process_time_ns() - start)  # the writer's work too: the intent of a write is waited for
    return {
        "agent_ms": median(agents[2:]) / 1e6,
        "all_ms": median(whole[2:]) / 1e6,
        "first_ms": whole[0] / 1e6,
        "dumps_ms": median(dumps) / 1e6,
    }


def grown_state(size: int) -> Mapping[str, float]:
    """Milliseconds of processor of the last ten of so many steps, whose history grows by 2.9 KB a step, in the agent's
    thread; of one ``marshal.dumps`` of that state beside it; and of an average step in all, the writer's work included.
    """
    return _grown(
        size, marshal.dumps, lambda n, text: {"role": "user", "id": f"m{n}", "content": text, "calls": [{"n": n}]}
    )


def grown_models(size: int) -> Mapping[str, float]:
    """The same of LangChain's messages, which are pydantic models, beside ``pickle.dumps``."""
    from langchain_core.messages import AIMessage, HumanMessage

    kinds = (HumanMessage, AIMessage)
    return _grown(size, pickle.dumps, lambda n, text: kinds[n % 2](content=text, id=f"m{n}"))


def growing_list(size: int) -> Mapping[str, float]:
    """A step whose list is declared to grow only, by 2.9 KB a step: microseconds of processor in the agent's thread, of
    steps 10 to 60 and of the last fifty; of the whole process, a step, of the first and the last thousand; the longest
    proof, in milliseconds, and the last one; and how much is kept, against what is new."""
    chance = random.Random(size)
    words = [chance.randbytes(chance.randrange(1, 5)).hex() for _ in range(2000)]
    text = [" ".join(chance.choices(words, k=230)) for _ in range(500)]
    state: dict[str, Any] = {"messages": [], "step": 0, "plan": ""}
    agents: list[int] = []
    part = min(1000, size // 2)
    new = 0
    with tempfile.TemporaryDirectory() as folder:
        with reenact.record(store=folder) as run:
            begin, whole = time.process_time_ns(), []
            for number in range(size):
                if number % 100 == 0:  # an agent waits for its model, and the writer keeps up
                    run.flush()
                if number in (part, size - part):
                    whole.append(time.process_time_ns() - begin)
                spent = time.thread_time_ns()
                with reenact.step("turn", state, grows=("messages",)):
                    spent = time.thread_time_ns() - spent
                    for each in (2 * number, 2 * number + 1):
                        content = f"{each} {text[each % 500]}"
                        new += len(content)
                        state["messages"].append({"role": "user", "id": f"m{each}", "content": content})
                    state["step"], state["plan"] = number, words[number % 2000]
                    rest = time.thread_time_ns()
                agents.append(spent + time.thread_time_ns() - rest)
            run.flush()
            whole.append(time.process_time_ns() - begin)
            last = time.thread_time_ns()
        last = time.thread_time_ns() - last
        kept = sum(each.stat().st_size for each in Path(folder).rglob("*") if each.is_file())
    return {
        "first_us": median(agents[10:60]) / 1e3,
        "last_us": median(agents[-50:]) / 1e3,
        "first_all_us": whole[0] / part / 1e3,
        "last_all_us": (whole[-1] - whole[-2]) / part / 1e3,
        "proof_ms": max(agents) / 1e6,
        "last_proof_ms": last / 1e6,
        "kept": kept / new,
    }


def _grown(size: int, walk: Callable[[Any], object], message: Callable[[int, str], object]) -> Mapping[str, float]:
    chance = random.Random(size)
    words = [chance.randbytes(chance.randrange(1, 5)).hex() for _ in range(2000)]
    texts = [" ".join(chance.choices(words, k=230)) for _ in range(2 * size)]
    messages: list[Any] = []
    agents, walks = [], []
    begin = time.process_time_ns()
    with tempfile.TemporaryDirectory() as folder, reenact.record(store=folder):
        for number, text in enumerate(texts):
            messages.append(message(number, text))
            if number % 2:
                continue
            state = {"messages": messages, "step": number, "plan": words[number % 2000]}
            start = time.thread_time_ns()
            with reenact.step("turn", state):
                pass
            agents.append(time.thread_time_ns() - start)
            start = time.thread_time_ns()
            walk(state)
            walks.append(time.thread_time_ns() - start)
    whole = (time.process_time_ns() - begin) / size
    return {"agent_ms": median(agents[-10:]) / 1e6, "walk_ms": median(walks[-10:]) / 1e6, "mean_ms": whole / 1e6}


def clean_body(size: int) -> Mapping[str, float]:
    """Milliseconds of processor a MiB of an agent's request, which the gate cleans with the standard library: at its
    first sight, again, with its oldest messages gone, and of another one, in which a patch is a single string. Then
    another request of the same sort and real trajectories (where they lie), without a scanner and with it."""
    with patch.object(credential_search._NEEDLES, "within", lambda text: text.find):
        costs = [_cleaned(body) for body in _bodies(size, random.Random(size))]
        real = [_cleaned(body) for body in _trajectories(first=True)]
    scanned = _cleaned(_bodies(size, random.Random(size + 1))[0])
    found = [_cleaned(body) for body in _trajectories(first=False)]
    measured = dict(zip(("first_ms", "again_ms", "shorter_ms", "patch_ms"), costs, strict=True))
    measured["scanned_ms"] = scanned
    return measured | ({"real_ms": median(real), "real_scanned_ms": median(found)} if real and found else {})


def _trajectories(*, first: bool) -> list[bytes]:
    """Real conversations of agents, each second one: what was seen once is known."""
    folder = Path(os.environ.get("REENACT_SHARED", ""), "data", "trajectories")
    files = sorted(folder.rglob("*.json")) if os.environ.get("REENACT_SHARED") else []
    return [path.read_bytes() for path in files[not first :: 2]]


def _cleaned(body: bytes) -> float:
    """What a look at a body costs, in milliseconds of processor a MiB."""
    redactor = make_redactor(secret=b"x" * 32)
    start = time.process_time_ns()
    redactor.call(Call(Kind.HTTP, "POST h", Effect.WRITE, "http/1", {"method": "POST", "url": "https://h/"}, body))
    return (time.process_time_ns() - start) / 1e6 / (len(body) / 2**20)


def _bodies(size: int, chance: random.Random) -> list[bytes]:
    """A request, the same again, with its oldest messages gone, and one in which a patch is a single string."""
    words = [
        "the",
        "agent",
        "reads",
        "a",
        "file",
        "and",
        "writes",
        "its",
        "result",
        "where",
        "the",
        "key",
        "of",
        "each",
        "row",
        "and",
        "the",
        "token",
        "count",
        "is",
    ]
    messages: list[dict[str, Any]] = []
    for n in range(size):
        rows = [
            {"id": k, "sha": f"{chance.getrandbits(160):040x}", "url": f"https://e.com/{k}?q=a%20b"} for k in "abcdef"
        ]
        messages.append({"role": "user", "content": " ".join(chance.choices(words, k=200))})
        messages.append({"role": "tool", "content": json.dumps({"rows": rows, "path": f"/srv/{n}.json"})})
    shorter = [messages[0], *messages[9:], {"role": "user", "content": "and now"}]
    bodies = [json.dumps({"messages": each}).encode() for each in (messages, messages, shorter)]
    diff = "".join(
        f'+    print(f\'\\x1b[{{code}}m{{row!r}}\', "\\"{word}\\"")  # &lt; {n}\n' for n in range(400) for word in words
    )
    return [*bodies, json.dumps({"output": diff}).encode()]
