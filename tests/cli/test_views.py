"""The reading views hold for any run: the story covers every event, nothing steers a terminal, references are total."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import UsageError
from reenact.facts.call import Kind
from reenact.facts.event import strand_of
from reenact.facts.run import Status
from reenact.timetravel import preview
from reenact.timetravel.reference_syntax import Reference, parse_reference
from reenact.timetravel.step_view import steps_of
from reenact.timetravel.story import names_of, tell
from reenact.timetravel.vocabulary import _EVENT_VALUES, _RUN_VALUES, EVENT_WORDS, STORED_WORDS, EventScope
from tests.cli import scenes
from tests.cli.record_store import RecordStore

DEEDS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "clock", "model", "http", "open", "inner"]), st.integers(0, 1)), max_size=60
)


def play(deeds: list[tuple[str, int]]) -> Any:
    """A run that did these deeds."""
    record_store = RecordStore()
    scene = scenes.Scene(record_store, 1, agent="any")
    last = None
    for deed, n in deeds:
        match deed:
            case "clock":
                last = scene.issue(Kind.CLOCK, "time.time")
            case "model":
                last = scene.http(b"%d" % n, b"{}", reading=scenes.reading(("a", {"n": n})))
            case "http":
                last = scene.http(b"{}", b"ok\x1b]0;owned\x07", status=200 + 300 * n)
            case "open":
                last = scene.issue(Kind.TOOL, "open", b"{}")
            case "inner":
                last = scene.tool("inner", n, parent=last)
            case name:
                last = scene.tool(name, "\u202e\x9b31m", n=n)
    scene.close(Status.OK)
    return record_store.open(record_store.run("@"))


@given(DEEDS)
def test_the_story_covers_every_event_once_and_in_order(deeds: list[tuple[str, int]]) -> None:
    log = play(deeds)
    lines = list(tell(log))
    assert sum(line.count for line in lines) == len(deeds)
    assert [line.first for line in lines] == sorted(line.first for line in lines)
    assert [line.first for line in tell(log, everything=True)] == list(range(len(deeds)))
    for line in lines:
        assert f"{line.name}{line.text}{line.mark}".isprintable()


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=4), st.integers(3, 12), st.integers(0, 2))
def test_a_loop_is_folded_whatever_its_pattern(pattern: list[str], times: int, before: int) -> None:
    log = play([("http", 0)] * before + [(name, 0) for name in pattern] * times)
    lines = list(tell(log))
    folded = [line for line in lines if line.kind == "…"]
    assert folded and all(line.mark.startswith("suspicious") for line in folded)
    assert len(lines) <= before + 2 * len(pattern) + 2


def test_asking_for_vectors_begins_no_step() -> None:
    record_store = RecordStore()
    scene = scenes.Scene(record_store, 7, agent="rag")
    decided = scene.http(b"{}", b"{}", reading=scenes.reading(("search_docs", {"query": "x"})))
    scene.http(b"{}", b"{}", reading={"sort": "embedding", "provider": "openai", "usage": {"tokens_in": 3}})
    acted = scene.tool("search_docs", [], query="x")
    (step,) = steps_of(record_store.open(scene.close(Status.OK, totals={"models": 2})))
    assert (step.first, step.last, [act.event for act in step.acts]) == (decided, acted, [acted])


@given(DEEDS)
def test_every_tool_call_of_the_agent_stands_in_one_step(deeds: list[tuple[str, int]]) -> None:
    log = play(deeds)
    acts = [act.event for step in steps_of(log) for act in step.acts]
    assert acts == sorted(set(acts))
    outer = [event.number for event in log.events(kinds=["tool"]) if event.parent is None]
    assert set(outer) <= set(acts)


def test_strands_that_ask_the_same_once_are_no_loop_and_one_that_repeats_itself_is() -> None:
    record_store = RecordStore()
    scene = scenes.Scene(record_store, 1)
    for number in range(1, 9):
        scene.lane(number, f"root/vote#{number}")
    for number in range(1, 9):
        scene.settle(scene.issue(Kind.TOOL, "vote", b"{}", lane=number), "yes")
    votes = list(tell(record_store.open(scene.close(Status.OK))))
    assert [(line.count, line.mark) for line in votes] == [(1, ""), (7, "")]
    assert votes[1].text == "the same call in 7 other lanes: vote"
    assert [line.strand for line in tell(record_store.open(scene.run), everything=True)] == [
        f"vote#{n}" for n in range(1, 9)
    ]
    looping = play([("a", 0)] * 5)
    assert [line.mark for line in tell(looping)] == ["", "suspicious: a loop"]


def test_a_lane_is_called_by_the_shortest_end_that_tells_it_apart() -> None:
    assert names_of(["root"]) == names_of(["root", "root"]) == {}
    assert names_of(["root", "root/a#1/job#1", "root/b#1/job#1"]) == {
        "root": "root",
        "root/a#1/job#1": "a#1/job#1",
        "root/b#1/job#1": "b#1/job#1",
    }
    assert strand_of("root>search#2") == "root" and strand_of("root>search#2/job#1") == "root>search#2/job#1"


def test_a_long_argument_does_not_hide_a_short_one() -> None:
    database = {"orders": ["x" * 50] * 100}
    shown = preview.call_text("refund", {"db": database, "order_id": "4471", "amount": 9.5}, 60)
    assert len(shown) <= 60 and 'order_id="4471", amount=9.5)' in shown and "db={" in shown
    few = preview.call_text("refund", {"order_id": "4471", "amount": 990.0, "reason": "arrived broken"}, 42)
    assert len(few) <= 42 and few.startswith('refund(order_id="4471", amount=990.0, ')
    assert preview.call_text("f", {"x": 1, "kw": {"order_id": "4471"}}, 60) == 'f(x=1, order_id="4471")'
    assert preview.call_text("add", [39, 2], 60) == "add(39, 2)"
    assert preview.call_text("add", {"args": [39], "kwargs": {"b": 2}}, 60) == "add(39, b=2)"


@given(st.lists(st.text(max_size=60), max_size=8), st.integers(20, 120))
def test_texts_that_fit_stay_whole_and_none_is_longer_than_it_was(texts: list[str], room: int) -> None:
    shown = preview.fitted(texts, room)
    assert [len(new) <= len(old) for new, old in zip(shown, texts, strict=True)] == [True] * len(texts)
    if sum(map(len, texts)) + 2 * (len(texts) - 1) <= room:
        assert shown == texts


@given(st.text())
def test_safe_text_is_one_plain_line(text: str) -> None:
    assert preview.safe(text).isprintable()
    assert preview.safe(preview.safe(text)) == preview.safe(text)


@given(
    st.recursive(
        st.none() | st.text() | st.integers() | st.binary(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_previews_are_bounded_and_plain(value: Any) -> None:
    shown = preview.brief(value, 40)
    assert len(shown) <= 40 and shown.isprintable()
    assert len(preview.call_text("f", value, 40)) <= 40


@pytest.mark.parametrize(
    ("microseconds", "words"),
    [
        (None, "-"),
        (840, "840 µs"),
        (12_000, "12 ms"),
        (999_700, "1.0 s"),
        (59_960_000, "1 min 0 s"),
        (7_260_000_000, "2 h 1 min"),
    ],
)
def test_durations_read_well(microseconds: int | None, words: str) -> None:
    assert preview.duration(microseconds) == words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@~2", Reference("@~2")),
        ("7f3c:12", Reference("7f3c", "12")),
        ("7f3c:012", Reference("7f3c", "12")),
        ("7f3c:4..9", Reference("7f3c", stretch=(4, 9))),
        ("7f3c:12.response.body", Reference("7f3c", "12", ("response", "body"))),
        ("7f3c:POST api.test#2.args.a~1b~0", Reference("7f3c", "POST api.test#2", ("args", "a.b~"))),
        ("7f3c:POST api.test", Reference("7f3c", "POST api.test")),
        ("a/b.reenact", Reference("a/b.reenact")),
        ("C:\\a\\b.reenact:3.args", Reference("C:\\a\\b.reenact", "3", ("args",))),
        ("@golden/refund:1", Reference("@golden/refund", "1")),
    ],
)
def test_references_are_taken_apart(text: str, expected: Reference) -> None:
    assert parse_reference(text) == expected


@given(st.text(alphabet="a1:.#~@/²9 \n", max_size=12))
def test_any_text_is_a_reference_or_a_usage_error(text: str) -> None:
    try:
        parse_reference(text)
    except UsageError as error:
        assert error.cause and error.next_command


def test_every_word_has_one_meaning_and_one_place() -> None:
    for words, values in ((STORED_WORDS, _RUN_VALUES), (EVENT_WORDS, _EVENT_VALUES)):
        names = [word.name for word in words]
        assert len(names) == len(set(names))
        assert {word.name for word in words if word.form.value in ("value", "either")} == set(values)
        assert all(word.about for word in words)


def test_the_help_of_ls_lists_every_word(reenact: Any) -> None:
    shown = reenact("ls", "--help").out
    for word in STORED_WORDS:
        assert word.name in shown


@given(DEEDS)
def test_every_word_answers_for_every_event(deeds: list[tuple[str, int]]) -> None:
    log = play(deeds)
    for event in log.events():
        scope = EventScope(log, event)
        for word in EVENT_WORDS:
            scope.value(word.name)
