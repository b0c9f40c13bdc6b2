"""What other engines got wrong in experiments comes out right in a fork, or is a named divergence: never crossed.

The numbers are those of the experiments: E5 and E6 crossed answers by position, E7 by index, E8 and E9 acted again.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

import reenact
from reenact import Change, ReenactError, Store
from reenact.replaying import guard
from tests.forks.walking import Walk
from tests.mutations.world import world

_numbers = itertools.count(1000)
done: list[str] = []
"""What has acted, by the names of those who did."""


@pytest.fixture(autouse=True)
def nothing_done() -> Iterator[None]:
    done.clear()
    yield


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Iterator[Any]:
    with reenact.open_store(f"memory:{request.node.nodeid}") as opened:
        yield opened


class _Log:
    """Notes what acts where no recorder sees it: a change of a global would be part of the scene."""

    def __call__(self, what: str) -> None:
        done.append(what)


acted = _Log()


@reenact.tool(effect="read")
async def aread(query: str, pause_s: float = 0.0) -> str:
    """A read that takes a while, and whose answer is new every time."""
    acted(f"read {query}")
    await asyncio.sleep(pause_s)
    return f"{query} {next(_numbers)}"


@reenact.tool(effect="read")
def read(query: str) -> str:
    """The same, at once."""
    acted(f"read {query}")
    return f"{query} {next(_numbers)}"


@reenact.tool
def write(what: str) -> str:
    """A write."""
    acted(f"write {what}")
    return f"wrote {what} {next(_numbers)}"


# --- E5: two branches that call the same name, their timing flipped ---------------------------------------------------


@pytest.mark.parametrize("same", [False, True], ids=["each its own question", "all the same question"])
def test_e5_branches_never_get_each_others_answers(store: Any, same: bool, sweep: bool) -> None:
    """The frozen fork answers each branch with what that branch was told, however long each takes now."""
    delays = [[0.004, 0.001], [0.001, 0.004]]

    async def branch(name: int) -> list[str]:
        seen = []
        for place in range(2):
            await asyncio.sleep(delays[name][place])
            seen.append(await aread("the same" if same else f"branch {name}", 0.001))
        return seen

    async def main() -> list[list[str]]:
        return list(await asyncio.gather(branch(0), branch(1)))

    walk = Walk.recorded(store, lambda: asyncio.run(main()))
    done.clear()
    chance = random.Random(5)
    for number in walk.allowed():
        for _ in range(6 if sweep else 1):
            for pair in delays:
                chance.shuffle(pair)
            chance.shuffle(delays)
            walk.fork(number, live="none")
            assert walk.again[-1] == walk.output
    assert done == []


# --- E6, E8: a call is inserted ---------------------------------------------------------------------------------------


def chain(inserted: list[str]) -> Callable[[], list[str]]:
    """Reads and writes one after the other; whatever is in ``inserted`` is read between the first two."""

    def program() -> list[str]:
        seen = [read("first")]
        seen += [read(each) for each in inserted]
        seen += [read("second"), write("letter"), read("third")]
        return [*seen, write("receipt")]

    return program


@pytest.mark.parametrize("live", ["reads", "none"])
@pytest.mark.parametrize("new", ["second", "third", "something new"])
def test_e6_an_inserted_call_in_the_frozen_prefix_is_a_named_divergence(store: Any, new: str, live: str) -> None:
    """Where it asks what was asked later it may be told so, but no call ever gets the answer of another question."""
    inserted: list[str] = []
    walk = Walk.recorded(store, chain(inserted))
    done.clear()
    inserted.append(new)
    last = walk.allowed()[-1]
    with pytest.raises(ReenactError) as raised:
        walk.fork(last, live=live)
    assert raised.value.next_command
    assert done == []
    assert walk.again == []


@pytest.mark.parametrize("new", ["first", "something new"])
def test_e6_and_e8_an_inserted_call_shifts_nothing_and_no_write_is_repeated(store: Any, new: str) -> None:
    """Behind the cut only the inserted call goes live; every other one keeps its answer, the writes above all."""
    inserted: list[str] = []
    walk = Walk.recorded(store, chain(inserted))
    done.clear()
    inserted.append(new)
    fork = walk.fork("read#1")
    now = walk.again[-1]
    assert [now[0], *now[2:]] == walk.output
    assert now[1].startswith(new)
    assert now[1] not in walk.output
    assert done == [f"read {new}"]
    walk.replays(fork)


def test_an_inserted_write_before_a_write_is_refused_and_the_recorded_one_is_not_repeated(store: Any) -> None:
    more: list[str] = []

    def program() -> list[str]:
        return [read("first"), *(write(each) for each in more), write("letter"), write("letter")]

    walk = Walk.recorded(store, program)
    done.clear()
    more.append("draft")
    with pytest.raises(reenact.ReenactError, match="write may change the world"):
        walk.fork("read#1")
    assert done == []
    walk.fork("read#1", allow_writes=["write"])
    assert done == ["write draft"]
    assert walk.again[-1][2:] == walk.output[1:]  # both letters, each with its own recorded outcome
    more[:] = ["letter"]
    done.clear()
    walk.fork("read#1", allow_writes=["write"])
    assert done == ["write letter"], "two letters were written: only a third is new"


def test_e6_an_inserted_call_under_gather_shifts_nothing_in_any_branch(store: Any) -> None:
    inserted: list[int] = []

    async def branch(name: int) -> list[str]:
        seen = [await aread("start", 0.001 * name)]
        seen += [await aread("inserted", 0.001) for _ in range(inserted.count(name))]
        return [*seen, await aread("middle", 0.002), await aread("end", 0.001 * (4 - name))]

    async def main() -> list[list[str]]:
        return await asyncio.gather(*(branch(name) for name in range(4)))

    walk = Walk.recorded(store, lambda: asyncio.run(main()))
    done.clear()
    inserted += [1, 3, 3]
    fork = walk.fork(0)
    assert [[seen[0], *seen[-2:]] for seen in walk.again[-1]] == walk.output
    assert [len(seen) for seen in walk.again[-1]] == [3, 4, 3, 5]
    assert done == ["read inserted"] * 3
    walk.replays(fork)


def test_no_draw_of_chance_is_handed_out_twice(store: Any) -> None:
    """The reads of a recorded place go to whoever stands there first; nobody gets the same ones again."""
    inserted: list[str] = []

    def program() -> list[str]:
        drawn = []
        for query in ["first", *inserted, "second", "third"]:
            read(query)
            drawn.append(uuid.uuid4().hex)
        return drawn

    walk = Walk.recorded(store, program)
    inserted += ["new", "newer"]
    fork = walk.fork("read#1")
    assert len(set(walk.again[-1])) == 5
    assert walk.again[-1][0] == walk.output[0]
    walk.replays(fork)


# --- E7: two questions to a person, in the other order ---------------------------------------------------------------


QUESTIONS = """
    import reenact
    def ask(what): return input(f"Your {what}? ")
    with reenact.step("begin", {}): pass
    name = ask("name")
    email = ask("e-mail")
    print({"name": name, "email": email})
"""


def test_e7_answers_of_a_person_belong_to_their_questions(forks: Any) -> None:
    """The code asks in the other order now: each question keeps its own answer."""
    forks.typed = "Bob\nbob@x\n"
    printed = forks.record(QUESTIONS)
    assert printed.endswith("{'name': 'Bob', 'email': 'bob@x'}\n")
    path = forks.desk.folder / "agent.py"
    first, second = '    name = ask("name")\n'.strip(), 'email = ask("e-mail")'
    text = path.read_text()
    path.write_text(text.replace(first, "<>").replace(second, first).replace("<>", second))
    report = forks.fork("begin#1", "--live", "none")
    assert report["printed"].endswith("{'name': 'Bob', 'email': 'bob@x'}\n")


# --- E9: time travel is not acting again ------------------------------------------------------------------------------


@pytest.mark.parametrize("live", ["reads", "model", "none"])
def test_e9_nothing_behind_the_branching_event_acts_again(store: Any, live: str) -> None:
    walk = Walk.recorded(store, chain([]))
    done.clear()
    for number in walk.allowed():
        walk.fork(number, live=live)
        assert walk.again[-1] == walk.output
    assert done == []


def test_e9_reads_are_asked_anew_only_where_that_is_wanted(store: Any) -> None:
    walk = Walk.recorded(store, chain([]))
    done.clear()
    walk.fork("read#2", live="all")
    assert done == ["read second", "read third"]
    assert [walk.again[-1][place] for place in (0, 2, 4)] == [walk.output[place] for place in (0, 2, 4)]


# --- E11: states of forks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_e11_states_of_parent_and_fork_are_each_their_own(tmp_path: Any, kind: str) -> None:
    """Deltas of a growing state: a fork neither loses what came before it nor changes what its parent holds."""

    def program() -> list[str]:
        state: dict[str, Any] = {"seen": []}
        for number in range(6):
            with reenact.step("grow", state) as state:
                state["seen"].append(read(f"part {number}"))
        return list(state["seen"])

    def states(store: Store, run: Any) -> list[Any]:
        return [store.checkpoint(run, f"grow#{number + 1}").state for number in range(6)]

    with reenact.open_store("memory:e11" if kind == "memory" else f"sqlite:///{tmp_path}/runs.db") as store:
        walk = Walk.recorded(store, program)
        before = states(store, walk.parent)
        fork = walk.fork("grow#3", change=Change(results={"read#4": "other"}), live="none")
        again = walk.fork("grow#2", fork, live="none")
        expected = [*walk.output[:3], "other", *walk.output[4:]]
        assert walk.again == [expected, expected]
        assert states(store, walk.parent) == before
        assert [len(each["seen"]) for each in before] == [len(each["seen"]) for each in states(store, fork)]
        for run in (fork, again):
            assert states(store, run)[-1]["seen"] == expected[: len(before[-1]["seen"])]
        store.delete(walk.parent)
        assert states(store, again) == states(store, fork)


# --- test 28 of the proofs of interception ----------------------------------------------------------------------------


_connected: list[tuple[Any, ...]] = []


@pytest.fixture(scope="module", autouse=True)
def audited() -> None:
    """Every connection of this process, as the interpreter itself reports it."""
    sys.addaudithook(lambda event, args: _connected.append(args[1:]) if event == "socket.connect" else None)


def test_28_the_prefix_makes_no_connection_and_what_follows_goes_live(store: Any, sweep: bool) -> None:
    with world() as address:

        def program() -> list[Any]:
            return [httpx.get(f"{address}/part/{number}").json()["n"] for number in range(8)]

        walk = Walk.recorded(store, program)
        assert guard.GUARD.refused == []
        asked = [event.number for event in walk.events(walk.parent) if event.kind == "http"]
        for k in range(8) if sweep else (0, 5, 7):
            _connected.clear()
            fork = walk.fork(asked[k], live="all")
            assert len(_connected) == 8 - k
            assert walk.again[-1][:k] == walk.output[:k]
            assert not set(walk.again[-1][k:]) & set(walk.output)
            _connected.clear()
            walk.replays(fork)
            walk.fork(asked[k], live="none")
            assert _connected == []
