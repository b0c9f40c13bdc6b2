"""Proves that a recording says that its order is not proven, and that a divergence of its replay says
that first, with the setting that helps, instead of blaming the code."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest

import reenact
from tests.kit.recorded import Workbench

from .driver import World, record, replay

RACE = """
import threading, reenact

said = []

@reenact.tool(effect="read")
def ask(name): return name

def spins():
    while len(said) < 6: pass

def asks(name):
    for n in range(3): said.append(ask(name))

threads = [threading.Thread(target=spins), *(threading.Thread(target=asks, args=(name,)) for name in "ab")]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("at the end")
"""
"""A strand that spins: nothing that another waits for is ever proven."""
PLACES = r"order not proven at \d+ and \d+ more"


def race(world: World, *, more: str = "") -> list[int]:
    """The same, in this process."""
    answers: list[int] = []

    def asks() -> None:
        for n in range(3):
            answers.append(world.ask(f"{n}{more}"))

    thread = threading.Thread(target=asks)
    thread.start()
    while len(answers) < 3 and thread.is_alive():
        pass
    thread.join()
    return answers


def lone(world: World, *, more: str = "") -> int:
    """A strand without others."""
    return world.ask(f"alone{more}")


def cause_of(program: Any, policy: reenact.Policy) -> tuple[str, str]:
    """The likely cause of a divergence, and the last line, where a program asks something else than it did."""
    recorded = record(program, policy=policy)
    with pytest.raises(reenact.Divergence) as caught:
        replay(recorded, lambda world: program(world, more="/else"))
    return caught.value.cause, str(caught.value)


def test_a_recording_and_its_replays_say_where_the_order_is_not_proven(tmp_path: Path) -> None:
    desk = Workbench(tmp_path)
    desk.script(RACE)
    done = desk.record("agent.py")
    line = next(each for each in done.stderr.splitlines() if "reenact show" in each)
    assert re.search(rf"  {PLACES}  -> reenact show ", line), line
    done = desk.run("replay", "@")
    assert re.search(rf"verdict: same, {PLACES}", done.stderr), done.stderr
    desk.script(RACE.replace("at the end", "over"))
    done = desk.run("replay", "@", status=1)
    assert re.search(rf"verdict: different, {PLACES}", done.stderr), done.stderr
    assert "REENACT_HOLD_MS=1000" in done.stdout + done.stderr, "the output may differ as well"


@pytest.mark.parametrize("changed", [("at the end", "over"), ("append(ask(name))", "append(ask(name * 2))")])
def test_where_the_code_has_changed_that_comes_first_and_the_order_after_it(
    tmp_path: Path, changed: tuple[str, str]
) -> None:
    desk = Workbench(tmp_path)
    desk.script(RACE)
    desk.record("agent.py")
    desk.script(RACE.replace(*changed))
    done = desk.run("replay", "@", status=1)
    lines = done.stderr.splitlines()
    assert lines[1].startswith("reenact: the code has changed since the recording (agent.py)"), done.stderr
    assert re.match(rf"reenact: {PLACES}: ", lines[2]), done.stderr
    assert "so the code need not have changed" not in done.stderr
    assert done.stderr.count("REENACT_HOLD_MS=1000") == 1, done.stderr
    if "diverged" in done.stderr:
        assert "likely cause: your code " in done.stderr, done.stderr


@pytest.mark.parametrize(("order", "setting"), [("exact", "REENACT_HOLD_MS=1000"), ("arrival", "REENACT_ORDER=exact")])
def test_a_divergence_says_first_that_the_order_is_not_proven(order: str, setting: str) -> None:
    cause, said = cause_of(race, reenact.Policy(order=order))
    assert cause.startswith("order not proven at "), cause
    assert setting in cause
    assert ("hold_ms" in cause) == (order == "exact")
    assert "your code now" not in said


def test_a_divergence_where_the_order_is_proven_names_the_code() -> None:
    cause, said = cause_of(lone, reenact.Policy())
    assert cause.startswith("your code now builds") and "not proven" not in said


def test_what_was_not_proven_later_is_not_the_cause() -> None:
    def program(world: World, *, more: str = "") -> list[int]:
        return [world.ask(f"before{more}"), *race(world)]

    cause, said = cause_of(program, reenact.Policy())
    assert cause.startswith("your code now builds") and "not proven" not in said
