"""Marked tests, the first of which leaves the working directory changed."""

import os

import pytest


@pytest.mark.reenact("refund-loop")
def test_first(tmp_path):
    os.chdir(tmp_path)


@pytest.mark.reenact("refund-loop")
def test_judged(replayed):
    assert replayed.outcome.boundaries == 2


@pytest.mark.reenact("same/greeting")
def test_same(replayed):
    assert replayed.outcome.status == "passed"


@pytest.mark.reenact("graded")
def test_graded():
    pass
