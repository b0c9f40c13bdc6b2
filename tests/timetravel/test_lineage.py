"""Runs are drawn with what came of them like a graph of commits, and a fork is whole when its parent is gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reenact
from reenact.facts.run import Status
from reenact.timetravel.lineage import draw
from tests.store.records import closing, issued, new_run, opening, settled
from tests.timetravel.conftest import Answer


def keep(store: reenact.Store, **fields: object) -> reenact.Run:
    """A finished run of two events."""
    run = new_run(agent="drawn", **fields)
    log = store.begin(run)
    log.write([*opening(run), issued(0), settled(0), issued(1), settled(1), closing(run)])
    log.close()
    return store.run(run.id)


def fork_of(store: reenact.Store, parent: reenact.Run, at: int) -> reenact.Run:
    return keep(store, parent=parent.id, relation="fork", fork_event=at)


def short(run: reenact.Run) -> str:
    return run.id[-8:]


def drawn(answer: Answer) -> list[str]:
    """The graph without what is told of each run: its lines up to where the run came from."""
    return ["  ".join(line.split("  drawn")[0].split("  ")[:3]).rstrip() for line in answer.lines]


@pytest.fixture
def family(store: reenact.Store) -> dict[str, reenact.Run]:
    """A run, two forks of it, a fork of the first fork, and a run that has nothing to do with them."""
    root = keep(store)
    first, second = fork_of(store, root, 0), fork_of(store, root, 1)
    return {"root": root, "first": first, "second": second, "deep": fork_of(store, first, 1), "other": keep(store)}


def test_forks_stand_below_their_parents(
    store: reenact.Store, family: dict[str, reenact.Run], command: Callable[..., Answer]
) -> None:
    ids = {name: short(run) for name, run in family.items()}
    assert drawn(command("ls", "--tree")) == [
        f"* {ids['other']}",
        f"* {ids['root']}",
        f"├─* {ids['first']}  fork at #0",
        f"│ └─* {ids['deep']}  fork at #1",
        f"└─* {ids['second']}  fork at #1",
    ]
    lines = command("show", ids["deep"], "--tree").lines
    assert [line.partition("  ")[0] for line in lines] == [
        f"* {ids['root']}", f"├─* {ids['first']}", f"│ └─* {ids['deep']}", f"└─* {ids['second']}",
    ]  # fmt: skip
    assert [line.endswith("<- this run") for line in lines] == [False, False, True, False]
    data = command("--json", "ls", "--tree").data
    assert [(line["tail"], line["depth"]) for line in data] == [
        (ids["other"], 0), (ids["root"], 0), (ids["first"], 1), (ids["deep"], 2), (ids["second"], 1),
    ]  # fmt: skip


def test_deleting_a_parent_breaks_no_fork(
    store: reenact.Store, family: dict[str, reenact.Run], command: Callable[..., Answer]
) -> None:
    ids = {name: short(run) for name, run in family.items()}
    before = [(event.name, event.request) for event in store.events(family["deep"])]
    store.delete(family["root"])
    store.delete(family["first"])
    assert [(event.name, event.request) for event in store.events(family["deep"])] == before
    assert all(store.open(family["deep"]).body(request) for _, request in before)
    assert drawn(command("ls", "--tree")) == [
        f"* {ids['other']}", f"* {ids['deep']}  fork of {ids['first']} at #1",
        f"* {ids['second']}  fork of {ids['root']} at #1",
    ]  # fmt: skip
    assert command("show", ids["deep"], "--tree").lines[0].startswith(f"* {ids['deep']}")
    assert command("diff", ids["deep"], ids["second"]).code == 0


def test_children_and_kept_replays_are_part_of_the_graph(store: reenact.Store, command: Callable[..., Answer]) -> None:
    with reenact.record(agent="outer", store=store) as run:
        with reenact.record(agent="inner", store=store):
            reenact.note("why", "nested")
    kept = keep(store, parent=run.id, relation="replay")
    lines = command("ls", "--tree").lines
    assert lines[0].startswith(f"* {short(run)}")
    assert {line.split("  ")[1] for line in lines[1:]} == {"child", "replay"}
    assert any(short(kept) in line for line in lines[1:])


def test_a_filter_leaves_forks_without_their_parents(
    store: reenact.Store, family: dict[str, reenact.Run], command: Callable[..., Answer]
) -> None:
    store.amend(family["deep"], tags={"seen": "yes"})
    answer = command("ls", "--tree", "--tag", "seen=yes")
    assert drawn(answer) == [f"* {short(family['deep'])}  fork of {short(family['first'])} at #1"]
    assert command("ls", "--tree", "--tag", "seen=no").err.startswith("no matching runs")


@given(st.lists(st.none() | st.integers(0, 11), max_size=12), st.randoms())
def test_every_run_is_drawn_once_below_its_parent(parents: list[int | None], chance: object) -> None:
    """Whatever claims to come of what, itself included."""
    runs = [new_run(status=Status.OK) for _ in parents]
    runs = [
        replace(run, parent=None if at is None or at >= len(runs) else runs[at].id, relation="fork")
        for run, at in zip(runs, parents, strict=True)
    ]
    chance.shuffle(runs)  # type: ignore[attr-defined]
    twigs = list(draw(runs))
    assert sorted(twig.run.id for twig in twigs) == sorted(run.id for run in runs)
    above: list[str] = []
    for twig in twigs:
        del above[twig.depth :]
        if twig.depth:
            assert twig.run.parent == above[-1]
            assert len(twig.drawn) == 2 * twig.depth
        above.append(twig.run.id)
