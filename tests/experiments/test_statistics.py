"""Proves that shares have the intervals that Wilson gives them, and that tallies and thresholds count rightly."""

from __future__ import annotations

from math import isclose, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import UsageError
from reenact.testing.experiments.cell import CellResult, Status
from reenact.testing.experiments.cell_tally import CellTally
from reenact.testing.experiments.result_table import total_lines
from reenact.testing.experiments.statistics import Z95, TrialShare, difference, wilson
from reenact.testing.experiments.threshold import ThresholdScope, explained, threshold


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (5, 10, 0.2366, 0.7634),
        (81, 263, 0.2553, 0.3662),
        (1, 1, 0.2065, 1),
    ],
)
def test_intervals_are_those_of_the_literature(hits: int, of: int, low: float, high: float) -> None:
    """81 of 263: Newcombe, Statistics in Medicine 17 (1998), table I, method 3."""
    assert wilson(hits, of) == pytest.approx((low, high), abs=5e-5)


@given(of=st.integers(1, 5_000), data=st.data())
def test_the_ends_are_where_a_test_of_the_share_would_just_not_reject(of: int, data: st.DataObject) -> None:
    """Which is what the interval is made from: |share - p| = z sqrt(p (1 - p) / n) at each end p."""
    hits = data.draw(st.integers(0, of))
    low, high = wilson(hits, of)
    share = hits / of
    assert 0 <= low <= share <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            assert isclose(abs(share - end), Z95 * sqrt(end * (1 - end) / of), rel_tol=1e-6, abs_tol=1e-9)


def test_of_nothing_everything_may_be() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


def cell(row: str, repeat: int, status: Status, output: str = "", tokens: int | None = 10) -> CellResult:
    return CellResult(row, "a", repeat, status, output=output, tokens=tokens, cost=0.5, duration_us=2_000_000)


MIXED = CellTally(
    "a",
    (
        cell("one", 1, "passed"),
        cell("one", 2, "failed"),
        cell("two", 1, "passed", "x"),
        cell("two", 2, "passed", "y"),
        cell("three", 1, "stale"),
        cell("three", 2, "stale"),
    ),
)


def test_what_could_not_be_run_has_not_passed() -> None:
    assert (MIXED.passed.hits, MIXED.passed.of) == (3, 6)
    assert (MIXED.stale.hits, MIXED.stale.of) == (2, 6)


def test_a_row_is_flaky_when_its_repeats_disagree() -> None:
    assert (MIXED.flaky.hits, MIXED.flaky.of) == (1, 3), "row one alone: what is said does not count where it is judged"
    said = CellTally("a", (cell("one", 1, "ran", "x"), cell("one", 2, "ran", "y"), cell("two", 1, "ran", "x")))
    assert (said.flaky.hits, said.flaky.of, said.passed.of, said.judged) == (1, 2, 0, False)


def test_one_unknown_number_makes_the_sum_unknown() -> None:
    assert (MIXED.tokens, MIXED.cost, MIXED.duration_us) == (60, 3.0, 2_000_000)
    assert CellTally("a", (cell("one", 1, "ran"), cell("two", 1, "ran", tokens=None))).tokens is None
    assert "60" in list(total_lines([MIXED]))[1] and "$3" in list(total_lines([MIXED]))[1]


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("passed(a) >= 0.5", True),
        ("passed('a') > 0.5", False),
        ("surely(a) < passed(a) and stale(a) < 0.4", True),
        ("flaky(a) * 3 == 1", True),
        ("tokens(a) == 60 and cost(a) == 3 and duration(a) == 2", True),
    ],
)
def test_a_threshold_is_judged(text: str, holds: bool) -> None:
    assert threshold(text, ["a"]).holds(ThresholdScope([MIXED])) is holds


def test_a_threshold_over_what_is_unknown_is_unknown() -> None:
    unjudged = CellTally("a", (cell("one", 1, "ran", tokens=None),))
    assert threshold("passed(a) > 0", ["a"]).holds(ThresholdScope([unjudged])) is None
    assert (
        explained(threshold("passed(a) > tokens(a)", ["a"]), [unjudged]) == "passed(a) = unknown, tokens(a) = unknown"
    )


@pytest.mark.parametrize("text", ["passed(b) > 0", "passed > 0", "passed(a).x", "__import__('os')", "best(a)", ""])
def test_what_is_no_threshold_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        threshold(text, ["a"])


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [  # of the paper's table II, method 10, with the second share as the minuend
        ((48, 80), (56, 70), 0.0524, 0.3339),
        ((3, 10), (9, 10), 0.1705, 0.8090),
        ((0, 29), (5, 56), -0.0381, 0.1926),
        ((0, 10), (10, 10), 0.6075, 1.0),
    ],
)
def test_the_interval_of_a_difference_is_the_published_one(
    first: tuple[int, int], second: tuple[int, int], low: float, high: float
) -> None:
    assert difference(TrialShare(*first), TrialShare(*second)) == pytest.approx((low, high), abs=1e-4)
    assert difference(TrialShare(*second), TrialShare(*first)) == pytest.approx((-high, -low), abs=1e-4)


def test_of_nothing_a_difference_may_be_anything() -> None:
    assert (
        difference(TrialShare(0, 0), TrialShare(1, 1)) == difference(TrialShare(1, 1), TrialShare(0, 0)) == (-1.0, 1.0)
    )
