"""Whoever names a run inside a run means its code: the run around it is replayed, forked, resumed, made a golden."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import reenact
from reenact.store.nested_runs import holder_of
from tests.kit.recorded import Workbench

AGENT = """
import os, reenact

@reenact.tool(effect="read")
def price(name): return 3

@reenact.tool
def pay(amount):
    with open("paid.txt", "a") as file: print(amount, file=file)
    return {"paid": amount}

@reenact.record(agent="buyer")
def buy(name):
    amount = price(name)
    if os.path.exists("broken"): raise ValueError("broken")
    return pay(amount)

print(price("first"), buy("second"))
"""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Workbench]:
    desk = Workbench(tmp_path)
    desk.script(AGENT)
    yield desk


def _inner_and_outer(desk: Workbench) -> tuple[str, str]:
    runs = [json.loads(line) for line in desk.run("ls", "--json").stdout.splitlines()]
    inner = next(run for run in runs if run["agent"] == "buyer")
    return inner["run"], inner["parent"]


def test_it_replays_with_the_run_around_it(desk: Workbench) -> None:
    desk.record("agent.py")
    inner, outer = _inner_and_outer(desk)
    done = desk.run("replay", inner, "--json")
    report = json.loads(done.stdout)
    assert f"run {inner[-8:]} is part of run {outer[-8:]}" in done.stderr
    assert (report["verdict"], report["run"], report["matched"]) == ("exact", outer, 4)


def test_it_forks_at_its_own_events(desk: Workbench) -> None:
    desk.record("agent.py")
    inner, outer = _inner_and_outer(desk)
    told = desk.run("fork", f"{inner}:price#1", "--result", "price#1=5", "--dry-run", "--json").stdout
    assert json.loads(told)["changes"] == ["the result of event 2 set to 5"]
    report = json.loads(desk.run("fork", f"{inner}:2", "--result", "2=5", "--allow-write", "pay", "--json").stdout)
    assert (report["parent"], report["live"]) == (outer, 1)
    assert (desk.folder / "paid.txt").read_text().split() == ["3", "5"]


def test_it_resumes_with_the_run_around_it(desk: Workbench) -> None:
    (desk.folder / "broken").touch()
    desk.record("agent.py", status=1)
    inner, outer = _inner_and_outer(desk)
    (desk.folder / "broken").unlink()
    report = json.loads(desk.run("resume", inner, "--json").stdout)
    assert (report["run"], report["status"]) == (outer, "ok")
    assert (desk.folder / "paid.txt").read_text().split() == ["3"]


def test_it_is_kept_as_a_golden_with_the_run_around_it(desk: Workbench) -> None:
    desk.record("agent.py")
    inner, outer = _inner_and_outer(desk)
    said = desk.run("golden", "add", inner, "--as", "bought").stderr
    assert f"run {inner[-8:]} is part of run {outer[-8:]}" in said
    told = json.loads(desk.run("golden", "run", "--json").stdout.splitlines()[0])
    assert (told["name"], told["status"]) == ("bought", "passed"), told
    assert told["recorded"] == outer


def test_a_run_that_says_it_is_inside_itself_is_taken_as_it_is(desk: Workbench) -> None:
    desk.record("agent.py")
    inner, _ = _inner_and_outer(desk)
    with reenact.open_store(str(desk.folder / ".reenact")) as store:
        run = store.run(inner)
        assert holder_of(store, replace(run, parent=run.id)).id == run.id
