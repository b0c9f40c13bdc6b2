"""Proves that answering from a recording is no audit event: each calls every hook in the process, the agent's too."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.facts.order import Delivery, event_tag, pack, unpack
from reenact.replaying.opening import open_session
from reenact.replaying.options import Options
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


def test_reading_an_order_is_unheard() -> None:
    order = [Delivery(n, event_tag(n, 0), n * 1_000, True) for n in range(20)]
    try:
        _listening.append(True)
        again = list(unpack(pack(order, {}), 0, {}))
    finally:
        _listening.clear()
    assert again == order and HEARD == []
