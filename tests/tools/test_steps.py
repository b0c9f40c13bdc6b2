"""Steps keep the state before and after, let everything through, and put what happens inside them inside them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from reenact.errors import UsageError
from reenact.facts import value_writer
from reenact.facts.call import EndKind, Failure, Kind, Value
from reenact.facts.values import Codec, jsonable
from reenact.seams import lanes
from reenact.seams.step_scopes import note, step
from reenact.seams.tools import tool
from reenact.testing.frozen_time import OpenSchedule
from tests.tools.fakes import Tape
from tests.values import hostile


@dataclass
class State:
    n: int = 0


@tool
def act(x: int) -> int:
    return x + 1


def run_in(tape: Tape, coroutine: Any) -> Any:
    async def inside() -> Any:
        with lanes.inside(lanes.Lane("root", tape, OpenSchedule().gate)):
            return await coroutine

    return asyncio.run(inside())


def shown(tape: Tape) -> list[Any]:
    return [
        (event, phase, {slot: jsonable(body) for slot, body in slots.items()})
        for event, phase, slots in tape.checkpoints
    ]


def agent() -> dict[str, Any]:
    held: dict[str, Any] = {"docs": [], "n": 1}
    state: dict[str, Any]
    with step("plan", held) as state:
        assert state is held
        state["docs"].append(act(1))
        note("why", {1: b"x"})
    with step("answer", held):
        held["n"] = 2
    with step("no state") as nothing:
        assert nothing is None
    return held


def test_a_step_keeps_its_states_and_what_happened_inside() -> None:
    tape = Tape()
    with tape.listening():
        result = agent()
    assert result == {"docs": [2], "n": 2}
    assert [(kept.call.kind, kept.call.name, kept.parent) for kept in tape.kept] == [
        (Kind.STEP, "plan", None),
        (Kind.TOOL, "act", 0),
        (Kind.STEP, "answer", None),
        (Kind.STEP, "no state", None),
    ]
    assert [kept.call.head for kept in tape.kept if kept.call.observed] == [
        {"step": "plan", "number": 1},
        {"step": "answer", "number": 2},
        {"step": "no state", "number": 3},
    ]
    assert jsonable(tape.kept[0].call.body) == {"docs": [], "n": 1} and tape.notes == [(0, "why", {"1": "eA=="})]
    assert shown(tape) == [
        (0, "in", {"docs": [], "n": 1}),
        (0, "out", {"docs": [2], "n": 1}),
        (2, "in", {"docs": [2], "n": 1}),
        (2, "out", {"docs": [2], "n": 2}),
    ]
    outcome = tape.kept[2].outcome
    assert isinstance(outcome, Value) and jsonable(outcome.body) == {"docs": [2], "n": 2}
    with tape.listening(playing=True):
        assert agent() == result
    assert [(kept.number, now == kept.outcome) for kept, now in tape.rerun] == [(0, True), (2, True), (3, True)]


class Counted:
    """Counts how often one of its kind is looked at."""

    times = 0

    def seen(self) -> str:
        Counted.times += 1
        return "seen"


@pytest.mark.parametrize("state", [{"one": Counted(), "n": 1}, [Counted()], State(Counted())])  # type: ignore[arg-type]
def test_a_step_looks_at_its_state_once_before_and_once_after(state: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(value_writer.codecs, f"{__name__}.Counted", Codec(Counted.seen, lambda cls, _: cls()))
    looks = []
    tape = Tape()
    with tape.listening():
        for _ in range(3):
            Counted.times = 0
            with step("plan", state):
                looks.append(Counted.times)
            looks.append(Counted.times)
    assert looks == [1, 2] * 3
    assert [phase for _, phase, _ in tape.checkpoints] == ["in", "out"] * 3


def test_a_decorated_function_takes_its_state_by_name() -> None:
    @step("think")
    def think(question: str, state: dict[str, int]) -> dict[str, int]:
        state["seen"] = 1
        return {**state, "new": 2}

    @step("count")
    def count(state: State) -> int:
        state.n += 1
        return 99

    tape = Tape()
    with tape.listening():
        assert think("q", {"a": 0}) == {"a": 0, "seen": 1, "new": 2}
        assert count(state=State()) == 99
    assert shown(tape) == [
        (0, "in", {"a": 0}),
        (0, "out", {"a": 0, "seen": 1, "new": 2}),
        (1, "in", {"": {"n": 0}}),
        (1, "out", {"": {"n": 1}}),
    ]


def test_coroutines_and_asynchronous_blocks() -> None:
    @step("later")
    async def later(state: dict[str, int]) -> None:
        await asyncio.sleep(0)
        state["x"] = act(1)

    async def main() -> dict[str, int]:
        state: dict[str, int] = {}
        await later(state)
        async with step("block", state) as same:
            same["y"] = 1
        return state

    tape = Tape()
    with tape.listening():
        assert run_in(tape, main()) == {"x": 2, "y": 1}
    assert inspect.iscoroutinefunction(later)
    assert [(kept.call.name, kept.parent) for kept in tape.kept] == [("later", None), ("act", 0), ("block", None)]
    assert shown(tape)[-1] == (2, "out", {"x": 2, "y": 1})


def test_generators_are_inside_only_while_they_run() -> None:
    @step("stream")
    def stream(state: dict[str, int]) -> Generator[Any, int, str]:
        state["got"] = yield act(1)
        try:
            yield act(2)
        except KeyError:
            yield "caught"
        return "end"

    @step("stream async")
    async def stream_async(state: dict[str, int]) -> AsyncGenerator[Any, int]:
        state["got"] = yield act(1)
        yield act(2)

    tape = Tape()
    with tape.listening():
        state: dict[str, int] = {}
        body = stream(state)
        assert next(body) == 2 and lanes.current().path == "root"  # type: ignore[union-attr]
        act(5)
        assert body.send(7) == 3 and body.throw(KeyError("k")) == "caught"
        with pytest.raises(StopIteration) as stop:
            next(body)
        assert stop.value.value == "end"

        async def main() -> None:
            held: dict[str, int] = {}
            items = stream_async(held)
            assert await anext(items) == 2 and lanes.current().path == "root"  # type: ignore[union-attr]
            assert await items.asend(8) == 3
            assert [item async for item in items] == [] and held == {"got": 8}

        run_in(tape, main())
    assert [(kept.call.name, kept.parent) for kept in tape.kept] == [
        ("stream", None), ("act", 0), ("act", None), ("act", 0), ("stream async", None), ("act", 4), ("act", 4),
    ]  # fmt: skip
    assert shown(tape)[1] == (0, "out", {"got": 7}) and shown(tape)[3] == (4, "out", {"got": 8})


def test_a_generator_closed_early_leaves_its_step_open() -> None:
    closed = []

    @step("stream")
    def stream(state: Any = None) -> Iterator[int]:
        try:
            yield 1
        finally:
            closed.append(True)

    tape = Tape()
    with tape.listening():
        body = stream()
        next(body)
        body.close()  # type: ignore[attr-defined]
    assert closed and tape.kept[0].end.kind is EndKind.CLOSED  # type: ignore[union-attr]


def test_an_exception_inside_settles_the_step_and_passes_untouched() -> None:
    @step("fails")
    def fails(state: dict[str, int]) -> None:
        state["half"] = 1
        raise error

    error = ValueError("mine")
    tape = Tape()
    with tape.listening():
        with pytest.raises(ValueError) as caught:
            fails({})
        assert caught.value is error
        with pytest.raises(ValueError) as caught, step("block", {"a": 1}):
            raise error
        assert caught.value is error
        with pytest.raises(KeyboardInterrupt), step("interrupted"):
            raise KeyboardInterrupt
        assert lanes.current().path == "root"  # type: ignore[union-attr]
    assert [type(kept.outcome) for kept in tape.kept] == [Failure, Failure, type(None)]
    assert tape.kept[2].end.kind is EndKind.CANCELLED and shown(tape)[1] == (0, "out", {"half": 1})  # type: ignore[union-attr]


def test_steps_nest() -> None:
    tape = Tape()
    with tape.listening(), step("outer", {}), step("inner", {}):
        act(1)
    assert [(kept.call.name, kept.parent) for kept in tape.kept] == [("outer", None), ("inner", 0), ("act", 1)]


@pytest.mark.parametrize("name", [name for name in hostile.NAMES if name not in ("bad error", "doubling")])
def test_hostile_states_do_no_harm(name: str) -> None:
    thing = hostile.objects()[name]
    tape = Tape()
    with tape.listening():
        with step("s", thing) as state:
            assert state is thing
        with step("s", {"k": thing}):
            note("n", thing)
    assert tape.faults == [] and all(kept.outcome is not None for kept in tape.kept)


def test_a_fault_of_the_recorder_lets_the_step_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    tape = Tape()
    monkeypatch.setattr(tape, "checkpoint", lambda *a: 1 / 0)
    monkeypatch.setattr(tape, "note", lambda *a: 1 / 0)
    with tape.listening():
        assert agent() == {"docs": [2], "n": 2}
        monkeypatch.setattr("reenact.seams.step_scopes.encode", lambda *a, **k: 1 / 0)
        assert agent() == {"docs": [2], "n": 2}
    assert tape.faults


def test_nothing_happens_while_nobody_listens() -> None:
    @step("s")
    def decorated(state: dict[str, int]) -> Iterator[int]:
        yield from (1, 2)

    assert agent() == {"docs": [2], "n": 2} and list(decorated({})) == [1, 2]
    note("k", object())


def test_a_step_without_its_name_says_what_to_write() -> None:
    with pytest.raises(UsageError, match=r'@reenact\.step\("plan"\)'):

        @step  # type: ignore[arg-type]
        def plan(state: State) -> State:
            return state
