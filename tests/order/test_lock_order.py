"""A lock that is taken out of its order is told of, and every lock of ours has a rank."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from reenact.replaying.recorded_schedule import RecordedSchedule
from reenact.seams.watch import WATCH
from tests import lock_order
from tests.lock_order import ORDER, OrderedLock

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "reenact"
ROOMS = ("facts", "abc", "privacy", "seams", "recording", "replaying", "timetravel", "store")
APART = {
    "replaying.replay_process:ReplayingProcess._lock": "it is held to the end of the process, with a time limit",
    "seams.late_resource:LateResource._lock": "it is held while the world begins something, in either colour",
}
"""Locks of ours without a rank, and why."""


@pytest.fixture
def broken() -> Iterator[list[str]]:
    """The breaches that a test makes on purpose."""
    yield lock_order.broken
    lock_order.broken.clear()


def locks(*ranks: int) -> list[OrderedLock]:
    return [OrderedLock(threading.RLock(), rank, f"rank {rank}") for rank in ranks]


def test_an_inner_lock_first_is_told_of_with_its_place(broken: list[str]) -> None:
    outer, inner = locks(0, 1)
    with outer, inner, outer:
        pass
    assert broken == []
    with inner, outer:
        pass
    (told,) = broken
    assert told.startswith("rank 0 is taken inside rank 1:\n") and "with inner, outer:" in told


def test_two_locks_of_one_rank_are_told_of_and_one_lock_twice_is_not(broken: list[str]) -> None:
    one, other = locks(1, 1)
    with one, one:
        pass
    assert broken == []
    with one, other:
        pass
    assert len(broken) == 1


def test_what_another_thread_holds_does_not_count(broken: list[str]) -> None:
    outer, inner = locks(0, 1)

    def takes() -> None:
        with outer:
            pass

    with inner:
        thread = threading.Thread(target=takes)
        thread.start()
        thread.join()
    assert broken == []


def test_the_locks_of_a_gate_and_of_the_watch_are_in_it(broken: list[str]) -> None:
    gate = RecordedSchedule(lambda: iter(()), bool, lambda delivery: None, lambda: None).gate
    with gate.lock, WATCH._lock:
        pass
    assert broken == []
    with WATCH._lock, gate.lock:
        pass
    assert len(broken) == 1 and broken[0].startswith("seams.gate:Gate.lock is taken inside seams.watch:Watch._lock")


def made(path: Path) -> Iterator[str]:
    """Each lock that a module makes, as the order names it."""
    module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    owners = {id(node): each.name for each in classes for node in ast.walk(each)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            name = ast.unparse(target).removeprefix("self.")
            makes = any(f"{word}()" in ast.unparse(node.value) for word in ("allocate_lock", "RLock", "threading.Lock"))
            if name.endswith("lock") and makes and "strands/locks" not in path.as_posix():
                yield f"{module}:{owners[id(node)]}.{name}" if id(node) in owners else f"{module}:{name}"


@pytest.mark.once
def test_every_lock_has_a_rank_or_a_reason() -> None:
    found = {name for room in ROOMS for path in sorted((PACKAGE / room).rglob("*.py")) for name in made(path)}
    assert found == {name for rank in ORDER for name in rank} | set(APART)
