"""Builders say what their names say, quote what must be quoted, and give nothing that an expression could not say."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.abc.store import Recording
from reenact.errors import UsageError
from reenact.testing import expecting
from reenact.testing.expectations.expectation import Expectation, expect
from reenact.testing.expectations.expression_text import spelled
from tests.expectations.conftest import recorded, search_docs


def grader(run: Any) -> bool:
    """A grader at the top of a module."""
    return True


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (expecting.call("search_docs"), "calls(search_docs) >= 1"),
        (expecting.call("GET a.test", times=0), "calls('GET a.test') == 0"),
        (expecting.call("x", at_least=1, at_most=3), "calls(x) >= 1 and calls(x) <= 3"),
        (expecting.each_call("f", user_id="u1", n=[1, None]),
         "calls(f) >= 1 and all(a['user_id'] == 'u1' and a['n'] == [1, None] for a in args(f))"),
        (expecting.each_call("f"), "calls(f) >= 1"),
        (expecting.in_order("a", "b-c"), "order(a, 'b-c')"),
        (expecting.never_before("refund", "check"), "before(check, refund)"),
        (expecting.no_loop(), "repeats <= 3"),
        (expecting.no_loop("f", at_most=1), "repeats(f) <= 1"),
        (expecting.all_answered(), "unanswered == 0"),
        (expecting.answer(), "answer != None"),
        (expecting.answer(contains="it's", lacks="\n"), "\"it's\" in answer and '\\n' not in answer"),
        (expecting.answer(matches=r"\d+", equals={"a": 1.5}), "matches(answer, '\\\\d+') and answer == {'a': 1.5}"),
        (expecting.answer(conforms={"type": "object"}), "conforms(json(answer), {'type': 'object'})"),
        (expecting.state("rerank", docs=[]), "state(rerank)['docs'] == []"),
        (expecting.state("rerank"), "state(rerank) != None"),
        (expecting.limits(tokens=100, cost=0.5, seconds=2), "tokens <= 100 and cost <= 0.5 and duration <= 2"),
        (expecting.graded("graders:polite", 0.7), "grade('graders:polite', 0.7)"),
        (expecting.graded(grader), "grade('tests.expectations.test_expecting:grader')"),
        (expecting.judged("it's kind", model="m"), "judge(\"it's kind\", 'm')"),
        (expecting.judged("kind", model="m", at_least=0.9), "judge('kind', 'm', 0.9)"),
    ],
)  # fmt: skip
def test_a_builder_writes_the_expression(made: Expectation, text: str) -> None:
    assert made == expect(text)


def test_what_they_build_fails_where_it_should(bad: Recording, fixed: Recording) -> None:
    for made in (
        expecting.call("search_docs", at_most=3), expecting.each_call("get_order", user_id="u1"), expecting.no_loop(),
        expecting.answer(contains="documents"), expecting.state("search", searches=1),
        expecting.never_before("refund", "check"),
    ):  # fmt: skip
        assert made.judge(bad).holds is False, made
    assert expecting.answer(matches="(?i)DOCUMENTS", lacks="refund").judge(fixed).holds
    assert expecting.graded(grader).judge(fixed).holds


@cache
def _once() -> Recording:
    return recorded(lambda: search_docs("x"))


@given(name=st.text(min_size=1, max_size=12).filter(lambda name: name.strip()))
def test_any_name_is_quoted_rightly(name: str) -> None:
    assert expecting.call(name, times=0).judge(_once()).holds is (name != "search_docs")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(value=JSON)
def test_any_data_are_written_out_rightly(value: Any) -> None:
    try:
        made = expect(f"{spelled(value)} == None")
    except UsageError as error:
        assert "too large" in error.message or "characters" in error.message
        return
    found = made.compiled().root
    assert made.compiled().evaluation(None).run(found.left) == value  # type: ignore[arg-type, attr-defined]


def test_a_long_schema_travels_beside_the_text() -> None:
    schema = {"enum": [f"value number {n}" for n in range(200)]}
    made = expecting.answer(conforms=schema)
    assert made.text == "conforms(json(answer), '@schema')"
    assert Expectation.from_json(made.to_json()).files == {"@schema": schema}


def test_an_answer_of_text_is_read_as_json(fixed: Recording) -> None:
    verdict = expecting.answer(conforms={"type": "object"}).judge(fixed)
    assert verdict.holds is False and verdict.seen.startswith("json(answer) is unknown")


@pytest.mark.parametrize(
    "make",
    [
        lambda: expecting.limits(),
        lambda: expecting.graded(lambda run: True),
        lambda: expecting.answer(equals=object()),
        lambda: expecting.answer(equals=float("nan")),
        lambda: expecting.answer(conforms={"typo": 1}),
        lambda: expecting.answer(matches="("),
        lambda: expecting.in_order("one"),
    ],
)
def test_what_cannot_be_said_is_refused_at_once(make: Any) -> None:
    with pytest.raises(UsageError):
        make()
