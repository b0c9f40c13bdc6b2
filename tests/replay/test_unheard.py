"""Proves that answering from a recording is no audit event: each calls every hook in the process, the agent's too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.facts.order import Delivery, event_tag, pack, unpack
from reenact.replaying.options import Options
from reenact.replaying.replay_opening import open_session
from reenact.seams import lanes

HEARD: list[str] = []
_listening: list[bool] = []


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if _listening:
        HEARD.append(event)


@reenact.tool(effect="read")
def look_up(order: int, customer: str = "nobody") -> dict[str, object]:
    """Find an order."""
    return {"order": order, "of": [customer]}


@reenact.tool(effect="write")
def refuse(order: int) -> None:
    """Fail."""
    raise LookupError(order)


def agent(first: int, last: int) -> list[Any]:
    """Some calls, whatever comes of them."""
    found: list[Any] = []
    for number in range(first, last):
        found.append(look_up(number, customer=f"c{number}"))
        try:
            refuse(number)
        except LookupError as error:
            found.append(error.args)
    return found


@pytest.fixture(scope="module", autouse=True)
def _hooked() -> None:
    sys.addaudithook(_hook)


def test_frozen_calls_are_unheard(tmp_path: Path) -> None:
    with reenact.open_store(f"sqlite:///{tmp_path}/runs.db") as store:
        with reenact.record(store=store) as run:
            recorded = agent(0, 40)
        session = open_session(store.open(run.id), Options())
        with session.begin():
            replayed = agent(0, 8)  # what is made once for a function, or a page
            try:
                _listening.append(True)
                replayed += agent(8, 40)
            finally:
                _listening.clear()
        lanes.session_ended()
        session.close()
    assert replayed == recorded and session.tally.matched == 80
    assert HEARD == []


PROGRAM = """
import sys
import reenact

def hook(event, args):
    if event in ("compile", "exec"):
        heard.append(str(args[0]))

@reenact.tool(effect="read")
def look_up(order):
    return {"order": order}

heard, step = [], reenact.step
sys.addaudithook(hook)
with step("first", {"a": 1}):
    look_up(1)
print(len(heard))
print(*heard, sep="\\n", file=sys.stderr)
"""


def test_nothing_is_compiled_for_the_first_call_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "reenact", "record", "--", sys.executable, "agent.py"]
    recorded = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert recorded.stdout == "0\n", recorded.stderr
    replayed = subprocess.run(
        [sys.executable, "-m", "reenact", "replay", "@"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert replayed.returncode == 0, replayed.stderr


def test_reading_an_order_is_unheard() -> None:
    order = [Delivery(n, event_tag(n, 0), n * 1_000, True) for n in range(20)]
    try:
        _listening.append(True)
        again = list(unpack(pack(order, {}), 0, {}))
    finally:
        _listening.clear()
    assert again == order and HEARD == []
