"""A new golden is tried under another hash seed, beside today's code: two replays take the time of one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reenact.store import open_store
from reenact.testing.expectations.expectation import expect
from reenact.testing.goldens import golden_proof
from reenact.testing.goldens.adding import add_golden
from reenact.testing.goldens.golden_trace import Golden
from reenact.testing.goldens.opened_golden import open_golden
from tests.goldens.yard import Yard

AGENT = """
import sys
import reenact

@reenact.tool(effect="read")
def look(name):
    return name.upper()

names = ["ann", "bob", "cleo", "dan", "eve", "finn", "gil", "hal"]
for each in set(names) if sys.argv[1] == "set" else names:
    look(each)
print("gave up")
"""


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    made = Yard(tmp_path)
    made.write("agent.py", AGENT)
    return made


def _beside(both: threading.Barrier, function: Callable[..., Any]) -> Callable[..., Any]:
    def waits(*given: Any, **named: Any) -> Any:
        both.wait()
        return function(*given, **named)

    return waits


@pytest.mark.timeout(300)
def test_the_other_hash_seed_is_tried_while_todays_code_runs(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    yard.record("agent.py", "list")
    yard.enter(monkeypatch)
    both = threading.Barrier(2, timeout=60)
    for name in ("served", "under_another"):
        monkeypatch.setattr(golden_proof, name, _beside(both, getattr(golden_proof, name)))
    said: list[str] = []
    golden = Golden("gives-up", expect=(expect("'gave up' not in answer").to_json(),))
    with open_store(f"sqlite:///{yard.project / '.reenact' / 'store.db'}") as store:
        added = add_golden(store, store.run("@"), golden, yard.golden_dir, adding=str, say=said.append)
    assert added.golden.any_seed is True and added.now.status == "failed"
    assert sorted(said) == ["replaying it on today's code", "replaying it under another hash seed"]


@pytest.mark.timeout(300)
def test_an_agent_that_goes_through_a_set_depends_on_its_hash_seed(yard: Yard) -> None:
    yard.record("agent.py", "set")
    yard.add("gives-up", ["'gave up' not in answer"])
    assert open_golden(yard.golden_dir.path("gives-up")).golden.any_seed is False
