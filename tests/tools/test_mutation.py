"""What a frozen tool changed around itself is changed again, in place; what cannot be changed again is refused."""

from __future__ import annotations

import asyncio
import collections
import copy
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import Divergence, UnreplayableRun
from reenact.facts.values import encode
from reenact.seams.mutation import Sight, compare, digest
from reenact.seams.reapplying import reapply
from reenact.seams.tools import tool
from reenact.testing.frozen_time import OpenSchedule
from tests.tools.fakes import Tape
from tests.values import hostile

HISTORY: list[Any] = []
COUNT = 0
CACHE: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def fresh_globals() -> None:
    reset()


def reset() -> None:
    """What a fresh process would have."""
    global COUNT
    COUNT = 0
    HISTORY.clear()
    CACHE.clear()


@dataclass
class Note:
    text: str
    at: tuple[int, ...] = ()


@dataclass
class Session:
    user: str
    notes: list[Note] = field(default_factory=list)
    by_name: dict[str, Note | None] = field(default_factory=dict)
    inner: Session | None = None


class Slots:
    __slots__ = ("left", "right")

    def __init__(self) -> None:
        self.left = 1


class Model(pydantic.BaseModel):
    n: int = 0
    tags: set[str] = set()
    notes: list[Note] = []


class Bag(dict[str, Any]):
    """A mapping of the agent's own."""


@tool
def append(items: list[Any]) -> int:
    items.append({"n": len(items)})
    items.insert(0, b"first")
    return len(items)


@tool
def rewrite(state: dict[str, Any]) -> None:
    state["a"] = {"deep": [1, (2, {3})]}
    del state["gone"]
    state["list"][:] = reversed(state["list"])
    state["shared"] = state["list"]


@tool
def record(session: Session) -> str:
    session.notes.append(Note("new", (1, 2)))
    session.notes[0].text += " changed"
    session.by_name["x"] = session.notes[0]
    session.inner = Session("inner", [Note("deep")])
    session.late = 5  # type: ignore[attr-defined]
    return "ok"


@tool
def nested(wrapper: dict[str, list[Session]]) -> None:
    wrapper["s"][0].inner.notes.append(Note("far"))  # type: ignore[union-attr]


@tool
def remember(x: int) -> None:
    global COUNT
    COUNT += x
    HISTORY.append(x)
    CACHE[str(x)] = {"seen": True}


@tool
def slots(item: Slots) -> None:
    item.right = [item.left]  # type: ignore[attr-defined]
    del item.left


@tool
def into_model(model: Model) -> None:
    model.n += 1
    model.tags.add("t")
    model.notes = [*model.notes, Note("m")]


@tool
def kinds(a: set[int], b: bytearray, c: collections.deque[int], d: collections.OrderedDict[str, int], e: Bag) -> None:
    a.discard(1)
    a.add(9)
    b += b"!"
    c.rotate(1)
    d.move_to_end("x")
    e["k"] = [1]
    e.extra = {"attribute": 1}  # type: ignore[attr-defined]


@tool
def cyclic(items: list[Any]) -> None:
    inner: list[Any] = [items]
    inner.append(inner)
    items.append(inner)


@tool
async def later(state: dict[str, Any]) -> None:
    await asyncio.sleep(0)
    state["later"] = True


@tool
def and_fail(state: dict[str, Any]) -> None:
    state["half"] = 1
    raise ValueError("failed after the change")


class Agent:
    def __init__(self) -> None:
        self.seen: list[int] = []
        self.total = 0
        self.lock = threading.Lock()

    @tool
    def work(self, x: int) -> int:
        self.seen.append(x)
        self.total += x
        return self.total


def closures() -> Any:
    calls = 0
    log: list[str] = []

    @tool
    def inside(word: str) -> int:
        nonlocal calls
        calls += 1
        log.append(word)
        return calls

    return [inside("a"), inside("b"), calls, log]


def on(
    act: Callable[[Any], Any], make: Callable[[], Any], alias: Callable[[Any], Any] = lambda held: None
) -> Callable[[], Any]:
    """Make fresh data, keep an alias into it, act, and show everything."""

    def agent() -> Any:
        held = make()
        other = alias(held)
        try:
            result = act(held)
            if asyncio.iscoroutine(result):
                result = asyncio.run(result)
        except ValueError as error:
            result = str(error)
        return result, held, other

    return agent


def a_session() -> Session:
    return Session("u", [Note("one")], {}, Session("v"))


def work(agent: Agent) -> Any:
    return [agent.work(2), agent.work(3), agent.seen, agent.total]


AGENTS: dict[str, Callable[[], Any]] = {
    "list": on(append, lambda: [0]),
    "dictionary": on(rewrite, lambda: {"gone": 1, "list": [1, 2]}, lambda held: held["list"]),
    "record": on(record, a_session, lambda held: held.notes[0]),
    "nested": on(nested, lambda: {"s": [a_session()]}, lambda held: held["s"][0].inner),
    "globals": on(
        lambda held: (remember(2), remember(3), COUNT, list(HISTORY), dict(CACHE)), list, lambda held: HISTORY
    ),
    "slots": on(lambda item: (slots(item), hasattr(item, "left"), item.right)[1:], Slots),
    "model": on(into_model, lambda: Model(notes=[Note("was")]), lambda held: held.tags),
    "kinds": on(
        lambda held: (kinds(*held), held[-1].__dict__),
        lambda: ({1, 2}, bytearray(b"x"), collections.deque([1, 2], 5), collections.OrderedDict(x=1, y=2), Bag(a=1)),
    ),
    "self": on(lambda agent: work(agent), Agent, lambda agent: agent.seen),
    "closure": on(lambda held: closures(), list),
    "error": on(and_fail, dict),
    "nothing": on(lambda held: append.__wrapped__(held), list),  # type: ignore[attr-defined]
    "several": on(lambda held: (append(held), append(held), and_fail({})), list),
}


@pytest.mark.parametrize("name", AGENTS)
def test_the_agent_sees_the_same_after_a_frozen_call(name: str) -> None:
    agent = AGENTS[name]
    plain = shown(agent())
    reset()
    tape = Tape()
    with tape.listening():
        first = shown(agent())
    reset()
    with tape.listening(playing=True):
        second = shown(agent())
    assert plain == first == second
    assert tape.faults == []


def shown(seen: Any) -> Any:
    """What an agent sees, with objects that have no equality shown by their state."""
    result, held, other = seen
    if isinstance(held, Slots | Agent):
        held = None
    return encode((result, held, other), sort_sets=True)


def replayed(agent: Callable[[], Any]) -> Any:
    tape = Tape()
    with tape.listening():
        agent()
    reset()
    with tape.listening(playing=True):
        return agent()


def test_identity_survives() -> None:
    _, held, other = replayed(AGENTS["dictionary"])
    assert held["list"] is other is held["shared"] and other == [2, 1]
    _, held, other = replayed(AGENTS["record"])
    assert held.notes[0] is other is held.by_name["x"] and other.text == "one changed" and type(held.notes[1]) is Note
    assert vars(held)["late"] == 5
    agent = on(cyclic, list, lambda held: held)
    _, held, other = replayed(agent)
    assert held is other and held[0][0] is held and held[0][1] is held[0]


def test_coroutines_change_too() -> None:
    tape = Tape()

    def agent() -> Any:
        from reenact.seams import lanes

        state: dict[str, Any] = {}

        async def main() -> None:
            with lanes.inside(lanes.Lane("task", tape, OpenSchedule().gate)):
                await later(state)

        asyncio.run(main())
        return state

    with tape.listening():
        first = agent()
    with tape.listening(playing=True):
        assert agent() == first == {"later": True}
    assert tape.kept[0].outcome.head["mutates"] == ["args.state"]  # type: ignore[union-attr]


def test_calls_that_overlap_leave_what_both_left() -> None:
    from reenact.seams import lanes

    @tool
    async def slowly(state: dict[str, Any], name: str, turns: int) -> None:
        for turn in range(turns):
            await asyncio.sleep(0)
            state.setdefault("log", []).append((name, turn))

    tape = Tape()

    def agent() -> Any:
        state: dict[str, Any] = {}

        async def one(name: str, turns: int) -> None:
            with lanes.inside(lanes.Lane(name, tape, OpenSchedule().gate)):
                await slowly(state, name, turns)

        async def main() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(one("a", 3))
                group.create_task(one("b", 1))

        asyncio.run(main())
        return state

    with tape.listening():
        first = agent()
    # A replay hands the answers over in the recorded order: the shorter call first.
    assert len(first["log"]) == 4 and [kept.call.name for kept in tape.kept] == ["slowly", "slowly"]
    before = [json.loads(kept.outcome.changes)["before"] for kept in tape.kept]  # type: ignore[union-attr]
    assert before[0] == before[1], "both were issued before either had changed anything"
    state: dict[str, Any] = {}
    looks = [Sight().take([("args.state", state)]) for _ in tape.kept]
    for place in (1, 0):
        outcome = tape.kept[place].outcome
        assert outcome is not None
        reapply(outcome.changes, looks[place], {}, lambda root, value: None, "slowly")
    assert state == first


def test_a_state_that_took_another_way_is_a_divergence() -> None:
    tape = Tape()
    with tape.listening():
        append([0])
    with tape.listening(playing=True):
        items = [0]

        def agent() -> Any:
            items.append(1)

        agent()
        tape.left["root"][0].call = tape.kept[0].call.__class__(
            **{name: getattr(tape.kept[0].call, name) for name in tape.kept[0].call.__slots__ if name != "body"},
            body=b'{"items":[0,1]}',
        )
        with pytest.raises(Divergence, match=r"append changed args.items") as caught:
            append(items)
        assert caught.value.reason == "changed" and items == [0, 1]
        assert isinstance(tape.faults[0], Divergence)


def test_what_cannot_be_stored_is_named_when_recorded_and_refused_when_replayed() -> None:
    @tool
    def lock_up(state: dict[str, Any]) -> None:
        state["lock"] = threading.Lock()

    tape = Tape()
    with tape.listening():
        lock_up({})
    assert tape.kept[0].outcome.head["mutates_opaque"] == ["_thread.lock"]  # type: ignore[union-attr]
    with tape.listening(playing=True), pytest.raises(UnreplayableRun, match="live value"):
        lock_up({})


def test_a_record_of_an_undeclared_sort_is_refused() -> None:
    @tool
    def put(state: dict[str, Any]) -> None:
        state["note"] = Note("x")

    tape = Tape()
    with tape.listening():
        put({})
    with tape.listening(playing=True), pytest.raises(UnreplayableRun, match=r"new .*Note"):
        put({})


def test_too_much_is_not_checked_and_says_so() -> None:
    big = [[n] for n in range(600)]
    small: list[int] = []

    @tool
    def change(big: list[list[int]], small: list[int]) -> None:
        big[0].append(1)
        small.append(1)

    tape = Tape()
    with tape.listening():
        change(big, small)
    head = tape.kept[0].outcome.head  # type: ignore[union-attr]
    assert head == {"mutates": ["args.small"], "unchecked": ["args.big"]}


def test_a_call_that_changes_nothing_keeps_nothing() -> None:
    @tool
    def read(state: dict[str, Any], model: Model) -> int:
        return len(state) + len(HISTORY) + model.n

    tape = Tape()
    with tape.listening():
        read({"a": [1, {"b": Note("x")}]}, Model())
    assert tape.kept[0].outcome.changes == b"" and dict(tape.kept[0].outcome.head) == {}  # type: ignore[union-attr]


@pytest.mark.parametrize("name", [name for name in hostile.NAMES if name not in ("deep", "doubling", "deep and plain")])
def test_looking_calls_nothing_of_the_agent(name: str) -> None:
    roots = [("args.x", hostile.objects()[name]), ("args.y", [{"k": hostile.objects()[name]}])]
    if name == "bad error":
        return  # an exception has its own text, and this one's is a bomb
    before = Sight().take(roots)
    changes = compare(before, Sight(before).take(roots))
    assert changes.body == b""
    digest(before, before.roots)


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3) | st.binary(max_size=2)
)
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
    | st.lists(inner, max_size=2).map(tuple) | st.sets(st.integers(), max_size=3),
    max_leaves=10,
)  # fmt: skip


@given(st.dictionaries(st.text(max_size=3), trees, max_size=4), st.dictionaries(st.text(max_size=3), trees, max_size=4))
def test_any_change_of_data_is_made_again(before: dict[str, Any], after: dict[str, Any]) -> None:
    def fresh() -> dict[str, Any]:
        return copy.deepcopy(before)

    def change(state: dict[str, Any]) -> None:
        kept = {key: state[key] for key in after if key in state and len(key) % 2}
        state.clear()
        state.update(after)
        state.update(kept)
        state["alias"] = [state, *kept.values()]

    recorded, other = fresh(), fresh()
    first = Sight().take([("args.s", recorded)])
    change(recorded)
    changes = compare(first, Sight(first).take([("args.s", recorded)]))
    look = Sight().take([("args.s", other)])
    reapply(changes.body, look, {}, lambda root, value: None, "t")
    assert other["alias"][0] is other
    del other["alias"], recorded["alias"]
    assert encode(other, sort_sets=True) == encode(recorded, sort_sets=True)


PROGRAM = """
import sys, threading
from dataclasses import dataclass
from reenact.seams.mutation import Sight, digest
@dataclass
class Point:
    x: object
    def __hash__(self): return id(self)
state = {"names": {"a", "b", "c", None, 3.5}, "p": Point([1, (2, "x")]), "lock": threading.Lock(), "f": print, 5: b"x"}
state["self"] = state
print(digest(Sight().take([("args.state", state)]), ["args.state"]))
"""


def test_the_digest_is_the_same_in_every_process() -> None:
    seen = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(seen) == 1 and len(seen.pop().strip()) == 32


def test_the_form_of_a_change() -> None:
    state: dict[str, Any] = {"a": [1], "b": {}}
    before = Sight().take([("args.state", state)])
    state["a"].append({"n": None})
    body = json.loads(compare(before, Sight(before).take([("args.state", state)])).body)
    assert body.pop("before") and body == {
        "count": 3,
        "roots": {"args.state": ["r", 0]},
        "objects": {"1": ["list", "", [["v", 1], ["r", 3]]], "3": ["dict", "dict", [["n", ["v", None]]]]},
    }
