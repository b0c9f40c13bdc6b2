"""Every kind of agent, forked at every event with no change and nothing live, is itself again, and replays exactly."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact import Run
from reenact.testing import ProviderProcess
from reenact.timetravel.forks.fork_points import inside
from tests.desk import Desk, Ended
from tests.forks import trajectories
from tests.forks.side_by_side import differs_in_nothing
from tests.forks.walking import Walk, first_unlike, scenes
from tests.fresh.test_agents import AGENTS, COMMANDS, HERE
from tests.fresh.test_agents import world as fresh_world
from tests.kit.recorded import EXAMPLES
from tests.mutations.programs import CORPUS
from tests.mutations.world import world

SAMPLE = 3
"""At so many events each program is forked outside of a sweep."""
FEW = {"pipeline", "cache_on_disk", "deadlines"}
"""Agents that are forked as processes outside of a sweep: no large SDK is imported, and one breaks off answers."""
PROGRAMS = {
    "refund_loop": ["agent.py", "agent_plain.py"],
    "order_lookup": ["agent.py", "agent_fixed.py"],
    "price_at_three": ["agent.py"],
    "due_today": ["agent.py"],
}
"""Examples that are agents; the others look into the store that they are recorded in, and find a fork there."""


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Iterator[Any]:
    with reenact.open_store(f"memory:{request.node.nodeid}") as opened:
        yield opened


def walk_through(walk: Walk, name: str, *, everything: bool) -> None:
    """Fork at a sample of the allowed events, or at all of them."""
    untouched = walk.store.run(walk.parent.id)
    for number in walk.sample(SAMPLE, name, everything=everything):
        walk.unchanged(number)
        walk.changed(number)
    assert walk.store.run(walk.parent.id) == untouched


@pytest.mark.parametrize("name", sorted(CORPUS))
def test_gathers_pools_streams_nested_agents_and_retries(store: Any, name: str, sweep: bool) -> None:
    with world() as address:
        walk = Walk.recorded(store, lambda: CORPUS[name](address))
    walk_through(walk, name, everything=sweep)  # the world is gone


def lived(store: Any, messages: list[Any]) -> Walk:
    """A recorded trajectory, its world gone."""
    with trajectories.world(messages) as address:
        program = trajectories.agent(address, messages)
        walk = Walk.recorded(store, program)
    kinds = {event.kind for event in walk.events(walk.parent)}
    assert walk.open().count() >= 50
    assert kinds >= {"http", "tool", "step"}
    return walk


def test_a_long_conversation(store: Any, sweep: bool) -> None:
    walk = lived(store, list(trajectories.generated(9, seed=4)))
    walk_through(walk, "generated", everything=sweep)


@pytest.mark.parametrize("task", [0, 10])
def test_a_real_trajectory(store: Any, shared_data: Path, task: int, sweep: bool) -> None:
    path = shared_data / "trajectories" / "tau-bench-airline-tasks-0-3.json"
    if not path.is_file():
        pytest.skip("the shared data has no trajectories")
    walk = lived(store, json.loads(path.read_text())[task]["traj"])
    walk_through(walk, f"task {task}", everything=sweep)


def test_nested_agents_of_a_fork_are_its_own(store: Any) -> None:
    with world() as address:
        walk = Walk.recorded(store, lambda: CORPUS["nested"](address))
    fork = walk.unchanged(0)

    def nested(run: Run) -> list[tuple[str, str, str]]:
        return sorted((each.agent, each.status.value, each.lane) for each in store.runs(parent=run.id) if each.lane)

    assert nested(fork) == nested(walk.parent)
    assert len(nested(fork)) == 3


# --- whole programs, each in processes of its own -------------------------------------------------------------------


def fork_as_process(desk: Desk, recorded: Ended, seed: str, *, everything: bool) -> None:
    """Fork a recorded program by the public command, at one of its events or at all of them, and replay each fork."""
    with reenact.open_store(str(desk.folder / ".reenact")) as store:
        parent = next(run for run in store.runs() if run.parent is None)
        recording = store.open(parent)
        before = scenes(recording)
        assert desk.run("reenact", "replay", parent.id, "--save").code == 0
        differs_in_nothing(recording, store.open(next(store.runs(parent=parent.id, limit=1))))
        allowed = [event.number for event in recording.events() if inside(recording, event) is None]
        for number in allowed if everything else [random.Random(seed).choice(allowed)]:
            forked = desk.run("reenact", "fork", f"{parent.id}:{number}", "--live", "none")
            assert forked.out == recorded.out, (number, forked.err)
            assert b"live calls made: 0" in forked.err
            fork = next(store.runs(parent=parent.id, limit=1))
            assert (fork.status, fork.fork_event) == (parent.status, number)
            unlike = first_unlike(before, scenes(store.open(fork)))
            assert not unlike, f"the fork at {number}: {unlike}"
            differs_in_nothing(recording, store.open(fork))
            replayed = desk.run("reenact", "replay", fork.id)
            assert (replayed.code, replayed.out) == (0, recorded.out), (number, replayed.err)
            assert b"verdict: same (exact)" in replayed.err


@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", AGENTS)
def test_programs_not_written_for_this(tmp_path: Path, name: str, sweep: bool) -> None:
    if name not in FEW and not sweep:
        pytest.skip("long: REENACT_SWEEP=1 runs it")
    desk = Desk(tmp_path)
    shutil.copytree(HERE / "agents", desk.folder, dirs_exist_ok=True)
    command, stdin = COMMANDS.get(name, (["python", f"{name}.py"], ""))
    with fresh_world() as url:
        desk.environment |= {"WORLD_URL": url, "OPENAI_BASE_URL": f"{url}/v1", "ANTHROPIC_BASE_URL": url}
        recorded = desk.record(command, stdin.encode())
    fork_as_process(desk, recorded, name, everything=sweep)


@pytest.mark.timeout(0)
@pytest.mark.parametrize(("example", "program"), [(name, each) for name, found in PROGRAMS.items() for each in found])
def test_examples(tmp_path: Path, example: str, program: str, sweep: bool) -> None:
    if (example, program) != ("due_today", "agent.py") and not sweep:
        pytest.skip("long: REENACT_SWEEP=1 runs it")
    desk = Desk(tmp_path)
    shutil.copytree(EXAMPLES / example, desk.folder, dirs_exist_ok=True)
    with ProviderProcess(EXAMPLES / example / "world.py") as world:
        desk.environment |= {name: text for name, text in world.environment().items() if name not in os.environ}
        desk.environment |= {f"{name}_URL": world.url for name in ("DOCS", "ORDERS", "PRICES", "TASKS")}
        recorded = desk.record(["python", program])
    fork_as_process(desk, recorded, program, everything=sweep)
