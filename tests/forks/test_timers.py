"""Proves that a timer which a fork sets for longer, or for less, comes by time among recorded answers, and no other."""

from __future__ import annotations

import pytest

from tests.forks.conftest import Forks

LIMITED = """
    import asyncio, sys, time
    import reenact
    limit, seconds, count = map(float, sys.stdin.readline().split())

    @reenact.tool(effect="read")
    def look(query):
        time.sleep(seconds)
        return query.upper()

    @reenact.tool(effect="read")
    async def ask(query):
        await asyncio.sleep(seconds)
        return query.upper()

    async def main():
        with reenact.step("plan", {"limit": limit}) as state:
            pass
        works = [
            lambda: asyncio.to_thread(look, "a"), lambda: ask("b"), lambda: asyncio.gather(ask("c"), ask("d"))
        ]
        for work in works[:int(count)]:
            try:
                print(await asyncio.wait_for(work(), state["limit"]))
            except TimeoutError:
                print("timed out")
        await asyncio.sleep(1)
        print("done")
    asyncio.run(main())
"""
ANSWERED = "A\nB\n['C', 'D']\ndone\n"
TIMED_OUT = "timed out\n" * 3 + "done\n"


def test_a_shorter_time_out_comes_before_a_recorded_answer(forks: Forks) -> None:
    forks.typed = "5 0.3 3\n"
    assert forks.record(LIMITED) == ANSWERED
    report = forks.fork("plan#1", "--set", "limit=0.05", "--live", "none")
    assert report["printed"] == TIMED_OUT
    forks.replays_exactly(report["run"])
    kept = forks.fork("plan#1", "--set", "limit=3", "--live", "none")
    assert kept["printed"] == ANSWERED
    forks.replays_exactly(kept["run"])


def test_a_longer_time_out_waits_for_a_recorded_answer(forks: Forks) -> None:
    forks.typed = "0.1 0.4 1\n"
    assert forks.record(LIMITED) == "timed out\ndone\n"
    report = forks.fork("plan#1", "--set", "limit=5", "--live", "none")
    assert report["printed"] == "A\ndone\n"
    forks.replays_exactly(report["run"])
    shorter = forks.fork("plan#1", "--set", "limit=0.25", "--live", "none")
    assert shorter["printed"] == "timed out\ndone\n", "longer than it was, and not long enough"
    forks.replays_exactly(shorter["run"])


AS_BEFORE = """
    from reenact.recording.arrival_schedule import ArrivalSchedule
    ArrivalSchedule.timer_set = lambda *_: 0
"""


def test_a_recording_that_does_not_say_when_its_timers_were_due_is_refused(forks: Forks) -> None:
    forks.typed = "0.1 0.4 1\n"
    assert forks.record(AS_BEFORE + LIMITED) == "timed out\ndone\n"
    refused = forks.fork("plan#1", "--set", "limit=5", "--live", "none", status=2)
    assert "does not say when its timers were set and due" in refused["said"]
    planned = forks.desk.run("fork", f"{forks.parent}:plan#1", "--dry-run", status=2).stderr
    assert "does not say when its timers were set and due" in planned
    forks.replays_exactly(forks.parent)


SIDE_BY_SIDE = """
    import asyncio, threading, time
    import reenact

    @reenact.tool(effect="read")
    def look(query):
        time.sleep(0.4)
        return query.upper()

    with reenact.step("plan", {"pause": 0.1, "name": "main"}) as state:
        pass

    def answers():
        print(look("a"))
    thread = threading.Thread(target=answers)
    thread.start()
    time.sleep(state["pause"])
    print(state["name"])
    thread.join()
"""


@pytest.mark.parametrize(("recorded", "changed"), [("0.1", "2"), ("1.0", "0.05")])
def test_a_sleep_that_is_longer_or_shorter_lets_others_go_first_or_not(
    forks: Forks, recorded: str, changed: str
) -> None:
    first = forks.record(SIDE_BY_SIDE.replace("0.1", recorded))
    assert first == ("main\nA\n" if recorded == "0.1" else "A\nmain\n")
    report = forks.fork("plan#1", "--set", f"pause={changed}", "--live", "none")
    assert report["printed"] == "".join(reversed(first.splitlines(keepends=True)))
    forks.replays_exactly(report["run"])
    same = forks.fork("plan#1", "--set", "name=other", "--live", "none")
    assert same["printed"] == first.replace("main", "other")


BUSY = """
    import concurrent.futures, threading, time
    import reenact
    begun = threading.Event()

    @reenact.tool(effect="read")
    def look(query):
        time.sleep(1.1)
        return query.upper()

    with reenact.step("plan", {"name": "main", "limit": 0.9}) as state:
        pass
    with concurrent.futures.ThreadPoolExecutor() as pool:
        asked = pool.submit(lambda: (begun.set(), look("a"))[1])
        begun.wait()
        for _ in range(15_000_000):
            pass
        try:
            print(state["name"], asked.result(timeout=state["limit"]))
        except concurrent.futures.TimeoutError:
            print("timed out")
"""


def test_a_time_out_behind_long_work_of_the_code_itself_is_not_taken_for_a_shorter_one(forks: Forks) -> None:
    assert forks.record(BUSY) == "main A\n"
    report = forks.fork("plan#1", "--set", "name=other", "--live", "none")
    assert report["printed"] == "other A\n"


WORKED = """
    import asyncio, time
    import reenact

    @reenact.tool(effect="read")
    async def look(query):
        await asyncio.sleep(1)
        return query.upper()

    async def main():
        with reenact.step("plan", {"limit": 5}) as state:
            pass
        asked = asyncio.ensure_future(look("a"))
        await asyncio.sleep(0)
        until = time.process_time() + 0.3
        while time.process_time() < until:
            pass
        try:
            print(await asyncio.wait_for(asked, state["limit"]))
        except TimeoutError:
            print("timed out")
    asyncio.run(main())
"""


def test_a_timer_that_did_not_fire_is_set_as_late_as_it_was(forks: Forks) -> None:
    """Behind work that is much quicker today: the recorded answers of the clock of the processor end it at once."""
    assert forks.record(WORKED) == "A\n"
    report = forks.fork("plan#1", "--set", "limit=0.8", "--live", "none")
    assert report["printed"] == "A\n", "0.3 s of work and 0.8 s of waiting are longer than the answer took"
    assert "not certain" not in str(report["remarks"])
    forks.replays_exactly(report["run"])


BY_THE_CLOCK = """
    import asyncio, time
    import reenact

    def work(seconds):
        until = time.process_time() + seconds
        while time.process_time() < until:
            pass

    @reenact.tool(effect="read")
    async def look(query):
        await asyncio.sleep(9)

    async def main():
        loop = asyncio.get_running_loop()
        with reenact.step("plan", {"limit": 2}) as state:
            pass
        work(0.12)
        asked = asyncio.ensure_future(look("a"))
        deadline = loop.time() + state["limit"]
        work(WORK)
        SET
    asyncio.run(main())
"""
BY_CALL_AT = """loop.call_at(deadline, asked.cancel)
        print((await asyncio.gather(asked, return_exceptions=True))[0].__class__.__name__)"""
BY_TIMEOUT_AT = """try:
            async with asyncio.timeout_at(deadline):
                await asked
        except TimeoutError as error:
            print(type(error).__name__)"""


@pytest.mark.parametrize("work", ["0", "0.12"])
@pytest.mark.parametrize("way", [BY_CALL_AT, BY_TIMEOUT_AT], ids=["call_at", "timeout_at"])
def test_a_deadline_that_the_code_computes_of_the_loops_clock_comes_when_it_is_due(
    forks: Forks, way: str, work: str
) -> None:
    """As HTTP clients do. The code works before it reads the clock, and before it sets the timer."""
    forks.desk.environ["REENACT_HOLD_MS"] = "500"  # a busy machine may not get to the loop within 20
    printed = "CancelledError\n" if way is BY_CALL_AT else "TimeoutError\n"
    assert forks.record(BY_THE_CLOCK.replace("SET", way).replace("WORK", work)) == printed
    for change in ((), ("--set", "limit=1.5")):
        report = forks.fork("plan#1", *change, "--live", "none")
        assert report["printed"] == printed, report["said"]
        forks.replays_exactly(report["run"])


SKEWED = """
    import asyncio
    import reenact

    @reenact.tool(effect="read")
    async def look(query, seconds):
        await asyncio.sleep(seconds)
        return query.upper()

    async def slow():
        print(await look("slow", 1.2))

    async def limited(pause):
        await asyncio.sleep(pause)
        for name in ("a", "b"):
            try:
                print(await asyncio.wait_for(look(name, 0.2), 0.5))
            except TimeoutError:
                print(name, "timed out")

    async def main():
        with reenact.step("plan", {"pause": 1.4}) as state:
            pass
        await asyncio.gather(slow(), limited(state["pause"]))
    asyncio.run(main())
"""


def test_a_strand_that_is_early_gets_its_answers_before_its_time_outs(forks: Forks) -> None:
    assert forks.record(SKEWED) == "SLOW\nA\nB\n"
    report = forks.fork("plan#1", "--set", "pause=0.01", "--live", "none")
    assert "timed out" not in report["printed"]
    forks.replays_exactly(report["run"])
