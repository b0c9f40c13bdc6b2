"""Each source of chance is frozen, pinned or accepted, and the run's own events say why."""

from __future__ import annotations

from typing import Any

import pytest

from reenact.facts.call import Call, Effect, Kind, Value
from reenact.facts.kit import Allowance, Hold
from reenact.facts.record import AmbientRead, CallIssued, CallSettled, LaneOpened
from reenact.facts.run import Status
from reenact.triage.budget import budget_of
from tests.kit.stories import Story, story, user

NAMES = [
    "sampling", "seed", "model drift", "provider routing", "tool latency and races", "tool drift",
    "retrieval freshness", "time-of-day load", "clock logic",
]  # fmt: skip


def budget(store: Any, scene: Story, **fields: Any) -> dict[str, Allowance]:
    run = scene.close(Status.OK, **fields)
    lines = budget_of(store, run)
    assert [line.name for line in lines] == NAMES
    return {line.name: line for line in lines}


def test_a_run_of_nothing_has_nothing_to_hold(store: Any) -> None:
    for line in budget(store, story(store)).values():
        assert (line.replay, line.live) == (Hold.FROZEN, None)


@pytest.mark.parametrize(
    ("requests", "live", "words"),
    [
        ([{"temperature": 0}], Hold.PINNED, "temperature 0 at #0"),
        ([{"temperature": 0}, {"temperature": 0.7}], Hold.ACCEPTED, "temperature 0.7 at #1"),
        ([{}], Hold.ACCEPTED, "the provider's default"),
    ],
)
def test_sampling_is_pinned_by_temperature_0_in_every_request(
    store: Any, requests: list[dict[str, Any]], live: Hold, words: str
) -> None:
    scene = story(store)
    for request in requests:
        scene.model(user(), **request)
    line = budget(store, scene)["sampling"]
    assert (line.replay, line.live) == (Hold.FROZEN, live) and words in line.about


def test_a_seed_holds_only_if_every_request_sends_one(store: Any) -> None:
    both = story(store)
    both.model(user(), seed=7)
    both.model(user(), seed=7)
    assert budget(store, both)["seed"].live is Hold.PINNED
    one = story(store)
    one.model(user(), seed=7)
    one.model(user())
    line = budget(store, one)["seed"]
    assert line.live is Hold.ACCEPTED and line.events == (1,)


@pytest.mark.parametrize(
    ("model", "live"),
    [
        ("gpt-5.4-mini-2025-08-07", Hold.PINNED),
        ("claude-haiku-5-5-20251001", Hold.PINNED),
        ("anthropic.claude-haiku-5-5-20251001-v1:0", Hold.PINNED),
        ("mistral-large-2411", Hold.PINNED),
        ("gpt-5.4-mini", Hold.ACCEPTED),
        ("claude-haiku-5-5", Hold.ACCEPTED),
        ("llama3:latest", Hold.ACCEPTED),
        ("gemini-flash-8b", Hold.ACCEPTED),
    ],
)
def test_a_dated_name_pins_the_model_and_an_alias_does_not(store: Any, model: str, live: Hold) -> None:
    scene = story(store)
    scene.model(user(), model=model)
    assert budget(store, scene)["model drift"].live is live


def test_a_region_pins_the_routing(store: Any) -> None:
    somewhere = story(store)
    somewhere.model(user())
    assert budget(store, somewhere)["provider routing"].live is Hold.ACCEPTED
    told = story(store, environment={"conventional": {"region": {"value": "eu-1", "variable": "AWS_REGION"}}})
    told.model(user())
    line = budget(store, told)["provider routing"]
    assert line.live is Hold.PINNED and "eu-1 (AWS_REGION" in line.about


@pytest.mark.parametrize(
    ("spans", "live"),
    [
        ([(0, 10), (10, 20)], Hold.PINNED),
        ([(0, 10), (5, 20)], Hold.ACCEPTED),
        ([(0, 30), (5, 6), (7, 8)], Hold.ACCEPTED),
    ],
)
def test_calls_of_several_strands_race_only_while_both_are_under_way(
    store: Any, spans: list[tuple[int, int]], live: Hold
) -> None:
    scene = story(store)
    for number, (start, end) in enumerate(spans):
        call = Call(Kind.TOOL, "t", Effect.READ, "tool/1", body=b"{}")
        scene._put(
            LaneOpened(number + 1, f"root/t#{number}", 0),
            CallIssued(number, number + 1, 0, None, start, call),
            CallSettled(number, end, Value(b"1")),
        )
    line = budget(store, scene)["tool latency and races"]
    assert (line.replay, line.live) == (Hold.FROZEN, live)


def test_an_order_that_is_not_proven_is_accepted_in_a_replay_too(store: Any) -> None:
    scene = story(store)
    scene.tool("t", 1)
    line = budget(store, scene, totals={"unproven": 2, "deliveries": 5})["tool latency and races"]
    assert line.replay is Hold.ACCEPTED and "2 deliveries" in line.about


def test_what_escaped_is_accepted_in_a_replay_too(store: Any) -> None:
    scene = story(store)
    scene.gap("raw socket", "agent.py:3")
    assert budget(store, scene)["tool drift"].replay is Hold.ACCEPTED
    other = story(store)
    other.tool("t", 1, q="x")
    line = budget(store, other)["tool drift"]
    assert (line.replay, line.live, line.events) == (Hold.FROZEN, Hold.ACCEPTED, (0,))


def test_retrieval_is_pinned_by_the_version_of_its_index(store: Any) -> None:
    scene = story(store)
    scene.retrieve({"id": "c", "score": 1, "content": "x"})
    assert budget(store, scene)["retrieval freshness"].live is Hold.ACCEPTED
    noted = story(store)
    noted.retrieve({"id": "c", "score": 1, "content": "x"})
    noted.note("index_version", "2026-11")
    assert budget(store, noted)["retrieval freshness"].live is Hold.PINNED


def test_load_shows_in_statuses(store: Any) -> None:
    scene = story(store)
    scene.http(b"{}", b'{"pri', status=429)
    line = budget(store, scene)["time-of-day load"]
    assert line.about == "status 429 at #0" and line.events == (0,)
    calm = story(store)
    calm.http(b"{}", b"{}")
    assert "no sign of it" in budget(store, calm)["time-of-day load"].about


@pytest.mark.parametrize(("source", "live"), [("wall", Hold.ACCEPTED), ("mono", None), ("urandom/16", None)])
def test_a_program_that_reads_the_wall_clock_depends_on_it(store: Any, source: str, live: Hold | None) -> None:
    scene = story(store, environment={"time_zone": {"TZ": "Asia/Tokyo"}})
    scene._put(AmbientRead(0, 0, source, b"\0\0\0\1x"))
    line = budget(store, scene)["clock logic"]
    assert (line.replay, line.live) == (Hold.FROZEN, live)
    assert ("Asia/Tokyo" in line.about) is (live is not None)


def test_a_call_that_was_never_answered_cannot_be_frozen(store: Any) -> None:
    scene = story(store)
    scene.issue(Kind.RETRIEVAL, "nearest", b"{}")
    assert budget(store, scene)["retrieval freshness"].replay is Hold.ACCEPTED
