"""Forks from inside a gather, a pool, a nested agent or a retry; of forks; of what others wait for; two at once."""

from __future__ import annotations

import asyncio
import itertools
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

import reenact
from reenact import Change, Divergence, Event
from reenact.errors import ForkError
from reenact.facts.keys import Rules
from reenact.timetravel.forks.fork_points import inside
from tests.forks.conftest import Forks
from tests.forks.walking import Walk
from tests.mutations.programs import CORPUS
from tests.mutations.world import world

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # a halt in a thread

_answers = itertools.count(1000)


@reenact.tool(effect="read")
def look(query: str) -> dict[str, Any]:
    """An answer that was never given before."""
    return {"query": query, "n": next(_answers)}


@reenact.tool(effect="read")
async def ask(query: str) -> dict[str, Any]:
    """The same from a task, some time later."""
    await asyncio.sleep(0.001)
    return {"query": query, "n": next(_answers)}


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Iterator[Any]:
    with reenact.open_store(f"memory:{request.node.nodeid}") as opened:
        yield opened


def numbered(walk: Walk, name: str, count: int = 1) -> Event:
    """The how-manieth call of a name."""
    return [event for event in walk.events(walk.parent) if event.name == name][count - 1]


# --- what a change reaches, and what it does not ---------------------------------------------------------------------


def fanned() -> Any:
    """Five branches at once, each of two dependent look-ups."""

    async def branch(name: int) -> list[int]:
        first = await ask(f"first {name}")
        second = await ask(f"second {name} {first['n']}")
        return [first["n"], second["n"]]

    async def main() -> Any:
        return await asyncio.gather(*(branch(name) for name in range(5)))

    return asyncio.run(main())


def pooled() -> Any:
    """The same in a pool."""

    def branch(name: int) -> list[int]:
        first = look(f"first {name}")
        return [first["n"], look(f"second {name} {first['n']}")["n"]]

    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(branch, range(5)))


def nesting() -> Any:
    """The same in agents inside an agent."""

    def inner(name: int) -> list[int]:
        with reenact.record(agent="inner"):
            first = look(f"first {name}")
            return [first["n"], look(f"second {name} {first['n']}")["n"]]

    return [inner(name) for name in range(5)]


@pytest.mark.parametrize(("program", "tool"), [(fanned, "ask"), (pooled, "look"), (nesting, "look")])
def test_a_change_in_one_branch_leaves_the_others_as_they_were(
    store: Any, program: Callable[[], Any], tool: str
) -> None:
    walk = Walk.recorded(store, program)
    chosen = next(e for e in walk.events(walk.parent) if e.name == tool and b"first 2" in walk.open().body(e.request))
    change = Change(results={str(chosen.number): {"query": "first 2", "n": -1}})
    fork = walk.fork(chosen.number, change=change)
    branches = walk.again[-1]
    assert [branch for name, branch in enumerate(branches) if name != 2] == [
        branch for name, branch in enumerate(walk.output) if name != 2
    ]
    assert branches[2][0] == -1
    assert branches[2][1] != walk.output[2][1]  # it asks something else, and is answered anew
    walk.replays(fork)
    with pytest.raises(reenact.ReenactError, match="nothing may go live"):
        walk.fork(chosen.number, change=change, live="none")


def test_inside_a_retry(store: Any) -> None:
    with world() as address:
        walk = Walk.recorded(store, lambda: CORPUS["retries"](address))
        while len(walk.output) < 3:  # the world refuses by chance
            walk = Walk.recorded(store, lambda: CORPUS["retries"](address))
        recorded = [event.number for event in walk.events(walk.parent) if event.kind == "http"]
        walk.unchanged(recorded[1])
        fork = walk.fork(recorded[1], change=Change(results={str(recorded[1]): {"n": 1}}), live="none")
    assert [attempt[1] for attempt in walk.again[-1]] == [429, 200]
    assert [event.kind for event in walk.events(fork)].count("http") == 2
    walk.replays(fork)


# --- forks of forks ---------------------------------------------------------------------------------------------------


def test_three_forks_deep(store: Any) -> None:
    def program() -> list[Any]:
        seen: list[Any] = [look("one"), look("two"), look("three"), look("four")]
        return [*seen, look(f"sum {sum(each['n'] for each in seen)}")]

    walk = Walk.recorded(store, program)
    runs, answers = [walk.parent], list(walk.output)
    for depth, name in enumerate(["look#1", "look#2", "look#3"]):
        fork = walk.fork(name, runs[-1], change=Change(results={name: {"query": "changed", "n": depth}}))
        now = walk.again[-1]
        answers[depth] = {"query": "changed", "n": depth}
        assert now[:4] == answers[:4]
        assert fork.parent == runs[-1].id
        runs.append(fork)
        walk.replays(fork)
        walk.output = now
        walk.unchanged(walk.allowed(fork)[-1], fork)
    store.delete(runs[1])
    store.delete(runs[0])
    walk.output = walk.again[-1]
    walk.replays(runs[-1])
    walk.unchanged(2, runs[-1])


# --- where a fork cannot branch ---------------------------------------------------------------------------------------


def test_inside_a_frozen_tool_the_nearest_allowed_events_are_named(store: Any) -> None:
    @reenact.tool(effect="read")
    def outer(address: str) -> Any:
        return [httpx.get(f"{address}/a").json(), httpx.get(f"{address}/b").json()]

    with world() as address:
        walk = Walk.recorded(store, lambda: [look("before"), outer(address), look("after")])
    recording = walk.open()
    refused = [event.number for event in recording.events() if inside(recording, event) is not None]
    around = numbered(walk, "outer").number
    behind = numbered(walk, "look", 2).number
    assert len(refused) == 2
    before = len(list(store.runs()))
    with pytest.raises(ForkError, match=rf"lies inside outer \(event {around}\)"):
        walk.fork(0, change=Change(results={str(refused[0]): 1}))
    for number in refused:
        with pytest.raises(ForkError, match=f"nearest events it can branch at are {around} or {behind}"):
            walk.fork(number)
    assert len(list(store.runs())) == before
    walk.unchanged(around)
    walk.unchanged(behind)


def test_between_the_pieces_of_a_stream_there_is_no_event(store: Any) -> None:
    """A stream is one event: a fork branches at the request, and hands the recorded pieces over whole."""
    with world() as address:
        walk = Walk.recorded(store, lambda: CORPUS["streams"](address))
    streams = [event.number for event in walk.events(walk.parent) if event.kind == "http"]
    assert walk.allowed()[1:-1] == streams
    walk.unchanged(streams[-1])
    fork = walk.fork(streams[-1], change=Change(results={str(streams[-1]): "data: 1\n\ndata: 2\n\n"}), live="none")
    assert walk.again[-1][-4:] == ["data: 1", "", "data: 2", ""]
    walk.replays(fork)


# --- a change that removes a call that others wait for ----------------------------------------------------------------


def event_setting() -> Any:
    """Two tasks wait for an event that a third sets, if it finds the way open."""

    async def setter(event: asyncio.Event) -> str:
        if (await ask("way"))["n"] >= 0:
            await ask("opener")
            event.set()
        return "done"

    async def waiter(event: asyncio.Event, name: int) -> int:
        await ask(f"before {name}")
        await event.wait()
        return int((await ask(f"after {name}"))["n"])

    async def main() -> Any:
        event = asyncio.Event()
        return await asyncio.gather(setter(event), waiter(event, 0), waiter(event, 1))

    return asyncio.run(main())


def queue_filling() -> Any:
    """A thread works on what comes through a queue, to its end mark, which is sent if the plan says so."""
    found: list[Any] = []
    todo: queue.Queue[str | None] = queue.Queue()

    def work() -> None:
        while (item := todo.get()) is not None:
            found.append(look(item)["n"])

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    count = look("plan")["n"]
    for number in range(2):
        todo.put(f"item {number}")
    if count >= 0:
        todo.put(look("end mark")["query"] and None)
    worker.join()
    return found


@pytest.mark.parametrize(("program", "tool", "query"), [(event_setting, "ask", "way"), (queue_filling, "look", "plan")])
@pytest.mark.parametrize("live", ["none", "reads"])
def test_who_waits_for_what_the_change_removed_does_not_hang(
    store: Any, program: Callable[[], Any], tool: str, query: str, live: str
) -> None:
    walk = Walk.recorded(store, program)
    asked = {walk.open().body(e.request): e for e in walk.events(walk.parent) if e.name == tool}
    place = next(event.number for body, event in asked.items() if query.encode() in body)
    removed = next(e.number for body, e in asked.items() if b"opener" in body or b"end mark" in body)
    with pytest.raises(Divergence, match=r"cannot go on: the agent waits for something that will never come") as raised:
        walk.fork(place, change=Change(results={str(place): {"query": query, "n": -1}}), live=live)
    assert raised.value.event == removed
    assert "removed something that others wait for" in raised.value.cause
    assert [run.status.value for run in store.runs(parent=walk.parent.id)] == ["failed"]
    walk.unchanged(place)


def test_a_recorded_change_that_no_longer_fits_is_said_and_asked_anew_where_allowed(store: Any) -> None:
    """A tool that changed what it found around it: after a change it finds something else."""

    def program() -> list[Any]:
        seen: list[Any] = []

        @reenact.tool(effect="read")
        def gather(query: str) -> int:
            seen.append(query)
            return len(seen)

        first = look("first")["n"]
        gather("a")
        if first < 0:
            seen.append("changed")
        return [gather("b"), *seen]

    walk = Walk.recorded(store, program)
    walk.unchanged(1)
    change = Change(results={"look#1": {"n": -1}})
    with pytest.raises(Divergence, match=r"cannot go on: gather changed .*seen") as raised:
        walk.fork("look#1", change=change)
    assert raised.value.next_command.endswith("--live all")
    walk.fork("look#1", change=change, live="all")
    assert walk.again[-1] == [3, "a", "changed", "b"]


def test_what_a_changed_call_costs_does_not_grow_with_the_run(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times as many calls that all ask something else now are four times the comparisons, not sixteen."""
    compared = itertools.count()
    canonical = Rules.canonical

    def counted(self: Rules, *parts: Any) -> bytes:
        next(compared)
        return canonical(self, *parts)

    monkeypatch.setattr(Rules, "canonical", counted)

    def comparisons(calls: int) -> int:
        def program() -> list[Any]:
            with reenact.step("plan", {"goal": "a"}) as state:
                goal = state["goal"]
            return [look(f"{goal} {number}") for number in range(calls)]

        walk = Walk.recorded(store, program)
        before = next(compared)
        walk.fork("plan#1", change=Change(state={"goal": "b"}))
        assert walk.again[-1][-1]["query"] == f"b {calls - 1}"
        return next(compared) - before

    assert comparisons(160) < 6 * comparisons(40)


# --- two at once, and a parent under way ------------------------------------------------------------------------------


PROGRAM = """
    import reenact
    @reenact.tool(effect="read")
    def look(query): return {"query": query}
    print([look(str(number)) for number in range(30)])
"""


def test_two_forks_of_one_parent_at_once_in_two_processes(forks: Forks) -> None:
    printed = forks.record(PROGRAM)
    before = forks.events(forks.parent)
    command = [sys.executable, "-m", "reenact", "fork", f"{forks.parent}:look#20", "--live", "none", "--json"]
    both = [
        subprocess.Popen(
            command, cwd=forks.desk.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )
        for _ in range(2)
    ]
    ended = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], ended
    assert all(printed in err for _, err in ended)
    assert forks.events(forks.parent) == before
    made = [run for run in forks.runs() if run["parent"] == forks.parent]
    assert len({run["run"] for run in made}) == 2
    for run in made:
        forks.replays_exactly(run["run"])


def test_a_parent_that_is_still_recording_in_another_process(forks: Forks) -> None:
    """Refused, and the store is none the worse: the parent ends, and then it forks."""
    (forks.desk.folder / "agent.py").write_text(
        "import reenact\n"
        "@reenact.tool(effect='read')\n"
        "def look(query): return {'query': query}\n"
        "print(look('a'), flush=True)\n"
        "print(look(input()))\n"
    )
    command = [sys.executable, "-m", "reenact", "record", "--", sys.executable, "agent.py"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=forks.desk.folder, text=True, **pipes) as recording:  # type: ignore[call-overload]
        assert recording.stdout.readline() == "{'query': 'a'}\n"
        forks.parent = forks.runs()[0]["run"]
        said = forks.fork(0, "--live", "none", status=2)["said"]
        assert "is still being recorded" in said
        assert "reenact show" in said
        recording.communicate("b\n", timeout=60)
    [parent] = forks.runs()
    assert parent["status"] == "ok"
    forks.replays_exactly(forks.parent)
    assert forks.fork("look#2", "--live", "none")["status"] == "ok"
