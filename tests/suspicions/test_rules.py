"""Each rule of suspicion marks the case that it is for, and not the ordinary one beside it."""

from __future__ import annotations

from typing import Any

import pytest

from reenact.facts.rule_names import RULE_NAMES, chosen_rules
from reenact.facts.suspicions import RULES, Act, Course, ModelTurn, Sort, suspicions
from reenact.facts.suspicions.event_rules import is_cut, is_same_model
from reenact.facts.suspicions.suspicion_evidence import SuspicionEvidence, first_unseen

HOUR = 1_760_000_400_000_000
"""A full hour, microseconds since 1970."""


def tool(event: int, name: str = "search", args: Any = None, result: Any = "found", **more: Any) -> Act:
    key = more.pop("key", repr(args))
    came = more.pop("came", repr(result))
    return Act(event, Sort.TOOL, "tool", name, key=key, came=came, args=args, result=result, **more)


def model(event: int, text: str = "", *calls: tuple[str, Any], **more: Any) -> Act:
    strand = more.pop("strand", "root")
    act = {name: more.pop(name) for name in ("status", "error", "key", "came", "at_us") if name in more}
    return Act(event, Sort.MODEL, "model", "gpt", strand, said=ModelTurn(text=text, calls=calls, **more), **act)


def marks(*acts: Act, given: dict[str, Any] | None = None, whole: bool = True) -> list[tuple[int, str]]:
    course = Course(acts, given or {}, whole=whole)
    return [(each.event, each.rule) for each in suspicions(course)]


def test_the_names_that_settings_know_are_those_of_the_rules() -> None:
    assert tuple(rule.name for rule in RULES) == RULE_NAMES
    assert all(rule.about.endswith(".") and rule.on for rule in RULES)
    assert [rule.name for rule in RULES if rule.hint] == ["unsupported-answer"]


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (tool(1, error="ValueError: no"), "error"),
        (tool(1, status=503), "status 503"),
        (tool(1, answered=False), "no answer"),
        (tool(1, ending="broken off"), "broken off"),
        (tool(1, status=399), ""),
        (tool(1, answered=False, observed=True), ""),
    ],
)
def test_a_call_that_failed_is_marked(act: Act, text: str) -> None:
    found = [each.text for each in suspicions(Course((act,))) if each.rule == "failure"]
    assert found == ([text] if text else [])


def test_the_same_call_again_is_marked_in_one_strand_and_not_in_another() -> None:
    assert marks(tool(1, args=1), tool(2, args=1)) == [(2, "repeat")]
    assert marks(tool(1, args=1), tool(2, args=2)) == []
    assert marks(*(tool(n, args=1, strand=f"root/job#{n}") for n in range(8))) == []


def test_a_retry_and_a_poll_are_no_repeats_and_a_write_always_is() -> None:
    assert marks(tool(1, args=1, status=429), tool(2, args=1)) == [(1, "failure")]
    assert marks(tool(1, args=1, result={"state": "waiting"}), tool(2, args=1, result={"state": "done"})) == []
    refunds = [tool(n, "refund", args=1, result=f"r{n}", writes=True) for n in (1, 2)]
    assert marks(*refunds) == [(2, "repeat")]


def test_the_same_call_after_an_empty_result_is_a_rule_of_its_own() -> None:
    empty: list[Any] = [[], {"docs": [], "count": 0}, "", "No results.", None]
    for nothing in empty:
        assert marks(tool(1, args=1, result=nothing), tool(2, args=1, result="x")) == [(2, "empty-repeat")], nothing
    assert marks(tool(1, args=1, result=[]), tool(2, args=2, result="x")) == []
    assert marks(tool(1, args=1, result=False), tool(2, args=1, result="x", came="y")) == []


def test_a_loop_is_marked_where_it_begins_again() -> None:
    pair = [act for n in range(3) for act in (tool(2 * n, "a", n, key="k"), tool(2 * n + 1, "b", n, key="k"))]
    assert [each for each in marks(*pair) if each[1] == "loop"] == [(2, "loop")]
    assert not [each for each in marks(*pair[:4]) if each[1] == "loop"]
    quiet = [Act(n, Sort.OTHER, "clock", "time", key="k", quiet=True) for n in range(5)]
    assert marks(*quiet) == []
    refused = [tool(n, args=1, status=429) for n in range(5)]
    assert not [each for each in marks(*refused) if each[1] == "loop"], "retries"


@pytest.mark.parametrize("failed", [{"error": "RuntimeError: no"}, {"result": "Error: no such order"}, {"status": 500}])
def test_an_error_that_the_answer_does_not_mention_is_marked(failed: dict[str, Any]) -> None:
    bad = tool(2, **failed)
    before = model(1, "", ("search", {}))
    assert (2, "ignored-error") in marks(before, bad, model(3, "Your order has been shipped."))
    for words in (
        "I could not find it.",
        "Sorry, the shop is down.",
        "Leider ging das nicht.",
        "注文は見つかりません エラー",
    ):
        assert (2, "ignored-error") not in marks(before, bad, model(3, words)), words
    assert (2, "ignored-error") not in marks(before, bad, model(3, "", ("search", {})), tool(4), model(5, "Shipped."))
    assert (2, "ignored-error") not in marks(before, bad, model(3, "Shipped.", strand="root/other#1"))


def test_another_persons_id_is_marked_and_an_id_that_was_never_seen() -> None:
    asked = model(1, "", ("orders", {}), heard=("My user id is mia_3668, what did I order?",))
    assert marks(asked, tool(2, "orders", {"user_id": "mia_3668"})) == []
    assert marks(asked, tool(2, "orders", {"user_id": "bob_1122"})) == [(2, "foreign-id")]
    by_run = {"user": "u-17"}
    assert marks(tool(2, "orders", {"customer": {"userId": "u-18"}}), given=by_run) == [(2, "foreign-id")]
    assert marks(tool(2, "orders", {"customer": {"userId": "u-17"}}), given=by_run) == []
    known = tool(2, "orders", {"user_id": "mia_3668"}, {"orders": ["W55-1"]})
    more = model(3, "", ("cancel", {}))
    assert marks(asked, known, more, tool(4, "cancel", {"order_id": "W55-1"})) == []
    assert marks(asked, known, more, tool(4, "cancel", {"order_id": "W55-2"})) == [(4, "foreign-id")]
    assert marks(asked, known, more, tool(4, "cancel", {"order_id": "W55-2"}), whole=False) == []
    assert marks(asked, known, more, tool(4, "cancel", {"request_id": "a8f1-22"})) == []


def test_what_is_cut_off_or_no_json_is_marked() -> None:
    assert marks(model(1, "and so", finish="length")) == [(1, "cut-off")]
    assert marks(model(1, "and so", finish="stop")) == []
    assert marks(model(1, '{"a": 1', promised_json=True)) == [(1, "cut-off")]
    assert marks(model(1, '```json\n{"a": 1}\n```', promised_json=True)) == []
    assert marks(model(1, "", ("refund", '{"order": "W'))) == [(1, "cut-off")]
    assert marks(tool(1, result="<html>", json=True)) == [(1, "cut-off")]
    assert marks(tool(1, result={"a": 1}, json=True)) == []
    assert marks(tool(1, result='{"a": 1}\n{"a": 2}\n', json=True)) == [], "lines of JSON"
    assert marks(tool(1, missing=12)) == [(1, "cut-off")]
    assert is_cut('{"a": [1, 2') and is_cut('[{"a": "b')
    assert not is_cut('{"a": 1}') and not is_cut("[1] is a footnote") and not is_cut("{braces}")


def test_a_429_is_marked_at_the_edge_of_an_hour_only() -> None:
    for past, hit in ((0, True), (119, True), (121, False), (1800, False), (3500, True)):
        found = marks(tool(1, status=429, at_us=HOUR + past * 1_000_000))
        assert ((1, "hour-limit") in found) is hit, past
    assert (1, "hour-limit") not in marks(tool(1, status=429))


@pytest.mark.parametrize(
    ("asked", "answered", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("gpt-4o", "gpt-4o-mini-2024-07-18", False),
        ("gpt-4o-2024-08-06", "gpt-4o-2024-05-13", False),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", True),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022", True),
        ("claude-3-5-sonnet-latest", "claude-3-5-haiku-20241022", False),
        ("mistral-large-latest", "mistral-large-2411", True),
        ("models/gemini-2.0-flash", "gemini-2.0-flash-001", True),
        ("openai/gpt-4.1", "gpt-4.1-2025-04-14", True),
        ("us.anthropic.claude-3-haiku-20240307-v1:0", "claude-3-haiku-20240307", True),
        ("llama3.2", "llama3.2:latest", True),
        ("gpt-4", "gpt-4.1", False),
    ],
)
def test_a_release_is_the_same_model_and_another_is_not(asked: str, answered: str, same: bool) -> None:
    assert is_same_model(asked, answered) is same
    found = marks(model(1, "hi", asked=asked, answered=answered, provider="openai"))
    assert found == ([] if same else [(1, "other-model")])
    assert marks(model(1, "hi", asked=asked, answered=answered, provider="azure")) == []


def test_an_answer_that_nothing_supports_is_a_hint() -> None:
    asked = model(1, "", ("price", {}), heard=("What do two of them cost?",))
    got = tool(2, "price", {"sku": "lamp"}, {"price": 120.5, "order": "W-2231"})
    assert marks(asked, got, model(3, "One costs $120.50, two are $241.00.")) == []
    assert marks(asked, got, model(3, "One costs $135.")) == [(3, "unsupported-answer")]
    assert marks(asked, got, model(3, "It is order W-9931.")) == [(3, "unsupported-answer")]
    assert marks(asked, got, model(3, "It is order w-2231.")) == []
    assert marks(asked, got, model(3, "One costs $135."), whole=False) == []
    assert marks(asked, model(3, "One costs $135.")) == [], "no tool gave anything"


def test_evidence_knows_the_last_digits_of_an_id_and_sums() -> None:
    evidence = SuspicionEvidence()
    evidence.add({"card": "credit_card_4421486", "prices": [142, 170, 255]})
    for text in ("card 4421486", "ending in 1486", "312 for two", "567 in all", "HALF: 127.5"):
        assert first_unseen(text, evidence) == "", text
    assert first_unseen("it costs 313", evidence) == "313"


def test_settings_turn_rules_off_and_take_ones_of_the_project() -> None:
    assert chosen_rules({"loop": False, "repeat": "on", "mine": "rules:mine"}) == {
        "loop": "off",
        "repeat": "on",
        "mine": "rules:mine",
    }
    for wrong in ({"lop": "off"}, {"loop": 3}, {"mine": "rules"}, {"loop": "rules:mine"}):
        with pytest.raises(ValueError, match="is wrong"):
            chosen_rules(wrong)
