"""Every kind of agent, forked at every event with no change and nothing live, is itself again, and replays exactly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact import Run
from tests.forks import trajectories
from tests.forks.walking import Walk
from tests.mutations.programs import CORPUS
from tests.mutations.world import world

SAMPLE = 3
"""At so many events each program is forked outside of a sweep."""


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Iterator[Any]:
    with reenact.open_store(f"memory:{request.node.nodeid}") as opened:
        yield opened


def walk_through(walk: Walk, name: str, *, everything: bool) -> None:
    """Fork at a sample of the allowed events, or at all of them."""
    untouched = walk.store.run(walk.parent.id)
    for number in walk.sample(SAMPLE, name, everything=everything):
        walk.unchanged(number)
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
