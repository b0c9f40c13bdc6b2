"""Proof that a replay can fail: every recorded request is altered in turn and must be caught, every recorded answer
is altered in turn and must show in what the program does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import reenact

from .altering import Alters, has_answer, has_request
from .programs import CORPUS
from .world import world

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # a halt in a thread


@pytest.fixture(params=sorted(CORPUS))
def recorded(request: pytest.FixtureRequest) -> Iterator[tuple[Any, Any, reenact.Run, reenact.Store]]:
    program = CORPUS[request.param]
    with reenact.open_store(f"memory:{request.node.nodeid}") as store:
        with world() as address:

            def main() -> Any:
                return program(address)

            seen = reenact.record(agent=request.param, store=store, policy=reenact.Policy(hold_ms=1000))(main)()
        run = store.run("@")
        replayed = reenact.replay(run, entry=main, store=store)  # the world is gone
        assert (replayed.verdict, replayed.output, replayed.live_calls) == ("exact", seen, 0)
        assert replayed.report.executed == replayed.report.matched > 0
        yield main, seen, run, store


def test_every_altered_request_is_caught(recorded: Any) -> None:
    main, _, run, store = recorded
    recording = store.open(run)
    frozen = _inside_frozen(recording)
    numbers = [e.number for e in recording.events() if has_request(e) and e.number not in frozen]
    assert numbers
    missed = []
    for number in numbers:
        try:
            reenact.replay(run, entry=main, store=Alters(store, number, request=True))
        except reenact.Divergence as divergence:
            assert divergence.reason in ("changed", "ambiguous", "missing", "added", "result")
        else:
            missed.append(number)
    assert missed == []


def test_every_altered_answer_shows(recorded: Any) -> None:
    main, seen, run, store = recorded
    recording = store.open(run)
    frozen = _inside_frozen(recording)
    numbers = [e.number for e in recording.events() if e.number not in frozen and has_answer(recording, e)]
    assert numbers
    hidden = []
    for number in numbers:
        try:
            replayed = reenact.replay(run, entry=main, store=Alters(store, number, request=False))
        except reenact.Divergence:
            continue
        if replayed.output == seen and replayed.verdict != "different":
            hidden.append(number)
    assert hidden == []


def _inside_frozen(recording: Any) -> set[int]:
    """Events inside a frozen tool: its answer stands for them, so nothing asks or reads them."""
    inside: set[int] = set()
    for event in recording.events():
        parent = None if event.parent is None else recording.event(event.parent)
        if parent is not None and (parent.number in inside or (parent.kind == "tool" and not parent.call.observed)):
            inside.add(event.number)
    return inside
