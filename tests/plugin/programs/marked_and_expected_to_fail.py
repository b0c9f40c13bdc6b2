"""Marked tests with a body, some expected to fail or not run."""

import pytest


@pytest.mark.reenact("refund-loop")
def test_without_the_fixture():
    print("a body ran")


@pytest.mark.reenact("refund-loop")
def test_with_it(replayed):
    print("a body ran")


@pytest.mark.xfail(strict=True)
@pytest.mark.reenact("refund-loop")
def test_known():
    print("a body ran")


@pytest.mark.xfail(run=False)
@pytest.mark.reenact("refund-loop")
def test_not_run():
    print("a body ran")


@pytest.fixture
def early(replayed):
    assert len(replayed.calls("search_docs")) == 5


@pytest.mark.reenact("refund-loop")
def test_looked_at_by_a_fixture(early):
    print("a body ran")
