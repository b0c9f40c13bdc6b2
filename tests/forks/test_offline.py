"""A fork with no change and nothing live is the run again, wherever it branches, and replays exactly itself."""

from __future__ import annotations

from operator import attrgetter

import pytest

import reenact
from tests.forks.conftest import Forks
from tests.programs import read_program

PROGRAMS = {
    "steps and tools": """
        import datetime, random, reenact
        @reenact.tool(effect="read")
        def look(query): return {"docs": [query, len(query)]}
        @reenact.tool
        def send(text):
            print("sending", text)
            return "sent"
        print(datetime.datetime.now(), random.random())
        first, second = look("a"), look("bb")
        with reenact.step("rank", {"docs": first["docs"] + second["docs"]}) as state:
            state["count"] = len(state["docs"])
        for one in second["docs"]:
            look(f"more {one}")
        print(send(str(state["count"])), datetime.datetime.now())
    """,
    "a gather": """
        import asyncio, reenact
        @reenact.tool(effect="read")
        async def look(query):
            await asyncio.sleep(0.01 * (7 - query))
            return query * query
        async def one(query, order):
            order.append(await look(query))
            order.append(-await look(query + 10))
        async def main():
            order = []
            await asyncio.gather(*(one(query, order) for query in range(6)))
            print(order)
        asyncio.run(main())
    """,
    "a pool": """
        import time, reenact
        from concurrent.futures import ThreadPoolExecutor, as_completed
        @reenact.tool(effect="read")
        def look(query):
            time.sleep(0.01 * (5 - query % 5))
            return query * query
        with ThreadPoolExecutor(3) as pool:
            done = as_completed([pool.submit(look, query) for query in range(6)])
            print([future.result() for future in done])
    """,
    "nested agents and retries": read_program("forks/nested_agents_and_retries.py"),
}
CALLED_OFF = """
    import asyncio, reenact
    @reenact.tool(effect="read")
    async def look(query):
        await asyncio.sleep(query)
        return query
    async def main():
        try:
            await asyncio.wait_for(look(60), 0.02)
        except TimeoutError:
            print("too slow", await look(0.001))
        tasks = [asyncio.create_task(look(query)) for query in (0.005, 60, 61)]
        done, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in left:
            task.cancel()
        print(len(await asyncio.gather(*tasks, return_exceptions=True)))
    asyncio.run(main())
"""
PROGRAMS["nested agents and retries"] = PROGRAMS["nested agents and retries"].replace("sleep(30)", "sleep(0.03)")


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_at_every_event(forks: Forks, program: str, sweep: bool) -> None:
    printed = forks.record(program)
    events = forks.events(forks.parent)
    inside = {event.number for event in events if event.parent is not None and not event.call.observed}
    inside |= {event.number for event in events if event.parent in inside or (event.kind == "step" and event.parent)}
    allowed = [event.number for event in events if event.number not in inside]
    for number in allowed if sweep else [allowed[1], allowed[-1]]:
        report = forks.fork(number, "--live", "none")
        assert report["printed"] == printed, number
        assert (report["live"], report["refused"], report["status"]) == (0, [], "ok")
        forks.replays_exactly(report["run"])


def test_the_prefix_is_the_parents_event_by_event(forks: Forks) -> None:
    forks.record(PROGRAMS["steps and tools"])
    report = forks.fork("rank#1", "--live", "none")
    before, after = forks.events(forks.parent), forks.events(report["run"])
    kept = attrgetter("number", "kind", "name", "lane", "position", "delivery")
    assert list(map(kept, before)) == list(map(kept, after))
    run = forks.runs()[0]
    assert (run["parent"], run["relation"], run["fork_event"]) == (forks.parent, "fork", 2)


def test_a_fork_of_a_fork(forks: Forks) -> None:
    forks.record(PROGRAMS["steps and tools"])
    kept = forks.fork(2, "--result", '4="another"', "--live", "none")
    forks.parent = kept["run"]
    again = forks.fork(4, "--live", "none")
    assert again["printed"] == kept["printed"]
    forks.replays_exactly(again["run"])


def test_inside_a_frozen_tool_it_is_refused_and_the_nearest_events_are_named(forks: Forks) -> None:
    forks.record(PROGRAMS["nested agents and retries"])
    helper = next(event.number for event in forks.events(forks.parent) if event.name == "helper")
    refused = forks.fork(helper + 2, "--live", "none", status=2)
    assert f"lies inside helper (event {helper})" in refused["said"]
    assert f"the nearest events it can branch at are {helper}" in refused["said"]


def test_beyond_the_end_the_last_event_is_named(forks: Forks) -> None:
    forks.record(PROGRAMS["a pool"])
    assert "its last one is 5" in forks.fork(6, status=2)["said"]


def test_code_that_has_changed_before_the_event_is_a_divergence(forks: Forks) -> None:
    forks.record(PROGRAMS["steps and tools"])
    path = forks.desk.folder / "agent.py"
    path.write_text(path.read_text().replace('look("bb")', 'look("cc")'))
    report = forks.fork(4, "--live", "none", status=1)
    assert report["message"].startswith(
        "the code no longer reproduces the events before the fork point: diverged at ev"
    )


def test_a_run_under_way_is_refused(forks: Forks) -> None:
    store = str(forks.desk.folder / ".reenact")
    with reenact.record(store=store) as run:
        with reenact.step("under way"):
            pass
        run.flush() if hasattr(run, "flush") else None
        with pytest.raises(reenact.ReenactError, match="is still being recorded"):
            reenact.fork(run.id, 0, store=store)


def test_what_was_called_off_is_called_off_in_the_fork(forks: Forks) -> None:
    forks.record(CALLED_OFF)
    ended = [(event.name, event.outcome) for event in forks.events()]
    assert any("cancelled" in str(outcome) for _, outcome in ended)
    for number in (0, len(ended) - 1):
        forks.fork(number, "--live", "none")
        assert [(event.name, event.outcome) for event in forks.events()] == ended
        forks.replays_exactly()
