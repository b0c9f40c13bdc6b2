"""What happened inside a tool that one of two runs answered as a whole is unknown there, and no difference."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.testing.provider import Rule, Script, ScriptedProvider, When
from tests.desk import Desk, Ended
from tests.forks.side_by_side import differs_in_nothing, parts_behind
from tests.programs import read_program

AGENT = read_program("timetravel/text_polished_twice.py")
SCRIPT = Script(
    (Rule("A draft.", when=When(last_user="write")), Rule("Very good.", when=When(last_user="polish"))),
)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk with one recorded run; its provider is gone."""
    desk = Desk(tmp_path_factory.mktemp("frozen"))
    (desk.folder / "agent.py").write_text(AGENT)
    with ScriptedProvider(SCRIPT) as provider:
        desk.environment |= {name: text for name, text in provider.environment().items() if name not in os.environ}
        recorded = desk.record(["python", "agent.py"])
    assert recorded.code == 0, recorded.err
    yield desk


@pytest.fixture
def store(desk: Desk) -> Iterator[Any]:
    with reenact.open_store(str(desk.folder / ".reenact")) as opened:
        yield opened


def parent_of(store: Any) -> reenact.Run:
    """The recorded run."""
    found: reenact.Run = next(run for run in store.runs() if run.parent is None)
    return found


def made(desk: Desk, *argv: str) -> Ended:
    done = desk.run("reenact", *argv)
    assert done.code == 0, done.err
    return done


@pytest.mark.timeout(300)
def test_a_run_is_its_own_replay_and_its_own_fork(desk: Desk, store: Any) -> None:
    """Kept as runs of their own, each is the same as each other one: calls, answer, tools, tokens, cost."""
    parent = parent_of(store)
    kept = [parent.id]
    for argv in (
        ("replay", parent.id, "--save"),
        ("fork", f"{parent.id}:0", "--live", "none"),
        ("fork", f"{parent.id}:edit#1", "--live", "none"),
    ):
        made(desk, *argv)
        kept.append(next(store.runs(limit=1)).id)
    made(desk, "fork", f"{kept[-1]}:0", "--live", "none")  # what is unknown of it is so of its forks
    kept.append(next(store.runs(limit=1)).id)
    for left, right in combinations(kept, 2):
        differs_in_nothing(store.open(left), store.open(right))
    told = made(desk, "diff", parent.id, kept[1])
    assert told.out.startswith(b"the same: ")
    left, right = (store.open(each) for each in kept[:2])
    assert left.count() > right.count(), "there is nothing to prove here"
    states = [[each.checkpoint_slots(e.number, "out") for e in each.events(kinds=("step",))] for each in (left, right)]
    assert states[0] == states[1] and None not in states[1]


@pytest.mark.timeout(300)
def test_a_candidate_without_a_change_shows_nothing(desk: Desk) -> None:
    """Not what the tools asked of the world when it was recorded."""
    told = made(desk, "--json", "experiment", "--where", "models > 0", "--candidate", "same:")
    cells = [line for line in map(json.loads, told.out.splitlines()) if line.get("candidate") == "same"]
    cell = next(each for each in cells if "changed" in each)
    assert (cell["changed"], cell["first"], cell["live"]) == ([], "", 0)


@pytest.mark.timeout(300)
def test_a_fork_parts_where_it_branches_or_later(desk: Desk, store: Any) -> None:
    """And not at what happened inside a tool of its frozen prefix."""
    parent = parent_of(store)
    desk.run("reenact", "fork", f"{parent.id}:polish#1", "--result", 'polish#1="worse"', "--live", "none")
    fork = next(store.runs(parent=parent.id, limit=1))
    at = fork.fork_event
    assert at is not None
    parts_behind(store.open(parent), store.open(fork), at)
    told = desk.run("reenact", "diff", parent.id, fork.id)
    assert told.code == 1 and told.out.startswith(b"first difference at #%d: changed answer" % at)


@pytest.mark.timeout(300)
def test_a_tool_that_went_live_is_looked_into(desk: Desk, store: Any, tmp_path: Path) -> None:
    """What it asks now, and did not ask then, is a difference."""
    parent = parent_of(store)
    (desk.folder / "agent.py").write_text(AGENT.replace('ask("polish "', 'ask("please polish "'))
    with ScriptedProvider(SCRIPT) as provider:
        more = {name: text for name, text in provider.environment().items() if name not in os.environ}
        argv = ("reenact", "fork", f"{parent.id}:polish#1", "--live", "all", "--allow-write", "polish")
        done = desk.run(*argv, more=more)
    (desk.folder / "agent.py").write_text(AGENT)
    fork = next(store.runs(parent=parent.id, limit=1))
    assert b"live polish" in done.err, done.err
    found = reenact.compare(parent, fork, store=store)
    assert any(pair.event.kind == "http" for pair in found.differences)


@pytest.mark.timeout(300)
def test_a_tool_whose_own_code_ran_is_looked_into(desk: Desk, store: Any) -> None:
    """In a replay that is kept: what that code does no longer ask was removed."""
    parent = parent_of(store)
    body = AGENT.partition("def polish(text):\n")[2].partition("\n\n\n")[0]
    (desk.folder / "agent.py").write_text(AGENT.replace(body, '    return "Very good."'))
    argv = ("replay", parent.id, "--through", "polish", "--on-divergence", "observe", "--save")
    desk.run("reenact", *argv)
    (desk.folder / "agent.py").write_text(AGENT)
    kept = next(run for run in store.runs(parent=parent.id) if run.relation == "replay")
    assert "http" in {pair.event.kind for pair in reenact.compare(parent, kept, store=store).differences}
