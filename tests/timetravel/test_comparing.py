"""Two runs are laid beside each other call by call: where they part, how each call differs, and what they came to."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonpatch
import pytest

import reenact
from reenact.store.memory_store import MemoryStore
from reenact.testing.provider import Rule, Script, ScriptedProvider, When
from reenact.timetravel.alignment import PairSort
from reenact.timetravel.event_documents import document
from reenact.timetravel.run_comparison import Comparison
from tests.store.records import closing, issued, new_run, opening, settled
from tests.timetravel.conftest import Answer
from tests.timetravel.long import TURN, keep_long


@reenact.tool(effect="read")
def search(query: str, found: int = 1) -> dict[str, Any]:
    return {"docs": [f"{query} {n}" for n in range(found)], "query": query}


@reenact.tool(effect="write")
def send(text: str) -> None:
    if text == "nobody":
        raise ValueError("nobody is there")


@reenact.model(name="writer")
def write(prompt: str) -> str:
    return f"The answer to {prompt} is five days."


@reenact.tool(effect="none")
def outer(query: str) -> list[str]:
    return list(search(query)["docs"])


def record(store: reenact.Store, agent: Callable[[], object]) -> str:
    """The id of a run of ``agent``."""
    with reenact.record(agent="compared", store=store) as run:
        agent()
    return run.id


def base() -> None:
    state = {"query": "refund", "docs": 0}
    with reenact.step("look", state):
        state["docs"] = len(search("refund")["docs"])
    write("refund")
    search("later")
    send("ann")


def sorts(comparison: Comparison) -> list[tuple[int | None, int | None, tuple[str, ...]]]:
    return [(*pair.numbers, tuple(change.value for change in pair.changes)) for pair in comparison.differences]


def test_the_same_run_twice_is_the_same(store: reenact.Store) -> None:
    found = reenact.compare(record(store, base), record(store, base), store=store)
    assert found.first_difference is None and found.differences == () and found.same
    assert [pair.numbers for pair in found.pairs] == [(n, n) for n in range(5)]
    assert found.summary["left"]["tools"] == found.summary["right"]["tools"] == 3


def test_a_pair_can_be_looked_into_when_its_comparison_is_gone(store: reenact.Store) -> None:
    left, right = record(store, lambda: search("x")), record(store, lambda: search("y"))
    (pair,) = reenact.compare(left, right, store=store.url).pairs
    gc.collect()
    assert [each["path"] for each in pair.patch()] == ["/asks/query", "/answer/value/docs/0", "/answer/value/query"]


def test_an_inserted_call_shifts_nothing(store: reenact.Store) -> None:
    def longer() -> None:
        search("first of all")
        with reenact.step("look", {"other": True}):
            search("in another look")
        base()

    found = reenact.compare(record(store, base), record(store, longer), store=store)
    assert sorts(found) == [(None, n, ("added",)) for n in (0, 1, 2)]
    assert found.first_difference is not None and found.first_difference.numbers == (None, 0)
    shorter = reenact.compare(found.recordings[1].run, found.recordings[0].run)
    assert sorts(shorter) == [(n, None, ("removed",)) for n in (0, 1, 2)]


def test_every_difference_has_its_sort(store: reenact.Store) -> None:
    def other() -> None:
        state = {"query": "refund", "docs": 0}
        with reenact.step("look", state):
            state["docs"] = len(search("refund", found=2)["docs"])
        search("later")
        write("refund")
        send("nobody")

    def caught() -> None:
        with pytest.raises(ValueError, match="nobody"):
            other()

    found = reenact.compare(record(store, base), record(store, caught), store=store)
    assert sorts(found) == [
        (0, 0, ("changed answer",)),
        (1, 1, ("changed arguments", "changed answer")),
        (3, 2, ("reordered",)) if found.differences[2].numbers == (3, 2) else (2, 3, ("reordered",)),
        (4, 4, ("changed arguments", "changed answer")),
    ]
    first = found.first_difference
    assert first is not None and first.numbers == (1, 1), "the step's answer comes after what happened in it"
    assert found.summary["changes"] == {"changed answer": 3, "changed arguments": 2, "reordered": 1}


def test_an_answer_alone_can_change(store: reenact.Store) -> None:
    left, right = record(store, lambda: search("x")), record(store, lambda: search("x"))
    assert reenact.compare(left, right, store=store).same
    answers = iter([1, 2])

    @reenact.tool(effect="read")
    def count() -> int:
        return next(answers)

    left, right = record(store, count), record(store, count)
    found = reenact.compare(left, right, store=store)
    assert sorts(found) == [(0, 0, ("changed answer",))] and not found.same
    assert found.differences[0].patch() == [{"op": "replace", "path": "/answer/value", "value": 2}]


def test_members_of_a_set_have_no_order_and_keys_neither() -> None:
    memory = MemoryStore()
    runs = []
    for body in (b'{"a":1,"b":{"~set":["x","y"]}}', b'{"b":{"~set":["y","x"]},"a":1}'):
        run = new_run()
        log = memory.begin(run)
        log.write([*opening(run), issued(0, b'{"q":1,"r":2}'), settled(0, body), closing(run)])
        log.close()
        runs.append(run.id)
    assert reenact.compare(*runs, store=memory).same


AGENT = """
import json, os, urllib.request

messages = [{"role": "user", "content": "how long?"}]
for _ in range(2):
    body = json.dumps({"model": "gpt-4o-mini", "messages": messages}).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    asked = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
    said = json.load(urllib.request.urlopen(asked))["choices"][0]["message"]["content"]
    messages += [{"role": "assistant", "content": said}, {"role": "user", "content": "go on"}]
print(said)
"""


@pytest.mark.timeout(120)
def test_answers_of_a_model_are_compared_by_what_they_say(tmp_path: Path) -> None:
    """Recorded for real: ids and times of two answers differ, what they say does not."""
    (tmp_path / "agent.py").write_text(AGENT)
    store = f"sqlite:///{tmp_path}/runs.db"

    def recorded(provider: ScriptedProvider, first: str) -> str:
        provider.script = Script((Rule(first, when=When(last_user="how long")), Rule("really")))
        env = {**provider.environment(), "PATH": os.defpath, "HOME": str(tmp_path)}
        command = [sys.executable, "-m", "reenact", "--store", store, "record", "--", sys.executable, "agent.py"]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with reenact.open_store(store) as opened:
            return opened.run("@").id

    with ScriptedProvider() as provider:
        first, again, other = (recorded(provider, said) for said in ("five days", "five days", "six days"))
    with reenact.open_store(store) as opened:
        assert reenact.compare(first, again, store=opened).differences == ()
        found = reenact.compare(first, other, store=opened)
        assert [pair.changes for pair in found.differences] == [(PairSort.ANSWER,), (PairSort.ARGUMENTS,)]
        paths = [each.path for pair in found.differences for each in pair.differences()]
        assert paths == ["answer.text", "asks.body.messages.1.content"]
        assert found.summary["left"]["answer"] == found.summary["right"]["answer"] == "really"


# --- patches ----------------------------------------------------------------------------------------------------------


def test_each_patch_turns_the_left_event_into_the_right_one(
    store: reenact.Store, command: Callable[..., Answer]
) -> None:
    def other() -> None:
        with reenact.step("look", {"query": "a/b~c", "docs": [1, {"x": None}]}):
            search("refund", found=3)
        search("added")
        write("something else")

    left, right = record(store, base), record(store, other)
    answer = command("--json", "diff", left, right)
    *found, summary = answer.data
    assert answer.code == 1 and len(found) >= 5 and summary["type"] == "summary"
    logs = store.open(left), store.open(right)
    for line in found:
        events = [None if line[side] is None else log.event(line[side]) for side, log in zip(("left", "right"), logs)]  # noqa: B905
        before, after = (json.loads(json.dumps(document(log, event))) for log, event in zip(logs, events, strict=True))
        assert jsonpatch.JsonPatch(line["patch"]).apply(before) == after
        assert before != after
        assert [before is None, after is None] == [line["left"] is None, line["right"] is None]
    assert any(line["left"] is None for line in found)


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_shows_where_how_and_what_came_of_it(store: reenact.Store, command: Callable[..., Answer]) -> None:
    def other() -> None:
        base()
        search("one more")

    left, right = record(store, base), record(store, other)
    told = command("diff", left, right)
    assert told.code == 1
    assert told.lines[0].startswith("first difference at #5 of the right run: added  tool search")
    assert "  tools    3 -> 4" in told.lines and "next: reenact --store " in told.err and " show " in told.err
    same = command("diff", left, left)
    assert (same.code, same.lines) == (0, ["the same: 5 events"])
    stat = command("diff", "--stat", left, right)
    assert any(line.split() == ["events", "5", "6"] for line in stat.lines)
    assert [line["type"] for line in command("--json", "diff", "--stat", left, right).data] == ["summary"]


def test_a_loop_that_is_gone_is_told_in_a_few_lines(store: reenact.Store, command: Callable[..., Answer]) -> None:
    left, right = record(store, lambda: [search("x") for _ in range(40)]), record(store, lambda: search("x"))
    told = command("diff", left, right)
    assert sum("removed" in line for line in told.lines[1:]) == 5
    assert "  35 more removed, up to #39" in told.lines
    assert len(command("--json", "diff", left, right).data) == 40, "39 removed and the summary"


def test_states_are_compared_step_by_step(store: reenact.Store, command: Callable[..., Answer]) -> None:
    def stepped(n: int) -> Callable[[], None]:
        def agent() -> None:
            state = {"n": 0}
            with reenact.step("count", state):
                state["n"] = n

        return agent

    left, right = record(store, stepped(1)), record(store, stepped(2))
    assert command("diff", "--state", left, right).lines == ["#0 #0  step count", "  out ~ n: 1 -> 2"]
    (line,) = command("--json", "diff", "--state", left, right).data
    assert line["out"] == [{"op": "replace", "path": "/n", "value": 2}] and line["in"] == []
    assert "the same at every step" in command("diff", "--state", left, left).err


def test_texts_are_compared_word_by_word(store: reenact.Store, command: Callable[..., Answer]) -> None:
    answers = iter(["Refunds take five days.\nThat is all.", "Refunds take six days.\nThat is all."])

    @reenact.model(name="poet")
    def poet(prompt: str) -> str:
        return next(answers)

    left, right = record(store, lambda: poet("?")), record(store, lambda: poet("?"))
    told = command("diff", "--text", left, right)
    assert "        Refunds take [-five-]{+six+} days." in told.lines and "        That is all." in told.lines


def test_more_than_two_runs_are_a_table(store: reenact.Store, command: Callable[..., Answer]) -> None:
    runs = [record(store, agent) for agent in (base, base, lambda: search("x"))]
    told = command("diff", *runs)
    assert told.code == 1 and len(told.lines) == 4 and "PARTS AT" in told.lines[0]
    first, second, third = command("--json", "diff", *runs).data
    assert (first["first"], second["same"], second["first"]) == (None, True, None)
    assert not third["same"] and third["first"] is not None


@pytest.mark.parametrize(
    ("words", "said"),
    [(("@",), "two runs or more"), (("@:1", "@"), "a whole run is needed"), (("@", "zzzz"), "no run")],
)
def test_what_cannot_be_compared_is_a_mistake_of_usage(
    store: reenact.Store, command: Callable[..., Answer], words: tuple[str, ...], said: str
) -> None:
    record(store, base)
    answer = command("diff", *words)
    assert answer.code == 2 and said in answer.err


# --- size -------------------------------------------------------------------------------------------------------------


def edited(store: reenact.Store, edits: dict[int, str]) -> str:
    """A run of 300 searches in two steps, with something else at some places."""

    def agent() -> None:
        for half in (0, 1):
            with reenact.step("half", {"half": half}):
                for n in range(half * 150, half * 150 + 150):
                    edit = edits.get(n, "")
                    if edit == "swap":
                        search(f"about {n + 1}")
                        edits[n + 1] = "leave out"
                    if edit != "leave out":
                        search("changed" if edit == "change" else f"about {n}", found=2 if edit == "more" else 1)
                    if edit == "add":
                        search(f"added {n}")

    return record(store, agent)


@pytest.mark.parametrize(
    "edits",
    [
        {3: "change"}, {149: "add"}, {150: "leave out"}, {299: "more"}, {80: "swap"}, {10: "add", 250: "change"},
        dict.fromkeys(range(20, 140), "leave out"), dict.fromkeys(range(100), "add"),
        dict.fromkeys(range(5, 295), "change"),
    ],
)  # fmt: skip
def test_the_first_difference_is_the_first_of_all_however_it_is_found(
    store: reenact.Store, edits: dict[int, str]
) -> None:
    """It is looked for near where the runs part by number, without laying all of both beside each other."""
    left, right = edited(store, {}), edited(store, dict(edits))
    for one, other in ((left, right), (right, left)):
        near = Comparison(store.open(one), store.open(other))
        whole = Comparison(store.open(one), store.open(other))
        assert whole.pairs
        found, wanted = near.first_difference, whole.first_difference
        assert "_laid" not in near.__dict__ or max(edits) - min(edits) > 60, "and without more than is needed"
        assert found is not None and wanted is not None
        assert (found.numbers, found.changes) == (wanted.numbers, wanted.changes)


def test_long_runs_are_compared_in_time(store: reenact.Store) -> None:
    """Ten times what ``make bench`` promises: a twentieth of a second for the first difference, a second for all."""
    left, right = keep_long(store, 1000, 1), keep_long(store, 1000, 2, odd=50)
    start = time.thread_time()
    found = Comparison(store.open(left), store.open(right))
    first = found.first_difference
    assert first is not None and first.numbers == (50 * TURN + 2, 50 * TURN + 2)
    assert time.thread_time() - start < 0.5
    start = time.thread_time()
    assert len(found.differences) == 50 * 6 and all(pair.patch() for pair in found.differences)
    assert time.thread_time() - start < 10
