"""``record`` in code: every colour of entry point is one run, nests, replays with its arguments, changes nothing."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.errors import UsageError
from reenact.facts.run import Run
from reenact.recording import blocks
from reenact.seams import wiring
from reenact.seams.logs import RunIdFilter


@reenact.tool(effect="read")
def look(query: str) -> dict[str, Any]:
    """A tool that never answers twice alike."""
    return {"query": query, "found": random.SystemRandom().random()}


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Iterator[reenact.Store]:
    with reenact.open_store(f"memory:{request.node.nodeid}") as opened:
        yield opened


def _last(store: reenact.Store) -> reenact.Run:
    return store.run("@")


def test_a_function_is_a_run_with_its_arguments(store: reenact.Store) -> None:
    @reenact.record(
        agent="orders@1.2", store=store, user="u_7710", tenant="acme", session="s1", tags={"ticket": "8821"}
    )
    def agent(question: str, *, times: int = 2) -> list[Any]:
        return [look(f"{question} {n}") for n in range(times)]

    answer = agent("where?", times=3)
    run = _last(store)
    assert (run.agent, run.version, run.user, run.tenant, run.session) == ("orders", "1.2", "u_7710", "acme", "s1")
    assert (run.status, dict(run.tags)) == ("ok", {"ticket": "8821"})
    assert [event.kind for event in store.events(run)] == ["input", "tool", "tool", "tool", "output"]
    replayed = reenact.replay(run, entry=agent, store=store)
    assert (replayed.verdict, replayed.output, replayed.live_calls, replayed.matched) == ("exact", answer, 0, 5)


def test_a_coroutine_is_a_run(store: reenact.Store) -> None:
    @reenact.record(store=store)
    async def agent(question: str) -> list[Any]:
        await asyncio.sleep(0.001)
        return [look(question), look(question)]

    answer = asyncio.run(agent("where?"))
    assert _last(store).agent.endswith("agent")
    replayed = reenact.replay("@", entry=agent, store=store)
    assert (replayed.verdict, replayed.output) == ("exact", answer)


def test_concurrent_coroutines_are_runs_apart(store: reenact.Store) -> None:
    @reenact.record(store=store)
    async def agent(name: int) -> Any:
        first = look("same")
        await asyncio.sleep(0.001 * (name % 3))
        return [name, first, look("same")]

    async def main() -> list[Any]:
        return await asyncio.gather(*(agent(name) for name in range(8)))

    answers = asyncio.run(main())
    runs = list(store.runs())
    assert len(runs) == 8
    for run in runs:
        replayed = reenact.replay(run, entry=agent, store=store)
        assert replayed.output == answers[replayed.output[0]]
        assert (replayed.verdict, replayed.matched) == ("exact", 4)


def test_a_generator_is_a_run(store: reenact.Store) -> None:
    @reenact.record(store=store)
    def agent(count: int) -> Iterator[Any]:
        for n in range(count):
            yield look(str(n))

    items = list(agent(3))
    replayed = reenact.replay("@", entry=agent, store=store)
    assert (replayed.verdict, replayed.output) == ("exact", items)


def test_a_generator_left_early_is_a_run_that_ended_there(store: reenact.Store) -> None:
    @reenact.record(store=store)
    def agent() -> Generator[Any, None, None]:
        while True:
            yield look("more")

    generator = agent()
    next(generator)
    assert reenact.current_run() is None  # between two items nobody records
    next(generator)
    generator.close()
    assert [event.kind for event in store.events("@")].count("tool") == 2
    assert _last(store).status == "ok"


def test_an_asynchronous_generator_is_a_run(store: reenact.Store) -> None:
    @reenact.record(store=store)
    async def agent(count: int) -> AsyncIterator[Any]:
        for n in range(count):
            await asyncio.sleep(0)
            yield look(str(n))

    async def main() -> list[Any]:
        return [item async for item in agent(3)]

    items = asyncio.run(main())
    replayed = reenact.replay("@", entry=agent, store=store)
    assert (replayed.verdict, replayed.output) == ("exact", items)


def test_blocks_in_both_colours(store: reenact.Store) -> None:
    with reenact.record(agent="block", store=store) as run:
        assert reenact.current_run() is not None
        assert run.id == reenact.current_run().id  # type: ignore[union-attr]
        answer = look("x")

    async def main() -> Any:
        async with reenact.record(agent="block", store=store):
            return look("x")

    asyncio.run(main())
    assert [each.status for each in store.runs()] == ["ok", "ok"]
    assert reenact.replay(run, entry=lambda: look("x"), store=store).output == answer


def test_a_failure_passes_untouched_and_is_kept(store: reenact.Store) -> None:
    @reenact.record(store=store)
    def agent() -> None:
        look("x")
        raise LookupError("no such order", 4421)

    with pytest.raises(LookupError) as caught:
        agent()
    assert caught.value.args == ("no such order", 4421)
    assert (_last(store).status, _last(store).error) == ("failed", "LookupError: ('no such order', 4421)")
    assert reenact.replay("@", entry=agent, store=store).verdict == "exact"
    for instead in (lambda: look("x"), lambda: look("x") and None, lambda: look("x")["nothing"]):
        with pytest.raises(reenact.Divergence, match="ended differently"):
            reenact.replay("@", entry=instead, store=store)


def test_a_timeout_is_called_one(store: reenact.Store) -> None:
    @reenact.record(store=store)
    def agent() -> None:
        raise TimeoutError("the budget is spent")

    with pytest.raises(TimeoutError):
        agent()
    assert _last(store).status == "timeout"


def test_nested_records_are_child_runs(store: reenact.Store) -> None:
    @reenact.record(agent="inner", store=store)
    def inner(name: str) -> Any:
        return look(name)

    @reenact.record(agent="outer", store=store)
    def outer() -> list[Any]:
        before = look("before")
        return [before, inner("a"), inner("b")]

    answer = outer()
    root = _last(store)
    children = [run for run in store.runs() if run.parent == root.id]
    assert [child.agent for child in children] == ["inner", "inner"]
    assert {child.lane for child in children} == {"root>inner#1", "root>inner#2"}
    assert [[event.name for event in store.events(child)] for child in children] == [["look"], ["look"]]
    assert reenact.replay(root, entry=outer, store=store).output == answer


def test_nested_runs_side_by_side_count_their_own_calls_alone(store: reenact.Store) -> None:
    """Each goes on when the other has made a call, so that each runs while the other's calls are made."""

    @reenact.record(store=store)
    async def helper(count: int) -> None:
        for number in range(count):
            look(f"{count}/{number}")
            await asyncio.sleep(0)

    @reenact.record(agent="outer", store=store)
    async def outer() -> None:
        await asyncio.gather(helper(3), helper(5))

    asyncio.run(outer())
    root = _last(store)
    totals = sorted((run.totals.tools, run.totals.events) for run in store.runs() if run.parent == root.id)
    assert totals == [(3, 3), (5, 5)]
    assert root.totals.tools == 8


def test_notes_and_the_run_id_in_logs(store: reenact.Store) -> None:
    seen: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(getattr(record, "reenact_run", "?"))

    logger = logging.Logger("test")
    handler = Keep()
    handler.addFilter(RunIdFilter())
    logger.addHandler(handler)
    logger.warning("outside")
    with reenact.record(store=store) as run:
        logger.warning("inside")
        reenact.note("prompt_version", "v3")
    assert seen == ["-", run.id]
    assert store.open(run.id).notes(None)["prompt_version"] == "v3"


def test_a_switch_records_nothing(store: reenact.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REENACT_DISABLE", "1")
    with reenact.record(store=store):
        look("x")
    assert list(store.runs()) == []


def test_changed_code_diverges_by_name(store: reenact.Store) -> None:
    @reenact.record(store=store)
    def agent() -> Any:
        return look("refund policy")

    agent()
    with pytest.raises(reenact.Divergence) as caught:
        reenact.replay("@", entry=lambda: look("refund rules"), store=store)
    found = caught.value
    assert (found.reason, found.event, found.path) == ("changed", 1, "arguments.query")
    assert found.recorded["arguments"] == {"query": "refund policy"}
    assert found.now["arguments"] == {"query": "refund rules"}
    assert found.source is not None and "test_record.py" in found.source


def test_a_store_that_cannot_be_written_costs_the_recording_only(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a directory")

    @reenact.record(store=f"sqlite:///{in_the_way}/runs.db")
    def agent() -> int:
        return 7

    with pytest.warns(RuntimeWarning, match="not recorded"):
        assert agent() == 7
    with pytest.raises(reenact.ReenactError, match="no store is called"):
        reenact.record(store="ftp://elsewhere")(agent)()


def test_a_block_that_cannot_listen_gives_a_run_that_can_be_used(
    store: reenact.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of ours there costs the recording: what the agent calls on its run is there."""

    def broken(block: blocks.RootBlock) -> None:
        raise RuntimeError("no lane")

    monkeypatch.setattr(blocks.RootBlock, "resume", broken)
    with pytest.warns(RuntimeWarning, match="no lane"), reenact.record(store=store) as run:
        run.note("a", 1)
        run.flush()


def test_hooks_that_cannot_be_set_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library was copied without what it needs: the block runs, and it is said that nothing of it is kept."""

    def begin(run: Run) -> None:
        raise ModuleNotFoundError("No module named '_needed'")

    monkeypatch.setattr(wiring, "begin", begin)
    with pytest.warns(RuntimeWarning, match="incomplete: No module named '_needed'"), reenact.record(store="memory:"):
        pass


def test_a_name_by_position_is_answered_with_the_option() -> None:
    with pytest.raises(UsageError, match=r"record\(agent='refunds'\)"):
        reenact.record("refunds")  # type: ignore[call-overload]


def test_a_callable_without_a_name_is_refused_before_it_runs() -> None:
    with pytest.raises(UsageError, match=r"takes a function, not partial\n.*finds a function by its name"):
        reenact.record(agent="refunds", store="memory:")(partial(look, "x"))
