"""Tests that are marked in every form there is."""

import asyncio
import unittest

import pytest


@pytest.mark.reenact("refund-loop")
def test_without_the_fixture():
    print("a body ran")


@pytest.mark.reenact("refund-loop")
def test_with_it(replayed):
    calls = replayed.calls("search_docs")
    asked = {"query": "What is your refund policy?"}
    assert [(c.name, c.arguments, c.result, c.error) for c in calls] == [
        ("search_docs", asked, {"docs": [], **asked}, None)
    ]
    assert replayed.events[calls[0].event].name == "search_docs" and replayed.calls("nothing") == []
    assert replayed.output == "I don't have any documents."
    assert replayed.state("search") == replayed.state() == replayed.state(0) == {"docs": [], "searches": 1}
    assert [step.name for step in replayed.steps] == ["search"]
    assert replayed.outcome.status == "passed" and replayed.outcome.boundaries == 2
    assert (replayed.verdict, replayed.matched, replayed.live_calls, replayed.unused) == ("fork", 2, 0, None)
    assert replayed.run.agent == "shop" and replayed.divergence is None and replayed.enforcement
    with pytest.raises(Exception, match=r"no step 'rerank' left a state.*\n.*the steps are search"):
        replayed.state("rerank")


@pytest.mark.reenact("refund-loop")
@pytest.mark.anyio
async def test_async(replayed):
    await asyncio.sleep(0)
    assert len(replayed.calls("search_docs")) == 1


@pytest.mark.reenact("refund-loop")
class TestGrouped:
    @pytest.mark.parametrize("number", [1, 2])
    def test_method(self, replayed, number):
        assert replayed.state()["searches"] < number + 1


class TestOld(unittest.TestCase):
    @pytest.mark.reenact("refund-loop")
    def test_old(self):
        pass


@pytest.mark.reenact("same/*")
def test_pattern(replayed):
    assert replayed.outcome.name == "same/greeting"
    assert (replayed.verdict, replayed.output, replayed.unused) == ("exact", "Welcome!", 0)


@pytest.mark.reenact("refund-loop", "not-there")
@pytest.mark.parametrize("word", ["x"])
def test_several(replayed, word):
    assert replayed.outcome.name == "refund-loop"


@pytest.mark.reenact("nothing/*")
def test_pattern_of_nothing():
    pass


@pytest.mark.reenact("refund-lop")
def test_typing_mistake():
    pass


@pytest.mark.reenact("refund-loop")
def test_body_fails(replayed):
    assert replayed.output == "something else"


def test_unmarked(replayed):
    pass


@pytest.fixture
def anyio_backend():
    return "asyncio"
