"""A marked test runs its golden and is judged by it: before its body, with or without the fixture, in any form."""

from __future__ import annotations

from tests.plugin.desk import Desk

FIXED = ("SEARCHES = 5", "SEARCHES = 1")
ONE = """
import pytest

@pytest.mark.reenact("refund-loop")
def test_it():
    print("the body ran")
"""


def test_a_golden_that_does_not_pass_fails_its_test_in_its_own_words(desk: Desk) -> None:
    desk.write("tests/test_it.py", ONE)
    ended = desk.pytest()
    assert (ended.code, ended.counts["failed"]) == (1, 1), ended.out
    assert "the body ran" not in ended.out
    assert "golden refund-loop failed\ncalls(search_docs) = 5, expected <= 2" in ended.out
    assert "_reenact_pytest" not in ended.out and "reenact/testing" not in ended.out
