"""A recorded tool answers exactly what was asked of it, in every colour, and nothing else; what differs sticks."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reenact
from reenact.abc.store import Recording
from reenact.errors import Divergence, UnreplayableRun, UsageError
from reenact.store.memory_store import MemoryStore
from reenact.testing import recorded_tool

FORBIDDEN: list[str] = []


@dataclass
class Order:
    """A result with a type of its own."""

    number: int
    total: Decimal


class NoSuchOrder(LookupError):
    """An error with a class of its own."""


def _world() -> None:
    if FORBIDDEN:
        raise AssertionError("the real tool ran")


@reenact.tool(effect="read")
def search(query: str, limit: int = 10) -> dict[str, Any]:
    _world()
    return {"docs": [query] * min(limit, 2)}


@reenact.tool(effect="read")
def order(number: int) -> Order:
    _world()
    if number < 0:
        raise NoSuchOrder(number)
    return Order(number, Decimal("12.50"))


@reenact.tool
async def pay(number: int) -> str:
    _world()
    await asyncio.sleep(0)
    return f"paid {number}"


@reenact.tool(effect="read")
def pages(topic: str) -> Iterator[str]:
    _world()
    yield f"{topic} 1"
    yield f"{topic} 2"
    return


@reenact.tool(effect="read")
async def stream(topic: str) -> AsyncIterator[int]:
    _world()
    for n in range(3):
        yield n


@reenact.tool(effect="read")
def fill(basket: list[str], what: str) -> int:
    _world()
    basket.append(what)
    return len(basket)


@reenact.retriever(embedding_model="none")
def retrieve(query: str) -> list[dict[str, Any]]:
    _world()
    return [{"id": query, "score": 1.0, "content": "text"}]


@reenact.tool(effect="read")
def call_with(token: str) -> str:
    _world()
    return "ok"


@pytest.fixture(autouse=True)
def no_world() -> Iterator[None]:
    """While a test uses stubs, no real tool may run."""
    yield
    FORBIDDEN.clear()


def recorded(play: Callable[[], Any]) -> Recording:
    """A run of ``play``; from then on the real tools are forbidden."""
    store = MemoryStore()
    FORBIDDEN.clear()
    with reenact.record(store=store) as run:
        play()
    FORBIDDEN.append("yes")
    return store.open(store.run(run.id))


def searches() -> None:
    search("refunds")
    search("shipping", limit=1)
    search("refunds")


def test_it_answers_as_recorded_in_any_order() -> None:
    with recorded_tool(recorded(searches), "search", search) as stub:
        assert stub("shipping", 1) == {"docs": ["shipping"]}
        assert stub(query="refunds", limit=10) == stub("refunds") == {"docs": ["refunds", "refunds"]}
        assert stub.used == (1, 0, 2) and stub.unused == ()


def test_without_the_function_arguments_go_by_their_recorded_names() -> None:
    run = recorded(searches)
    with recorded_tool(run, "search") as stub:
        assert stub("shipping", 1) == {"docs": ["shipping"]}
        assert stub("refunds", limit=10) == stub(limit=10, query="refunds") == {"docs": ["refunds", "refunds"]}
    with pytest.raises(Divergence, match="limit"):
        recorded_tool(run, "search")("refunds")  # the default that the recording holds is known to the function alone


@pytest.mark.parametrize(
    ("args", "options", "path"),
    [
        (("refund",), {}, "arguments.query"),
        (("refunds", 11), {}, "arguments.limit"),
        (("refunds", "10"), {}, "arguments.limit"),
        ((["refunds"],), {}, "arguments.query"),
    ],
)
def test_another_question_is_a_divergence_that_names_the_difference(
    args: tuple[Any, ...], options: dict[str, Any], path: str
) -> None:
    stub = recorded_tool(recorded(searches), "search", search)
    with pytest.raises(Divergence) as caught:
        stub(*args, **options)
    assert caught.value.path.startswith(path) and caught.value.event in (0, 1, 2)
    assert "recorded" in str(caught.value) and "now" in str(caught.value) and caught.value.next_command


def test_arguments_that_the_function_does_not_take_are_no_answer() -> None:
    stub = recorded_tool(recorded(searches), "search", search)
    with pytest.raises(TypeError, match="too many"):
        stub("refunds", 10, "too many")
    with pytest.raises(TypeError, match="surplus"):
        stub("refunds", 10, surplus=True)
    assert stub.used == ()
    for args, options in ((("refunds", 10, "too many"), {}), (("refunds", 10), {"surplus": True})):
        with pytest.raises(Divergence):
            recorded_tool(recorded(searches), "search")(*args, **options)


def test_one_call_too_many_is_told_from_another_question() -> None:
    stub = recorded_tool(recorded(searches), "search", search)
    stub("refunds"), stub("refunds")
    with pytest.raises(Divergence) as caught:
        stub("refunds")
    assert caught.value.reason == "added"
    assert "recorded 2 times with these arguments" in caught.value.cause


def test_a_divergence_sticks_whatever_the_code_under_test_catches() -> None:
    with pytest.raises(Divergence, match=r"differs at arguments\.query"):
        with recorded_tool(recorded(searches), "search", search) as stub:
            for query in ("refunds", "typo", "shipping"):
                try:
                    stub(query)
                except Exception:
                    continue
    assert stub.used == (0,), "after it nothing is answered any more"


def test_an_error_made_of_it_does_not_hide_it() -> None:
    with pytest.raises(Divergence) as caught:
        with recorded_tool(recorded(searches), "search", search) as stub:
            try:
                stub("typo")
            except Divergence:
                raise ValueError("the agent gave up") from None
    assert isinstance(caught.value.__cause__, ValueError)


def test_recorded_calls_that_were_not_made_are_named_at_the_end() -> None:
    with pytest.raises(
        Divergence, match=r"2 of 3 recorded calls of search were not made: #1 .*shipping.*, and #2"
    ) as caught:
        with recorded_tool(recorded(searches), "search", search) as stub:
            stub("refunds")
    assert caught.value.reason == "missing" and caught.value.event == 1
    with recorded_tool(recorded(searches), "search", search, all_used=False):
        pass
    with pytest.raises(KeyError):
        with recorded_tool(recorded(searches), "search", search):
            raise KeyError("the test's own failure comes first")


def test_in_order_means_the_next_recorded_question_and_no_other() -> None:
    run = recorded(searches)
    with recorded_tool(run, "search", search, in_order=True) as stub:
        stub("refunds"), stub("shipping", 1), stub("refunds")
    with pytest.raises(Divergence, match="differs at arguments"):
        recorded_tool(run, "search", search, in_order=True)("shipping", 1)


def test_equal_questions_get_their_answers_in_the_recorded_order() -> None:
    said = iter(["first", "second"])

    @reenact.tool(effect="read")
    def ask(what: str) -> str:
        return next(said)

    run = recorded(lambda: [ask("same"), ask("same")])
    with recorded_tool(run, "ask", ask) as stub:
        assert [stub("same"), stub("same")] == ["first", "second"]


def test_results_and_errors_are_of_the_types_they_were() -> None:
    def play() -> None:
        order(5)
        with pytest.raises(NoSuchOrder):
            order(-1)

    with recorded_tool(recorded(play), "order", order) as stub:
        assert stub(5) == Order(5, Decimal("12.50"))
        with pytest.raises(NoSuchOrder) as caught:
            stub(-1)
        assert caught.value.args == (-1,)


def test_a_type_that_nobody_declares_is_not_made_up() -> None:
    with pytest.raises(UnreplayableRun):
        with recorded_tool(recorded(lambda: order(5)), "order") as stub:
            try:
                stub(5)
            except UnreplayableRun:
                pass


def test_every_colour_of_function() -> None:
    async def play() -> None:
        search("x")
        await pay(7)
        list(pages("refunds"))
        [n async for n in stream("s")]
        retrieve("q")

    run = recorded(lambda: asyncio.run(play()))

    async def use() -> None:
        async with recorded_tool(run, "pay", pay) as paid:
            assert inspect.iscoroutinefunction(paid.stub) and await paid(7) == "paid 7"
        async with recorded_tool(run, "pay", asynchronous=True) as paid:
            assert await paid(number=7) == "paid 7"
        with recorded_tool(run, "stream", stream) as streamed:
            assert inspect.isasyncgenfunction(streamed.stub) and [n async for n in streamed("s")] == [0, 1, 2]

    asyncio.run(use())
    with recorded_tool(run, "pages", pages) as paged:
        assert inspect.isgeneratorfunction(paged.stub) and list(paged("refunds")) == ["refunds 1", "refunds 2"]
    with recorded_tool(run, "retrieve", retrieve) as retrieved:
        assert retrieved("q")[0]["content"] == "text"
    with pytest.raises(UsageError, match="one by one"):
        recorded_tool(run, "pages")


def test_nothing_is_read_past_what_the_recorded_reader_read() -> None:
    run = recorded(lambda: next(pages("refunds")))
    stub = recorded_tool(run, "pages", pages)
    reading = stub("refunds")
    assert next(reading) == "refunds 1"
    with pytest.raises(Divergence, match="has no further items"):
        next(reading)


def test_what_a_call_changed_in_its_arguments_is_changed_again() -> None:
    run = recorded(lambda: fill(["apple"], "pear"))
    basket = ["apple"]
    with recorded_tool(run, "fill", fill) as stub:
        assert stub(basket, "pear") == 2 and basket == ["apple", "pear"]


def test_a_credential_among_the_arguments_is_compared_as_redacted() -> None:
    secret = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"
    run = recorded(lambda: call_with(secret))
    assert secret.encode() not in run.body(run.event(0).request)
    with recorded_tool(run, "call_with", call_with) as stub:
        assert stub(secret) == "ok"


def test_a_credential_of_the_environment_may_be_another_one_today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "yesterdays-Word-4711-xq")
    run = recorded(lambda: call_with("yesterdays-Word-4711-xq"))
    monkeypatch.setenv("SHOP_API_KEY", "todays-Word-0815-zk")
    with recorded_tool(run, "call_with", call_with) as stub:
        assert stub("todays-Word-0815-zk") == "ok"
    with pytest.raises(Divergence):
        recorded_tool(run, "call_with", call_with)("a third one")


def test_values_that_cannot_be_kept_do_not_take_part() -> None:
    @reenact.tool(effect="read")
    def give(client: object, query: str) -> str:
        return query

    run = recorded(lambda: give(object(), "q"))
    with recorded_tool(run, "give", give) as stub:
        assert stub(object(), "q") == "q"
    with pytest.raises(Divergence):
        recorded_tool(run, "give", give)(object(), "other")


def test_threads_share_one_stub() -> None:
    run = recorded(lambda: [search(f"q{n % 5}") for n in range(50)])
    with recorded_tool(run, "search", search) as stub, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: (n, stub(f"q{n % 5}")), range(50)))
    assert all(answer["docs"][0] == f"q{n % 5}" for n, answer in answers) and len(set(stub.used)) == 50


@cache
def _asked(count: int) -> Recording:
    return recorded(lambda: [search(f"q{n}") for n in range(count)])


@given(st.permutations(range(6)), st.integers(1, 6))
def test_whatever_is_asked_gets_its_own_answer_or_none(asked: list[int], known: int) -> None:
    stub = recorded_tool(_asked(known), "search", search, all_used=False)
    for n in asked:
        if n < known:
            assert stub(f"q{n}") == {"docs": [f"q{n}", f"q{n}"]}
        else:
            with pytest.raises(Divergence):
                stub(f"q{n}")
            return


def test_a_reference_is_looked_up_in_a_store(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    with reenact.record(store=url) as run:
        search("x")
    for source, store in ((run.id[10:], url), ("@", url), (run, url)):
        with recorded_tool(source, "search", search, store=store) as stub:
            assert stub("x") == {"docs": ["x", "x"]}
    monkeypatch.setenv("REENACT_STORE", url)
    assert recorded_tool("@", "search")("x", 10) == {"docs": ["x", "x"]}
    with pytest.raises(UsageError, match="did you mean search"):
        recorded_tool("@", "serch")
    with reenact.open_store(url) as opened:
        assert recorded_tool("@", "search", search, store=opened)("x")
        assert opened.run("@").id == run.id, "a store of the caller's stays open"


def test_what_no_function_can_answer_is_refused() -> None:
    def play() -> None:
        with reenact.step("plan"):
            pass

        @reenact.tool(effect="none")
        def count() -> Iterator[int]:
            yield 1

        list(count())

    run = recorded(play)
    with pytest.raises(UsageError, match="a call of kind step"):
        recorded_tool(run, "plan")

    def count() -> Iterator[int]:
        yield 1

    with pytest.raises(UsageError, match="computes only"):
        recorded_tool(run, "count", count)


def test_a_call_that_got_no_answer_gives_none() -> None:
    async def play() -> None:
        @reenact.tool(effect="read", name="waits")
        async def forever(what: str) -> None:
            await asyncio.Event().wait()

        task = asyncio.create_task(forever("x"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()

    run = recorded(lambda: asyncio.run(play()))
    with pytest.raises(Divergence, match="has no further items"):
        asyncio.run(recorded_tool(run, "waits", asynchronous=True)(what="x"))
