"""Decisions about differences count for what they were taken on, in any order; a call that had failed is known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.call import Call, Effect, End, EndKind, ErrorFact, Failure, Kind, Outcome, Stream, Value
from reenact.facts.event import Event
from reenact.testing.goldens.acceptance import accepted, concluded, decided, left_open
from reenact.testing.goldens.golden_differences import Category, GoldenDifference, has_failed
from reenact.testing.goldens.golden_trace import Golden

DIGESTS = st.sampled_from(["a" * 32, "b" * 32])


@st.composite
def differences(draw: st.DrawFn) -> list[GoldenDifference]:
    """Differences of one golden, in its order: events of the golden, calls that it has not, many of them alike."""
    made = []
    for number in range(draw(st.integers(1, 7))):
        category = draw(st.sampled_from([Category.CREATE, Category.TRIM, Category.UPDATE]))
        event = None if category is Category.CREATE else number
        today = None if category is Category.TRIM else number + draw(st.integers(0, 1)) * 10
        old = "" if event is None else draw(DIGESTS)
        new = "" if today is None else draw(DIGESTS)
        made.append(GoldenDifference(category, event, today, "tool search", "", None, None, old, new))
    return made


@given(differences(), st.data())
def test_in_whichever_order_and_parts_the_same_golden_comes_of_it(
    found: list[GoldenDifference], data: st.DataObject
) -> None:
    reasons = {each.place: f"because of {each.place}" for each in found}
    golden = decided(Golden("g"), found, reasons, "now", "rev")
    at_once = concluded(golden, "now", "rev", "old", "new")
    assert left_open(golden, found) == () and golden.pending == tuple(accepted(found, golden.pending).values())
    golden = Golden("g")
    for place in data.draw(st.permutations(list(reasons))):
        assert place in {each.place for each in left_open(golden, found)}
        golden = decided(golden, found, {place: reasons[place]}, "now", "rev")
        assert place not in {each.place for each in left_open(golden, found)}
    assert concluded(golden, "now", "rev", "old", "new") == at_once
    assert Golden.from_json(at_once.to_json()) == at_once


@given(differences(), st.data())
def test_a_difference_that_has_become_another_one_is_open_again(
    found: list[GoldenDifference], data: st.DataObject
) -> None:
    golden = decided(Golden("g"), found, {each.place: "meant" for each in found}, "now", "rev")
    at = data.draw(st.integers(0, len(found) - 1))
    other = replace(found[at], new="c" * 32, today=found[at].today or 99)
    changed = [*found[:at], other, *found[at + 1 :]]
    assert left_open(golden, changed) == (other,)
    assert len(decided(golden, changed, {}, "later", "rev").pending) == len(found) - 1, "it is forgotten"


@given(differences())
def test_a_new_call_is_known_again_where_others_have_moved_it(found: list[GoldenDifference]) -> None:
    golden = decided(Golden("g"), found, {each.place: "meant" for each in found}, "now", "rev")
    moved = [each if each.event is not None else replace(each, today=(each.today or 0) + 100) for each in found]
    assert left_open(golden, moved) == ()


@pytest.mark.parametrize(
    ("outcome", "failed"),
    [
        (Value(b"null"), False),
        (Failure(ErrorFact("builtins.OSError", "gone", None)), True),
        (None, True),
        (Stream({"status": 200}, End(EndKind.EOF)), False),
        (Stream({"status": 200}, End(EndKind.CLOSED)), False),
        (Stream({"status": 429}, End(EndKind.EOF)), True),
        (Stream({"status": 200}, End(EndKind.ERROR)), True),
        (Stream({"status": 200}, None), True),
    ],
)
def test_a_call_has_failed_that_raised_was_refused_broke_off_or_never_came_back(
    outcome: Outcome | None, failed: bool
) -> None:
    call = Call(Kind.HTTP, "GET docs", Effect.READ, "http/1")
    assert has_failed(Event("x", 0, "root", 0, None, call, outcome=outcome)) is failed
