"""Proof that a strand whose function has another name gets its own answers or a divergence, never another's."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import reenact
from tests.order.driver import World, record, replay

Strand = tuple[str, str]
"""Name of a strand's function, and what it asks."""


def _named(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
    work.__name__ = work.__qualname__ = name
    return work


def _tasks(world: World, strands: Sequence[Strand], main: str = "main") -> Any:
    def task(name: str, question: str) -> Any:
        async def work() -> tuple[str, int, int]:
            first = await world.aask(question)
            await asyncio.sleep(0.001)
            return question, first, await world.aask(f"{question} again")

        return _named(name, work)()

    async def work() -> Any:
        return await asyncio.gather(*(task(*strand) for strand in strands))

    return asyncio.run(_named(main, work)())


def _pool(world: World, strands: Sequence[Strand], main: str = "main") -> Any:
    def job(name: str, question: str) -> Any:
        return _named(name, lambda: (question, world.ask(question), world.ask(f"{question} again")))

    with concurrent.futures.ThreadPoolExecutor(len(strands)) as pool:
        return [future.result() for future in [pool.submit(job(*strand)) for strand in strands]]


def _threads(world: World, strands: Sequence[Strand], main: str = "main") -> Any:
    found: dict[int, Any] = {}

    def strand(number: int, name: str, question: str) -> threading.Thread:
        def work() -> None:
            found[number] = (question, world.ask(question), world.ask(f"{question} again"))

        return threading.Thread(target=_named(name, work))

    threads = [strand(number, *each) for number, each in enumerate(strands)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[number] for number in range(len(strands))]


WAYS = {"tasks": _tasks, "pool": _pool, "threads": _threads}
RECORDED = [("one", "a"), ("one", "b"), ("two", "c")]


def _again(way: str, before: Sequence[Strand], now: Sequence[Strand], main: str = "main") -> tuple[Any, Any]:
    """What was seen when it was recorded, and what the replay of other code has proved."""
    recorded = record(lambda world: WAYS[way](world, before))
    return recorded.output, replay(recorded, lambda world: WAYS[way](world, now, main)).replay


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "now",
    [
        [("ask", "a"), ("ask", "b"), ("two", "c")],
        [("ask", "a"), ("ask", "b"), ("other", "c")],
        [("one", "a"), ("one", "b"), ("ask", "c")],
    ],
)
def test_renamed_strands_are_the_same(way: str, now: Sequence[Strand]) -> None:
    seen, replayed = _again(way, RECORDED, now)
    old = {name for name, _ in RECORDED}
    assert (replayed.output, replayed.verdict) == (seen, "same")
    assert replayed.renamed == sum(name not in old for name, _ in now)
    assert f"renamed {replayed.renamed}" in replayed.report.last_line
    # which of several new names starts first is known only by what they ask, when they have started
    assert replayed.report.unproven == () or len({name for name, _ in now} - old) > 1


@pytest.mark.parametrize("way", WAYS)
def test_equal_questions_of_one_name_go_by_number(way: str) -> None:
    before = [("one", "same"), ("one", "same"), ("one", "same")]
    seen, replayed = _again(way, before, [("ask", "same")] * 3)
    assert (replayed.output, replayed.verdict, replayed.renamed) == (seen, "same", 3)


def test_what_a_renamed_strand_waits_for_and_reads_before_its_first_call() -> None:
    def program(world: World, name: str) -> Any:
        async def strand(n: int) -> tuple[int, str, int]:
            await asyncio.sleep(0.001 * n)
            drawn = str(uuid.uuid4())
            await asyncio.sleep(0.001)
            return n, drawn, await world.aask(drawn)

        async def main() -> Any:
            return await asyncio.gather(*(_named(name, strand)(n) for n in range(3)))

        return asyncio.run(main())

    recorded = record(lambda world: program(world, "one"))
    replayed = replay(recorded, lambda world: program(world, "ask")).replay
    assert (replayed.output, replayed.verdict, replayed.renamed) == (recorded.output, "same", 3)
    assert replayed.report.unproven == ()


def test_what_is_paired_already_is_none_of_those_that_start_later() -> None:
    def program(world: World, first: str, inner: str, later: str) -> Any:
        async def strand() -> int:
            return await world.aask("a")

        async def main() -> list[int]:
            return list(await asyncio.gather(_named(inner, strand)()))

        def work() -> None:
            drawn = str(uuid.uuid4())  # before its first call: what it asks does not tell yet which strand it is
            found.append(world.ask(drawn))

        found: list[Any] = asyncio.run(_named(first, main)())
        thread = threading.Thread(target=_named(later, work))
        thread.start()
        thread.join()
        return found

    recorded = record(lambda world: program(world, "main", "one", "work"))
    replayed = replay(recorded, lambda world: program(world, "start", "ask", "think")).replay
    assert (replayed.output, replayed.verdict, replayed.renamed) == (recorded.output, "same", 3)


def test_an_added_strand_that_asks_nothing_is_none_that_was_recorded() -> None:
    def program(world: World, added: bool) -> Any:
        async def helper() -> None:
            await asyncio.sleep(0)

        async def one(n: int) -> int:
            return await world.aask(f"{n}")

        async def main() -> Any:
            helping = asyncio.create_task(helper()) if added else None
            found = await asyncio.gather(*(one(n) for n in range(3)))
            if helping is not None:
                await helping
            return found

        return asyncio.run(main())

    recorded = record(lambda world: program(world, added=False))
    replayed = replay(recorded, lambda world: program(world, added=True)).replay
    assert (replayed.output, replayed.verdict, replayed.renamed) == (recorded.output, "exact", 0)


def test_strands_below_a_renamed_one() -> None:
    seen, replayed = _again("tasks", RECORDED, RECORDED, main="start")
    assert (replayed.output, replayed.verdict) == (seen, "same")
    seen, replayed = _again("tasks", RECORDED, [("ask", "a"), ("ask", "b"), ("two", "c")], main="start")
    assert (replayed.output, replayed.verdict) == (seen, "same")


@pytest.mark.parametrize("way", WAYS)
def test_what_cannot_be_known_is_a_divergence_that_names_the_renaming(way: str) -> None:
    before = [("one", "same"), ("two", "same")]
    with pytest.raises(reenact.Divergence) as caught:
        _again(way, before, [("ask", "same"), ("other", "same")])
    assert caught.value.reason == "renamed"
    assert "one" in caught.value.cause and "two" in caught.value.cause


SWAPPED = {
    "questions": [("ask", "b"), ("ask", "a"), ("two", "c")],
    "names": [("two", "a"), ("two", "b"), ("one", "c")],
    "names, and one renamed": [("two", "a"), ("two", "b"), ("ask", "c")],
    "numbers": [("two", "c"), ("ask", "b"), ("ask", "a")],
    "one of two renamed": [("one", "b"), ("ask", "a"), ("two", "c")],
    "one left out": [("ask", "b"), ("two", "c")],
    "one added": [("ask", "a"), ("ask", "a"), ("ask", "b"), ("two", "c")],
    "names of equal questions": [("two", "same"), ("one", "same")],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("swap", SWAPPED)
def test_swapped_siblings_are_right_or_a_divergence(swap: str, way: str) -> None:
    now = SWAPPED[swap]
    before = [("one", "same"), ("two", "other")] if swap == "names of equal questions" else RECORDED
    recorded = record(lambda world: WAYS[way](world, before))
    answers = {question: numbers for question, *numbers in recorded.output}
    try:
        replayed = replay(recorded, lambda world: WAYS[way](world, now)).replay
    except reenact.Divergence:
        return
    for question, *numbers in replayed.output:
        assert answers[question] == numbers
