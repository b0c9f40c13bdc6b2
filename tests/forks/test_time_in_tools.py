"""A tool that goes live in a fork sleeps in the time of the world, and who limits it waits as long as there."""

from __future__ import annotations

import threading
import time

from tests.forks.conftest import Forks

LIMITED = """
    import asyncio
    import reenact
    @reenact.tool(effect="read")
    async def look(query, seconds):
        await asyncio.sleep(seconds)
        return query
    async def main():
        with reenact.step("plan", {"query": "a", "seconds": 0.01, "limit": 5}) as state:
            pass
        try:
            print(await asyncio.wait_for(look(state["query"], state["seconds"]), state["limit"]))
        except TimeoutError:
            print("timed out")
        await asyncio.sleep(3600 if state["query"] == "z" else 0)
        print("done")
    asyncio.run(main())
"""
POLLING = """
    import os, time
    import reenact
    @reenact.tool(effect="read")
    def wait_for(name):
        for _ in range(600):
            if os.path.exists(name):
                return f"{name} is there"
            time.sleep(0.1)
        return f"{name} never came"
    with reenact.step("plan", {"name": "agent.py"}) as state:
        pass
    print(wait_for(state["name"]))
"""


def test_a_tool_that_takes_too_long_is_cut_short_and_one_that_does_not_is_not(forks: Forks) -> None:
    assert forks.record(LIMITED) == "a\ndone\n"
    late = forks.fork("plan#1", "--set", "query=b", "--set", "seconds=2.0", "--set", "limit=0.3")
    assert late["printed"] == "timed out\ndone\n"
    forks.replays_exactly(late["run"])
    began = time.monotonic()
    soon = forks.fork("plan#1", "--set", "query=z", "--set", "seconds=0.4", "--set", "limit=60")
    assert soon["printed"] == "z\ndone\n"
    assert 0.4 < time.monotonic() - began < 600, "the hour after it, in which nothing is asked, passes at once"
    forks.replays_exactly(soon["run"])


def test_a_tool_that_polls_the_world_gives_it_the_time_it_would(forks: Forks) -> None:
    forks.record(POLLING)
    later = threading.Timer(1.5, (forks.desk.folder / "later").touch)
    later.start()
    report = forks.fork("plan#1", "--set", "name=later")
    later.join()
    assert report["printed"] == "later is there\n"
    forks.replays_exactly(report["run"])
