"""A fork that was stopped re-enacts to the call that stopped it; one that asks something else there differs."""

from __future__ import annotations

import json

import pytest

from tests.forks.conftest import Forks

LONE = """
    import reenact
    @reenact.tool(effect="read")
    def look(query): return 3
    @reenact.tool
    def pay(amount): return {"paid": amount}
    amount = look("price")
    try:
        print(pay(amount))
    except BaseException as error:
        print("caught", type(error).__name__)
        raise
    finally:
        print("cleaned up")
"""
GATHERED = """
    import asyncio, reenact
    @reenact.tool(effect="read")
    async def look(query):
        await asyncio.sleep(0.002 * (query % 5))
        return query
    @reenact.tool
    async def pay(amount): return amount
    async def one(query, said):
        own = [await look(query + 10 * n) for n in range(4)]
        said.append(sum(own))
        await pay(sum(own))
    async def main():
        said = []
        try:
            await asyncio.gather(*(one(query, said) for query in range(4)))
        finally:
            print(said)
    asyncio.run(main())
"""
THREADS = """
    import reenact
    from concurrent.futures import ThreadPoolExecutor
    @reenact.tool(effect="read")
    def look(query): return query
    @reenact.tool
    def pay(amount): return amount
    def one(query):
        found = [look(query + 10 * n) for n in range(3)]
        return pay(found[0]) if query % 2 else look(found[0])
    with ThreadPoolExecutor(3) as pool:
        print(list(pool.map(one, range(5))))
"""
EXITS = """
    import sys, reenact
    @reenact.tool(effect="read")
    def look(query): return 0
    sys.exit(look("status"))
"""
BUSY = """
    import reenact
    from concurrent.futures import ThreadPoolExecutor
    @reenact.tool(effect="read")
    def look(query): return query
    @reenact.tool
    def pay(amount): return amount
    def asks(query): return pay(look(query))
    def computes(query):
        found = look(query)
        for _ in range(4_000_000): found += 1
        return pay(found)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(computes, 1), pool.submit(asks, 2)
        print(first.exception(), second.exception())
"""
WAITING = """
    import asyncio, reenact
    @reenact.tool(effect="read")
    async def look(query): return True
    async def main():
        ready = asyncio.Event()
        async def waits():
            await ready.wait()
            print("ready", await look("behind"))
        async def sets():
            if await look("shall it?"):
                ready.set()
        await asyncio.gather(waits(), sets())
    asyncio.run(main())
"""


def test_a_refused_write(forks: Forks) -> None:
    forks.record(LONE)
    report = forks.fork(0, "--result", "0=5", status=5)
    assert "cleaned up" in report["printed"]
    assert forks.runs()[0]["error"].startswith("stopped: the fork may not make this call: pay")
    shown = forks.desk.run("show", "@").stderr
    following = f"next: reenact fork {forks.parent[-8:]}:0 --result 0=5 --allow-write pay"
    assert following in shown, "it leads on, with what the fork was refused"
    forks.replays_exactly()
    (forks.desk.folder / "agent.py").write_text(
        (forks.desk.folder / "agent.py").read_text().replace("pay(amount))", "pay(7))")
    )
    told = forks.desk.run("replay", "@", status=1).stderr
    assert "tool pay was not made in the recording" in told


@pytest.mark.parametrize("nth", [0, 3, 9])
def test_lanes_that_were_under_way(forks: Forks, nth: int) -> None:
    forks.record(GATHERED)
    number = [event.number for event in forks.events() if event.name == "look"][nth]
    forks.fork(number, "--result", f"{number}=77", "--live", "none", status=5)
    forks.replays_exactly()


def test_threads_that_were_under_way(forks: Forks) -> None:
    forks.record(THREADS)
    first = next(event.number for event in forks.events() if event.name == "look")
    forks.fork(first, "--result", f"{first}=77", "--live", "none", status=5)
    forks.replays_exactly()


def test_a_thread_that_asks_when_the_fork_has_stopped(forks: Forks) -> None:
    forks.record(BUSY, options="--order off")  # the gate would have held its answer back
    numbers = [event.number for event in forks.events() if event.name == "look"]
    changes = [word for number in numbers for word in ("--result", f"{number}=77")]
    forks.fork(numbers[0], *changes, status=5)
    assert "verdict: same" in forks.desk.run("replay", "@").stderr


def test_what_nothing_brings(forks: Forks) -> None:
    forks.record(WAITING)
    forks.fork(0, "--result", "0=false", status=1)
    forks.replays_exactly()


def test_one_that_was_stopped_is_no_golden(forks: Forks) -> None:
    forks.record(LONE)
    forks.fork(0, "--result", "0=5", status=5)
    said = forks.desk.run("golden", "add", "@", "--as", "stopped", status=2).stderr
    assert "is a fork that was stopped at a refused write: it has no end" in said


def test_what_was_tried_does_not_take_the_place_of_the_incident(forks: Forks) -> None:
    """``@failed`` is what the agent did, whatever was tried with it since, and however that has ended."""
    forks.record(EXITS.replace("return 0", "return 3"), status=3)
    incident = forks.parent
    forks.fork(0, "--result", "0=4", "--live", "none")
    forks.desk.run("replay", "@failed", "--save")
    forks.record(LONE)
    forks.fork(0, "--result", "0=5", status=5)
    failed = json.loads(forks.desk.run("ls", "--failed", "--json").stdout.splitlines()[0])["run"]
    assert failed != incident, "a try has failed since"
    assert json.loads(forks.desk.run("show", "@failed", "--json").stdout.splitlines()[0])["run"] == incident


def test_a_fork_whose_program_fails_says_so(forks: Forks) -> None:
    forks.record(EXITS, status=0)
    report = forks.fork(0, "--result", "0=3", "--live", "none")
    assert (report["status"], forks.runs()[0]["status"]) == ("failed", "failed")
    assert "status: failed" in report["last_line"]


def test_a_write_that_another_fork_has_made_is_handed_out_and_said(forks: Forks) -> None:
    forks.record(LONE)
    again = ("fork", f"{forks.parent}:0", "--result", "0=5")
    forks.desk.run(*again, status=5)
    forks.desk.run(*again, "--allow-write", "pay")
    maker = forks.runs()[0]["run"]
    said = forks.desk.run(*again).stderr
    assert f"reenact: frozen pay: it was made as event 1 of run {maker[-8:]}" in said
