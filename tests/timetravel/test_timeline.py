"""A timeline says what was true at an event, what changed there, and who set a value last; a watch finds its events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reenact
from reenact.errors import EventNotFound
from reenact.facts.expressions import compile_expression
from reenact.facts.run import kept_in
from reenact.store import event_rows
from reenact.store.memory_store import MemoryStore
from reenact.store.rows import event_of
from reenact.timetravel.authorship import ABSENT
from reenact.timetravel.run_watch import wanted
from reenact.timetravel.timeline import Timeline
from reenact.timetravel.vocabulary import EVENT_WORDS, EventScope
from tests.timetravel.conftest import Answer
from tests.timetravel.long import keep_long


@reenact.tool(effect="read")
def search(query: str) -> dict[str, Any]:
    return {"docs": [f"about {query}"]}


@reenact.step("collect")
def collect(state: dict[str, Any]) -> dict[str, Any]:
    state["docs"] += search("refunds")["docs"]
    return state


@reenact.model(name="writer")
def write(messages: list[dict[str, str]]) -> str:
    return f"{len(messages)} messages"


async def branch(state: dict[str, Any], name: str) -> None:
    with reenact.step(name, state):
        await asyncio.sleep(0)
        state[name] = True


async def agent() -> None:
    state: dict[str, Any] = {"docs": [], "n": 0}
    with reenact.step("plan", state):  # 0
        collect(state)  # 1, with the tool 2
        state["n"] = 1
        search("more")  # 3
    state["between"] = "steps"
    with reenact.step("gather", state):  # 4
        await asyncio.gather(branch(state, "left"), branch(state, "right"))  # 5, 6
    messages = [{"role": "user", "text": "hello"}]
    messages.append({"role": "assistant", "text": write(messages)})  # 7
    write([*messages, {"role": "user", "text": "go on"}])  # 8


@pytest.fixture
def recorded(store: reenact.Store) -> reenact.Run:
    """The agent above, recorded."""
    with reenact.record(agent="traveller", store=store) as run:
        asyncio.run(agent())
    return store.run(run.id)


def test_who_set_a_value_is_the_innermost_step_that_did(recorded: reenact.Run) -> None:
    timeline = recorded.timeline()
    found = {path: timeline.last_set(path) for path in ("docs", "docs.0", "n", "between", "left", "state.right")}
    assert {path: (each.event.name, each.inside) for path, each in found.items()} == {
        "docs": ("collect", True), "docs.0": ("collect", True), "n": ("plan", True), "between": ("gather", False),
        "left": ("left", True), "state.right": ("right", True),
    }  # fmt: skip
    assert (found["n"].before, found["n"].after, found["n"].since) == (0, 1, 0)
    assert found["docs.0"].before is ABSENT and found["docs.0"].after == "about refunds"
    earlier = timeline.last_set("n", at=3)
    assert (earlier.event.number, earlier.inside, earlier.since, earlier.after) == (0, False, None, 0)


def test_the_state_and_messages_of_a_moment_are_those_of_the_checkpoint(
    store: reenact.Store, recorded: reenact.Run
) -> None:
    timeline = recorded.timeline()
    for event in store.events(recorded):
        moment, checkpoint = timeline.at(event.number), store.checkpoint(recorded, event.number)
        assert (moment.state, moment.messages) == (checkpoint.state, checkpoint.messages)
        assert (moment.step.name if moment.step else "") == checkpoint.step
    assert timeline.at("search#2").state == {"docs": ["about refunds"], "n": 0}
    assert timeline.at("writer#2").messages[-1]["text"] == "3 messages"


def test_what_changed_is_split_into_before_a_step_and_by_it(recorded: reenact.Run) -> None:
    timeline = recorded.timeline()
    gather = timeline.changed("gather#1")
    assert [each.path for each in gather.since] == ["between"]
    assert sorted(each.path for each in gather.state) == ["left", "right"]
    assert [each.path for each in timeline.changed("collect").state] == ["docs.0"]
    grown = timeline.changed("writer#2").messages
    assert [each["text"] for each in grown] == ["go on"], "and not what the call before it was given or said"
    assert timeline.changed("search#1").state == ()


def test_the_next_and_the_previous_event_where_something_is_true(recorded: reenact.Run) -> None:
    timeline = recorded.timeline()
    assert [event.number for event in timeline.watch("kind == 'tool'")] == [2, 3]
    assert timeline.next("kind == 'tool'", after="search#1").number == 3
    assert timeline.previous("kind == 'tool'", before=3).number == 2
    assert timeline.next("state['n'] == 1", after=0).name == "gather"
    assert timeline.next(after=0).number == 1
    assert timeline.previous("kind == 'tool'", before=2) is None


def test_hits_are_given_as_they_are_found(store: reenact.Store) -> None:
    keep_long(store, 2_000)
    hits = store.run("@").timeline().watch("name == 'search_docs'")
    counted: list[int] = []
    events = hits.gi_frame.f_locals["recording"].events

    def counting(**choice: Any) -> Iterator[reenact.Event]:
        for event in events(**choice):
            counted.append(event.number)
            yield event

    hits.gi_frame.f_locals["recording"].events = counting
    assert next(hits).number == 2 and len(counted) < 20


@pytest.mark.parametrize(("name", "number"), [("search_docs#1000", 1666), ("work#200", 1990)])
def test_an_event_of_a_name_is_found_without_reading_those_before_it(
    store: reenact.Store, name: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = store.open(keep_long(store, 2_000))
    read: list[int] = []

    def counting(run: str, *given: Any) -> reenact.Event:
        event = event_of(run, *given)
        read.append(event.number)
        return event

    monkeypatch.setattr(event_rows, "event_of", counting)
    assert Timeline(recording).event(name).number == number and len(read) < 20
    assert Timeline(recording).event("m#600").number == 1997  # the name of a model is in what was read of the call
    with pytest.raises(EventNotFound, match="only 1200 events called 'search_docs'"):
        Timeline(recording).event("search_docs#1201")


EXPRESSIONS = [
    "kind == 'model'", "'model' == kind and 'answer 4' in answer", "kind == 'http'", "name == 'search_docs'",
    "name == 'work' or kind == 'tool'", "not (kind == 'tool')", "status == 429", "number > 30 and kind == 'step'",
    "len(state['docs']) == 3", "args['query'] == 'q 12'", "result['docs'][0] == 'd15'", "tokens == 5",
    "state", "not state", "state == None", "state != 5", "'d2' in state['docs']", "state['turn'] == 2",
    "5 > state['turn']",
    "state['turn'] in [None, 3]", "'d2' not in state['docs']", "len(state) == 4 and name == 'work'", "state['no'] != 1",
]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_choosing_in_the_store_loses_no_hit(expression: str) -> None:
    store = MemoryStore()
    recording = store.open(keep_long(store, 60))
    checked = compile_expression(expression, EVENT_WORDS)
    naive = [event.number for event in recording.events() if checked.holds(EventScope(recording, event))]
    assert [event.number for event in Timeline(recording).watch(expression)] == naive
    if "and" in expression or "or" in expression:
        assert wanted(checked.root) != ((), None) or " or " in expression


# --- who set a value, against what really happened --------------------------------------------------------------------

Program = list[Any]
KEYS = st.sampled_from("abc")
programs = st.recursive(st.lists(KEYS, max_size=2), lambda inner: st.lists(KEYS | inner, max_size=4), max_leaves=12)


@given(programs)
def test_who_set_a_value_last_is_who_wrote_it_last(program: Program) -> None:
    """A letter writes a value that is new each time; a list is a step with what happens in it."""
    state: dict[str, Any] = {}
    written: dict[str, tuple[str, ...]] = {}
    kept: dict[str, int] = {}
    count = iter(range(10_000))
    store = MemoryStore()

    def play(part: Program, around: tuple[str, ...]) -> None:
        for each in part:
            if isinstance(each, str):
                state[each] = next(count)
                written[each] = around
            else:
                name = f"s{next(count)}"
                with reenact.step(name, state):
                    kept.update(state)
                    play(each, (*around, name))
                kept.update(state)

    with reenact.record(store=store) as run:
        play(program, ())
        with reenact.step("last", state):
            pass
        with reenact.step("again", state):
            pass
    timeline = store.run(run.id).timeline()
    for key, value in state.items():
        found = timeline.last_set(key)
        assert found.after == value
        if written[key]:
            assert (found.event.name, found.inside) == (written[key][-1], True)
        else:
            assert not found.inside


# --- the same from the command line -----------------------------------------------------------------------------------


def test_the_command_tells_who_what_and_when(recorded: reenact.Run, command: Callable[..., Answer]) -> None:
    overview = command("timeline", "@")
    assert overview.code == 0 and [line.split()[:2] for line in overview.lines[:2]] == [["0", "plan"], ["1", "collect"]]
    told = command("timeline", "@", "--last-set", "n")
    assert told.lines[0] == "n = 1" and "set by #0 plan" in told.out and "before, it was 0" in told.out
    assert "set after #0 and before #4 gather" in command("timeline", "@", "--last-set", "between").out
    assert "there from the first" in command("timeline", "@", "--last-set", "n", "--at", "3").out
    (moment,) = command("--json", "timeline", "@:collect", "--at", "search#2").data
    assert (moment["event"], moment["state"], moment["step"]["name"]) == (
        3,
        {"docs": ["about refunds"], "n": 0},
        "plan",
    )
    (changes,) = command("--json", "timeline", "@", "--changed", "gather").data
    assert changes["since"] == [{"op": "add", "path": "/between", "value": "steps"}]
    assert [hit["event"] for hit in command("--json", "timeline", "@", "--watch", "kind == 'tool'").data] == [2, 3]
    assert [line.split()[0] for line in command("timeline", "@:3..8", "--watch", "kind == 'tool'").lines] == ["3"]
    assert "hello" in command("timeline", "@", "--at", "writer#2").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("@", "--last-set", "dosc"), "did you mean docs?"),
        (("@", "--last-set", "docs.7"), "docs has 1 members"),
        (("@", "--last-set", "docs..7"), "not a path"),
        (("@", "--at", "99"), "its events go from 0 to 8"),
        (("@", "--at", "search#9"), "only 2 events"),
        (("@", "--watch", "colour == 1"), "unknown name colour"),
        (("@:1.state",), "a timeline is of a run"),
    ],
)  # fmt: skip
def test_what_is_impossible_says_what_there_is_instead(
    recorded: reenact.Run, command: Callable[..., Answer], words: tuple[str, ...], said: str
) -> None:
    answer = command("timeline", *words)
    assert answer.code == (2 if "99" not in words and "#9" not in words[-1] else answer.code) and answer.code != 0
    assert said in answer.err and "next: reenact" in answer.err


def test_the_help_names_every_word_of_a_watch(command: Callable[..., Answer]) -> None:
    helped = command("timeline", "--help").out.split("Names in --watch:")[1].split("Options:")[0]
    assert helped.split() == sorted(word.name for word in EVENT_WORDS)


def test_a_run_without_steps_says_so(store: reenact.Store, command: Callable[..., Answer]) -> None:
    with reenact.record(store=store):
        search("x")
    assert "no state was kept" in command("timeline", "@").err
    assert "kept no state" in command("timeline", "@", "--last-set", "x").err


def test_the_run_under_way_has_a_timeline_of_what_happened_so_far(store: reenact.Store) -> None:
    with reenact.record(store=store):
        search("x")
        run = reenact.current_run()
        assert run is not None
        assert [event.name for event in run.timeline().watch("True")] == ["search"]
        search("y")
    assert len(list(run.timeline().watch("True"))) == 2


def test_a_run_finds_its_store_again_after_the_recording_let_it_go(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REENACT_STORE", raising=False)
    with reenact.record() as run:
        search("x")
    assert [event.name for event in run.timeline().watch("True")] == ["search"]
    assert reenact.Run("x") == kept_in(reenact.Run("x"), "anywhere"), "where it is kept is no part of its value"
