"""Each item of a kit is judged from the run's own events, and the verdict follows from what is not there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reenact.facts.call import Effect, ErrorFact, Failure, Kind, Value
from reenact.facts.kit import Bucket, Item, ItemState, Kit, ReplayUse, Stops, verdict
from reenact.facts.record import CallSettled
from reenact.facts.run import Entry, Run, Status
from reenact.triage.kit_of_run import kit_of
from tests.cli.scenes import Scene
from tests.kit.stories import story, user


def kit(store: Any, scene: Scene, status: Status = Status.OK, **fields: Any) -> Kit:
    run: Run = scene.close(status, **fields)
    return kit_of(store, run)


def item(kit: Kit, name: str) -> Item:
    found = kit.item(name)
    assert found is not None, [each.name for each in kit.items]
    return found


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

# --- the verdict -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stops", "standing", "expected"),
    [
        (Stops.NOTHING, ItemState.MISSING, ReplayUse.CODE),
        (Stops.CODE, ItemState.MISSING, ReplayUse.EVENTS),
        (Stops.CODE, ItemState.PARTIAL, ReplayUse.EVENTS),
        (Stops.CODE, ItemState.PINNED, ReplayUse.CODE),
        (Stops.EVENTS, ItemState.MISSING, ReplayUse.COLD),
        (Stops.EVENTS, ItemState.CAPTURED, ReplayUse.CODE),
    ],
)
def test_the_verdict_follows_from_what_is_not_there(stops: Stops, standing: ItemState, expected: ReplayUse) -> None:
    good = Item(Bucket.INPUT, "good", ItemState.CAPTURED, "")
    assert verdict([good, Item(Bucket.INPUT, "one", standing, "", stops=stops)]) is expected


def test_what_nobody_offers_does_not_count() -> None:
    items = (
        Item(Bucket.INPUT, "here", ItemState.CAPTURED, ""),
        Item(Bucket.INPUT, "gone", ItemState.MISSING, ""),
        Item(Bucket.INPUT, "never", ItemState.MISSING, "", expected=False),
    )
    kit = Kit("r", items)
    assert kit.score == (1, 2) and [each.name for each in kit.lacking] == ["gone"]


# --- input -----------------------------------------------------------------------------------------------------------


def test_a_block_cannot_be_called_again_and_a_command_can(store: Any) -> None:
    block = kit(store, story(store, entry=Entry("block")))
    assert item(block, "input").standing is ItemState.PARTIAL and block.verdict is ReplayUse.EVENTS
    assert "--cmd" in item(block, "input").capture[0]
    command = kit(store, story(store))
    assert item(command, "input").standing is ItemState.CAPTURED and command.verdict is ReplayUse.CODE


@pytest.mark.parametrize(("opaque", "expected"), [([], ReplayUse.CODE), (["agent.Client"], ReplayUse.EVENTS)])
def test_arguments_that_cannot_be_stored_stop_the_code(store: Any, opaque: list[str], expected: ReplayUse) -> None:
    scene = story(store, entry=Entry("callable", target="agent:run", hash_seed="0"))
    scene.settle(scene.issue(Kind.INPUT, "arguments", b"{}", head={"opaque": opaque}, observed=True), None)
    found = kit(store, scene)
    assert found.verdict is expected
    assert ("agent.Client" in item(found, "input").about) is bool(opaque)


def test_a_history_that_lies_elsewhere_or_begins_in_the_middle_is_partial(store: Any) -> None:
    whole = story(store)
    whole.model({"role": "system", "content": "be kind"}, user())
    assert item(kit(store, whole), "history").standing is ItemState.CAPTURED
    cut = story(store)
    number = cut.model({"role": "assistant", "content": "as I said"}, user())
    found = item(kit(store, cut), "history")
    assert found.standing is ItemState.PARTIAL and found.events == (number,) and "truncated" in found.about
    kept = story(store)
    kept.model(user(), previous_response_id="resp_1")
    assert item(kit(store, kept), "history").standing is ItemState.PARTIAL


def test_every_system_prompt_is_there_in_full(store: Any) -> None:
    scene = story(store)
    for text in ("be kind", "be brief", "be kind"):
        scene.model({"role": "system", "content": text}, user())
    value = item(kit(store, scene), "system_prompt").value
    assert sorted(each["text"] for each in value) == ["be brief", "be kind"]


# --- on whose behalf -------------------------------------------------------------------------------------------------


def called(store: Any, arguments: dict[str, Any], **fields: Any) -> Kit:
    """The kit of a run with one tool call."""
    scene = story(store, **fields)
    scene.tool("lookup", {}, **arguments)
    return kit(store, scene)


@pytest.mark.parametrize(
    "arguments",
    [{"user_id": "u_1"}, {"userId": "u_1"}, {"context": {"who": ["u_1"]}}, {"customer": "u_1", "q": "x"}],
)
def test_a_user_counts_as_carried_wherever_it_stands(store: Any, arguments: dict[str, Any]) -> None:
    found = called(store, {**arguments, "tenant_id": "t"}, user="u_1", tenant="t")
    assert item(found, "user_id").standing is ItemState.CAPTURED
    assert item(found, "tenant_id").standing is ItemState.CAPTURED


@pytest.mark.parametrize(
    ("arguments", "standing", "words"),
    [
        ({"q": "orders of u_1"}, ItemState.MISSING, "not in lookup at #0; the run's user is u_1"),
        ({"user_id": "u_2"}, ItemState.PARTIAL, "carries 'u_2'; the run's user is u_1"),
        ({"user_id": None}, ItemState.MISSING, "not in lookup"),
        ({"user_id": ""}, ItemState.MISSING, "not in lookup"),
    ],
)
def test_a_tool_that_is_not_told_whose_data_it_may_touch_is_a_gap(
    store: Any, arguments: dict[str, Any], standing: ItemState, words: str
) -> None:
    kit = called(store, arguments, user="u_1")
    found = item(kit, "user_id")
    assert found.standing is standing and words in found.about and found.capture
    assert kit.item("tenant_id") is None, "a project without tenants lacks none"
    assert item(called(store, arguments, tenant="t_1"), "tenant_id").standing is ItemState.MISSING


def test_a_run_for_nobody_asks_its_tools_for_nothing(store: Any) -> None:
    found = called(store, {"q": "x"})
    assert found.item("user_id") is None and not item(found, "user").expected


def test_a_tool_that_is_told_a_user_shows_that_the_run_names_none(store: Any) -> None:
    found = item(called(store, {"user_id": "u_1"}), "user")
    assert found.expected and found.standing is ItemState.MISSING and found.events == (0,)


def test_the_policy_decides_what_is_required(store: Any) -> None:
    only = called(store, {"q": "x"}, user="u_1", capture={"require": ["user_id"]})
    assert item(only, "user_id").standing is ItemState.MISSING and only.item("tenant_id") is None
    session = called(store, {"q": "x"}, capture={"require": ["session_id", "ticket"]})
    assert item(session, "session_id").standing is ItemState.MISSING and item(session, "session").expected
    assert item(session, "ticket").standing is ItemState.MISSING
    filled = called(store, {"q": "x"}, capture={"require": ["ticket"]}, tags={"ticket": "88"})
    assert item(filled, "ticket").standing is ItemState.CAPTURED


def test_a_note_inside_the_tool_fills_what_cannot_be_seen(store: Any) -> None:
    scene = story(store, user="u_1", capture={"require": ["user_id"]})
    number = scene.tool("lookup", {}, q="x")
    scene.note_on(number, "user_id", "u_1")
    assert item(kit(store, scene), "user_id").standing is ItemState.CAPTURED
    other = story(store, user="u_1", capture={"require": ["user_id"]})
    other.note_on(other.tool("lookup", {}, q="x"), "user_id", "u_9")
    assert item(kit(store, other), "user_id").standing is ItemState.PARTIAL


def test_what_a_tool_asks_below_itself_is_no_tool_call_of_its_own(store: Any) -> None:
    scene = story(store, user="u_1", capture={"require": ["user_id"]})
    outer = scene.issue(Kind.TOOL, "lookup", b'{"user_id": "u_1"}')
    scene.http(b'{"q": 1}', b"{}", parent=outer)
    scene.settle(outer, {})
    assert item(kit(store, scene), "user_id").standing is ItemState.CAPTURED


def test_an_argument_that_could_not_be_stored_may_hold_it(store: Any) -> None:
    scene = story(store, user="u_1", capture={"require": ["user_id"]})
    scene.settle(scene.issue(Kind.TOOL, "lookup", b"{}", head={"opaque": {"context": ["agent.Context"]}}), {})
    assert item(kit(store, scene), "user_id").standing is ItemState.PARTIAL


# --- environment -----------------------------------------------------------------------------------------------------


def test_the_environment_says_by_convention_what_git_cannot(store: Any) -> None:
    facts = {"conventional": {"commit": {"value": "c0ffee", "variable": "GITHUB_SHA"}}}
    found = item(kit(store, story(store, environment=facts)), "commit")
    assert found.standing is ItemState.PINNED and "GITHUB_SHA" in found.about
    tagged = item(kit(store, story(store, tags={"commit": "c0ffee"})), "commit")
    assert tagged.standing is ItemState.PINNED and "tag" in tagged.about
    assert item(kit(store, story(store)), "commit").standing is ItemState.MISSING


def test_a_secret_hash_seed_is_a_gap(store: Any) -> None:
    found = item(kit(store, story(store, entry=Entry("command", ("python",)))), "hash_seed")
    assert found.standing is ItemState.MISSING and found.capture[0].startswith("reenact record --")


def test_the_trace_is_the_one_handed_in(store: Any) -> None:
    assert item(kit(store, story(store, environment={"traceparent": TRACE})), "traceparent").value == TRACE
    scene = story(store)
    scene.note("traceparent", TRACE)
    assert item(kit(store, scene), "traceparent").standing is ItemState.CAPTURED
    assert not item(kit(store, story(store, environment={"traceparent": "junk"})), "traceparent").expected


@pytest.mark.parametrize("headers", [{"Traceparent": TRACE}, [["host", "x"], ["traceparent", TRACE]], ["x", TRACE]])
def test_the_trace_may_be_a_header_of_the_request_handed_in(store: Any, headers: Any) -> None:
    scene = story(store, entry=Entry("callable", target="web:handle", hash_seed="0"))
    body = json.dumps({"args": [headers], "kwargs": {}}).encode()
    scene.settle(scene.issue(Kind.INPUT, "arguments", body, observed=True), None)
    found = item(kit(store, scene), "traceparent")
    assert found.value == (None if headers == ["x", TRACE] else TRACE)


def test_a_seed_counts_only_where_one_was_sent(store: Any) -> None:
    sent = story(store)
    sent.model(user(), seed=7, temperature=0)
    assert item(kit(store, sent), "seed").value == ["7"]
    unsent = story(store)
    unsent.model(user())
    found = item(kit(store, unsent), "seed")
    assert not found.expected and found.capture == ("seed=7 in the request",)


def test_tools_are_kept_as_they_were_registered_at_each_call(store: Any) -> None:
    scene = story(store)
    for name in ("search", "search", "refund"):
        scene.model(user(), tools=[{"type": "function", "function": {"name": name, "parameters": {}}}])
    first, second = item(kit(store, scene), "tool_schemas").value
    assert (first["events"], second["events"]) == ([0, 1], [2]) and first["hash"] != second["hash"]
    assert second["tools"][0]["name"] == "refund"


# --- retrieval -------------------------------------------------------------------------------------------------------

CHUNK = {"id": "c1", "score": 0.9, "content": "about refunds"}


@pytest.mark.parametrize(
    ("chunks", "standing"),
    [
        ((CHUNK,), ItemState.CAPTURED),
        ((CHUNK, {"id": "c2", "content": "x"}), ItemState.PARTIAL),
        ((), ItemState.PARTIAL),
    ],
)
def test_chunks_need_ids_scores_and_contents(store: Any, chunks: tuple[Any, ...], standing: ItemState) -> None:
    scene = story(store)
    scene.retrieve(*chunks)
    assert item(kit(store, scene), "chunks").standing is standing


def test_an_embedding_model_is_declared_noted_or_seen_on_the_wire(store: Any) -> None:
    silent = story(store)
    silent.retrieve(CHUNK)
    assert item(kit(store, silent), "embedding_model").standing is ItemState.MISSING
    declared = story(store)
    declared.retrieve(CHUNK, model="letters-1")
    assert item(kit(store, declared), "embedding_model").standing is ItemState.PARTIAL
    noted = story(store)
    noted.note_on(noted.retrieve(CHUNK, model="letters-1"), "embedding_dimensions", 26)
    assert item(kit(store, noted), "embedding_model").value == {"letters-1": 26}
    seen = story(store)
    seen.retrieve(CHUNK)
    answer = {"data": [{"embedding": [0.5] * 8}]}
    seen.post("https://api.openai.com/v1/embeddings", {"model": "text-embedding-3-small"}, answer)
    found = item(kit(store, seen), "embedding_model")
    assert found.standing is ItemState.CAPTURED and found.value == {"text-embedding-3-small": 8}


# --- side effects ----------------------------------------------------------------------------------------------------


def test_outputs_without_inputs_are_partial_and_stop_the_code(store: Any) -> None:
    scene = story(store)
    scene.settle(scene.issue(Kind.TOOL, "imported"), {"x": 1})
    found = kit(store, scene)
    assert "outputs without inputs" in item(found, "tool_calls").about and found.verdict is ReplayUse.EVENTS


def test_a_result_that_cannot_be_stored_makes_a_cold_case_and_names_the_way_through(store: Any) -> None:
    scene = story(store)
    scene.opaque("connect")
    found = kit(store, scene)
    assert found.verdict is ReplayUse.COLD and "--through connect" in item(found, "tool_calls").capture[1]


def test_a_tool_that_only_computes_may_return_anything(store: Any) -> None:
    scene = story(store)
    number = scene.issue(Kind.TOOL, "compute", b"{}", effect=Effect.NONE, observed=True)
    scene._put(CallSettled(number, 1, Value(b"null", head={"opaque": ["x"]})))
    assert kit(store, scene).verdict is ReplayUse.CODE


def test_a_call_without_an_answer_is_partial(store: Any) -> None:
    scene = story(store)
    scene.issue(Kind.TOOL, "never", b"{}")
    found = kit(store, scene, Status.FAILED)
    assert item(found, "tool_calls").standing is ItemState.PARTIAL and found.verdict is ReplayUse.CODE


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("raw socket", ReplayUse.EVENTS),
        ("child process", ReplayUse.EVENTS),
        ("native connection", ReplayUse.EVENTS),
        ("standard stream", ReplayUse.CODE),
        ("unowned task", ReplayUse.CODE),
        ("file read", ReplayUse.CODE),
    ],
)
def test_a_gap_is_an_item_and_contact_with_the_world_stops_the_code(store: Any, what: str, expected: ReplayUse) -> None:
    scene = story(store)
    scene.gap(what, "agent.py:3")
    found = kit(store, scene)
    assert item(found, f"gap: {what} at agent.py:3").standing is ItemState.MISSING
    assert item(found, f"gap: {what} at agent.py:3").capture and found.verdict is expected


@pytest.mark.parametrize(
    ("what", "first"),
    [
        ("upgraded connection", "the client of websockets or of aiohttp"),
        ("websocket", "the client of websockets or of aiohttp"),
        ("child process", "@reenact.tool"),
        ("inherited stderr", "give it a pipe"),
    ],
)
def test_a_gap_is_mended_by_what_mends_it_cheapest(store: Any, what: str, first: str) -> None:
    scene = story(store)
    scene.gap(what, "agent.py:3")
    assert item(kit(store, scene), f"gap: {what} at agent.py:3").capture[0].startswith(first)


def test_calls_that_were_answered_by_an_exception_are_said_to_be(store: Any) -> None:
    scene = story(store)
    number = scene.issue(Kind.TOOL, "look_up", b"{}")
    scene._put(CallSettled(number, number * 1000 + 1, Failure(ErrorFact("builtins.ValueError", "no"))))
    assert "1, asked, 1 of them answered by an exception: look_up" in item(kit(store, scene), "tool_calls").about


@pytest.mark.parametrize(
    ("fields", "standing"),
    [
        ({}, ItemState.CAPTURED),
        ({"totals": {"unproven": 2, "deliveries": 9}}, ItemState.PARTIAL),
        ({"capture": {"order": "arrival"}}, ItemState.PARTIAL),
        ({"capture": {"order": "off"}}, ItemState.MISSING),
    ],
)
def test_the_order_is_there_where_it_is_proven(store: Any, fields: dict[str, Any], standing: ItemState) -> None:
    assert item(kit(store, story(store), **fields), "order").standing is standing


def test_a_recorder_that_failed_says_so(store: Any) -> None:
    found = item(kit(store, story(store), degraded=("OSError: disk full",)), "recording")
    assert found.standing is ItemState.PARTIAL and "disk full" in found.about


def test_a_failure_is_an_answer(store: Any) -> None:
    scene = story(store)
    scene.fail("send", "OSError", "no")
    assert item(kit(store, scene, Status.FAILED), "tool_calls").standing is ItemState.CAPTURED
