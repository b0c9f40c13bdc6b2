"""A divergence points at what differs, where it differs, and never at what redaction made of the same credential."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from reenact.facts.abridging import abridged
from reenact.facts.call import Call, Effect, Kind, Value
from reenact.facts.difference import first_difference
from reenact.facts.event import Event
from reenact.facts.values import encode
from reenact.replaying.divergence import added, asked, changed, missing, result_differs


def test_stand_ins_of_one_class_are_no_difference() -> None:
    recorded = asked({"url": "http://u:~rxuatgfpyviisa~@host/x?api_key=~rxnfebsaztmnld~"}, b'{"a":1}', Kind.HTTP)
    now = asked({"url": "http://u:~rxu~@host/x?api_key=~rxn~"}, b'{"a":2}', Kind.HTTP)
    assert recorded["url"] == now["url"]
    assert first_difference(recorded, now) == "body.a"


def _parted(before: str, after: str) -> list[str]:
    head = {"method": "POST", "url": "http://host/x"}

    def call(prompt: str) -> Call:
        body = json.dumps({"prompt": prompt}).encode()
        return Call(Kind.HTTP, "POST host/x", Effect.READ, "http/1", head, body)

    recorded = Event("run", 3, "root", 3, None, call(before))
    told = changed(recorded, recorded.call.body, call(after), "reenact show @:3")
    return [line for line in str(told).splitlines() if line.startswith(("  recorded", "  now"))]


def test_two_long_texts_are_shown_where_they_part() -> None:
    common = "the same instructions as ever. " * 60
    recorded, now = _parted(common + "Be kind." + "x" * 900, common + "Be terse." + "x" * 900)
    assert "Be kind." in recorded and "Be terse." in now
    assert "instructions as ever" in recorded and max(len(recorded), len(now)) < 400
    assert f"({len(common) + 908} characters)" in recorded


def test_each_side_stays_on_one_line() -> None:
    recorded, now = _parted("one\ntwo", "one\nthree")
    assert recorded == '  recorded  "one\\ntwo"' and now == '  now       "one\\nthree"'


@pytest.mark.parametrize(
    ("before", "after", "recorded", "now"),
    [
        (Decimal("19.90"), 19.9, 'decimal "19.90"', "19.9"),
        (Decimal("19.90"), "19.90", 'decimal "19.90"', '"19.90"'),
        ("7", 7, '"7"', "7"),
        ("a b", "a c", "a b", "a c"),
        (None, "a b", "null", "a b"),
        ((1, 2), [1, 2], "tuple [1, 2]", "[1, 2]"),
    ],
)
def test_two_values_that_differ_by_their_type_are_shown_with_it(
    before: object, after: object, recorded: str, now: str
) -> None:
    def call(value: object) -> Call:
        return Call(Kind.TOOL, "pay", Effect.WRITE, "tool/1", {"tool": "pay"}, encode({"amount.due": value}).body)

    event = Event("run", 3, "root", 3, None, call(before))
    told = changed(event, event.call.body, call(after), "reenact show @:3")
    assert str(told).splitlines()[:3] == [
        "diverged at event 3: tool pay differs at arguments.amount~1due",
        f"  recorded  {recorded}",
        f"  now       {now}",
    ]
    was, body = encode(before), encode(after)
    ended = result_differs(event, Value(was.body), was.body, Value(body.body), "reenact show @:3")
    assert str(ended).splitlines()[1:3] == [f"  recorded  {recorded}", f"  now       {now}"]


def test_of_large_values_a_divergence_keeps_what_lies_along_the_difference() -> None:
    def arguments(status: str) -> dict[str, object]:
        orders: dict[str, dict[str, Any]] = {
            f"#W{n}": {"status": "pending", "items": ["x" * 90] * 9} for n in range(3000)
        }
        orders["#W2000"] = {"status": status, "items": [1, 2]}
        return {"db": {"users": {}, "orders": orders}, "user": "ann"}

    def call(status: str) -> Call:
        return Call(Kind.TOOL, "look", Effect.READ, "tool/1", {"tool": "look"}, json.dumps(arguments(status)).encode())

    recorded = Event("run", 3, "root", 3, None, call("pending"))
    told = changed(recorded, recorded.call.body, call("cancelled"), "reenact show @:3")
    assert told.path == "arguments.db.orders.#W2000.status" and "cancelled" in str(told)
    assert told.now["arguments"]["db"]["orders"]["#W2000"] == {"status": "cancelled", "items": [1, 2]}
    assert told.recorded["arguments"]["db"]["orders"]["#W1"] == "… (2 members)"
    assert told.now["arguments"]["db"]["orders"]["…"] == "(2979 members more)"
    assert told.now["arguments"]["user"] == "ann" and len(json.dumps(told.now)) < 4000
    for one in (missing(recorded, recorded.call.body, "reenact show @:3"), added(call("x"), "root", "reenact show @")):
        assert (one.recorded or one.now)["arguments"] == {"db": "… (2 members)", "user": "ann"}


def test_a_large_value_is_cut_along_its_path() -> None:
    value = {"list": [{"text": "a" * 900}, {"text": "b" * 900, "rest": {str(n): n for n in range(99)}}, 3, 4]}
    assert abridged(value, "list.1.text") == {
        "list": ["… (1 members)", {"text": "b" * 900, "rest": "… (99 members)"}, "… (2 members more)"]
    }
    assert abridged({"a.b": {"~": 1}}, "a~1b.~0") == {"a.b": {"~": 1}}
    assert abridged(["a" * 900, *range(30)], "") == [
        "a" * 200 + "… (900 characters)", *range(19), "… (11 members more)"
    ]  # fmt: skip
