"""Proves that a divergence cannot be swallowed: whatever the agent catches, gathers or retries, it is told."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest

import reenact
from reenact.abc.sources import CLOCK
from reenact.errors import Halt
from reenact.facts.order import Tag
from reenact.replaying.recorded_schedule import RecordedSchedule
from reenact.seams.watch import _at_a_prompt
from reenact.timetravel.forks.fork_schedule import ForkSchedule

from .driver import World, record, replay


def catches_everything(world: World, question: str) -> object:
    try:
        return world.ask(question)
    except BaseException:
        return "swallowed"


def goes_on_after_catching(world: World, question: str) -> object:
    for each in (question, "second", "third"):
        with contextlib.suppress(BaseException):
            world.ask(each)
    return "done"


def retries(world: World, question: str) -> object:
    for _ in range(5):
        try:
            return world.ask(question)
        except BaseException:
            continue
    return "gave up"


def gathers_exceptions(world: World, question: str) -> object:
    async def main() -> object:
        return [
            str(answer)
            for answer in await asyncio.gather(*(world.aask(q) for q in ("a", question, "b")), return_exceptions=True)
        ]

    return asyncio.run(main())


def waits_for_tasks_and_ignores_them(world: World, question: str) -> object:
    async def main() -> object:
        done, _ = await asyncio.wait([asyncio.create_task(world.aask(q)) for q in ("a", question)])
        return len([task.exception() for task in done])

    return asyncio.run(main())


def has_a_task_group_and_catches_the_group(world: World, question: str) -> object:
    async def main() -> object:
        try:
            async with asyncio.TaskGroup() as group:
                for each in ("a", question, "b"):
                    group.create_task(world.aask(each))
        except BaseException:
            return "swallowed"
        return "fine"

    return asyncio.run(main())


def has_a_task_group(world: World, question: str) -> object:
    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for each in ("a", question, "b"):
                group.create_task(world.aask(each))

    return asyncio.run(main())


def has_an_anyio_group(world: World, question: str) -> object:
    async def main() -> None:
        async with anyio.create_task_group() as group:
            for each in ("a", question, "b"):
                group.start_soon(world.aask, each)

    return anyio.run(main)


def waits_on_after_catching(world: World, question: str) -> object:
    """Catches the halt, then waits for what never comes."""

    async def main() -> object:
        with contextlib.suppress(BaseException):
            await world.aask(question)
        for _ in range(3):
            with contextlib.suppress(BaseException):
                await asyncio.wait_for(asyncio.get_running_loop().create_future(), 0.001)
        return "done"

    return asyncio.run(main())


def never_looks_at_its_futures(world: World, question: str) -> object:
    with ThreadPoolExecutor(2) as pool:
        for each in ("a", question, "b"):
            pool.submit(world.ask, each)
    return "done"


def catches_what_its_futures_hold(world: World, question: str) -> object:
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(world.ask, each) for each in ("a", question, "b")]
        return len([future.exception() for future in futures])


def asks_in_a_thread_that_dies(world: World, question: str) -> object:
    thread = threading.Thread(target=world.ask, args=(question,))
    thread.start()
    thread.join()
    return "done"


def asks_in_a_thread_and_waits_for_its_word(world: World, question: str) -> object:
    """The thread dies before it can set the event that everybody waits for."""
    done = threading.Event()

    def asks() -> None:
        world.ask(question)
        done.set()

    threading.Thread(target=asks).start()
    while not done.wait(5):
        pass
    return "done"


def suppresses_in_a_context_manager(world: World, question: str) -> object:
    class Swallow:
        def __enter__(self) -> None: ...

        def __exit__(self, *exc: object) -> bool:
            return True

    with Swallow():
        world.ask(question)
    return "done"


def returns_in_finally(world: World, question: str) -> object:
    try:
        return world.ask(question)
    finally:
        return "done"  # noqa: B012, SIM107 - this is how it swallows


def asks_in_a_generator_that_is_dropped(world: World, question: str) -> object:
    def pages() -> Any:
        try:
            yield world.ask(question)
        except BaseException:
            yield "swallowed"

    return str(next(pages()))


def raises_something_else(world: World, question: str) -> object:
    try:
        return world.ask(question)
    except BaseException as error:
        raise ValueError("the agent's own error") from error


def exits(world: World, question: str) -> object:
    try:
        return world.ask(question)
    except BaseException:
        sys.exit(0)


def nests_agents(world: World, question: str) -> object:
    @reenact.record(agent="inner")
    def inner() -> int:
        return world.ask(question)

    try:
        return inner()
    except BaseException:
        return "swallowed"


def has_tools_that_swallow(world: World, question: str) -> object:
    @reenact.tool(effect="none")
    def careful() -> str:
        try:
            return str(world.ask(question))
        except BaseException:
            return "swallowed"

    return careful()


SWALLOWERS: list[Callable[[World, str], object]] = [
    catches_everything,
    goes_on_after_catching,
    retries,
    gathers_exceptions,
    waits_for_tasks_and_ignores_them,
    has_a_task_group_and_catches_the_group,
    has_a_task_group,
    has_an_anyio_group,
    waits_on_after_catching,
    never_looks_at_its_futures,
    catches_what_its_futures_hold,
    asks_in_a_thread_that_dies,
    asks_in_a_thread_and_waits_for_its_word,
    suppresses_in_a_context_manager,
    returns_in_finally,
    asks_in_a_generator_that_is_dropped,
    raises_something_else,
    exits,
    nests_agents,
    has_tools_that_swallow,
]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("agent", SWALLOWERS, ids=lambda agent: agent.__name__)
def test_the_divergence_is_raised_whatever_the_agent_does(agent: Callable[[World, str], object]) -> None:
    recorded = record(lambda world: agent(world, "what was asked"))
    with pytest.raises(reenact.Divergence) as caught:
        replay(recorded, lambda world: agent(world, "something else"))
    assert caught.value.reason in ("changed", "added")
    assert "something else" in str(caught.value.now)
    replayed = replay(recorded, lambda world: agent(world, "what was asked"))
    assert (replayed.replay.verdict, replayed.performed) == ("exact", 0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_halt_reaches_a_wait_for_which_nothing_is_at_the_gate() -> None:
    """It has no time limit, and the thread that was to end it has died of the halt."""
    ended: list[BaseException] = []

    def agent(world: World, question: str) -> None:
        done = threading.Event()

        def asks() -> None:
            world.ask(question)
            done.set()

        threading.Thread(target=asks).start()
        try:
            done.wait()
        except BaseException as error:
            ended.append(error)
            raise

    recorded = record(lambda world: agent(world, "what was asked"))
    with pytest.raises(reenact.Divergence):
        replay(recorded, lambda world: agent(world, "something else"))
    assert [type(error) for error in ended] == [Halt]


_STUBBORN = """
import sys, urllib.request

def ask(question):
    return urllib.request.urlopen({url!r} + question, timeout=5).read()

print("asks", flush=True)
if sys.argv[1] == "simple":
    ask("{question}")
elif sys.argv[1] == "retries":
    while True:
        try:
            ask("{question}")
            break
        except BaseException:
            pass
elif sys.argv[1] == "waits":
    import threading
    done = threading.Event()
    def work():
        ask("{question}")
        done.set()
    threading.Thread(target=work, daemon=True).start()
    while not done.is_set():
        try:
            done.wait(1)
        except BaseException:
            pass
elif sys.argv[1] == "locks":
    import _thread
    lock = _thread.allocate_lock()
    lock.acquire()
    def work():
        ask("{question}")
        lock.release()
    _thread.start_new_thread(work, ())
    lock.acquire()
print("done")
"""


@pytest.mark.parametrize("agent", ["simple", "retries", "waits", "locks"])
def test_an_agent_that_will_not_stop_is_stopped(agent: str, tmp_path: Path) -> None:
    from tests.http.server import Server, answer

    server = Server()
    server.routes["*"] = lambda request: answer(request.target.encode())
    script = tmp_path / "agent.py"

    def write(question: str) -> None:
        script.write_text(
            textwrap.dedent(_STUBBORN).replace("{url!r}", repr(server.url + "/")).replace("{question}", question)
        )

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "reenact", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    write("before")
    recorded = run("record", "--", sys.executable, "agent.py", agent)
    server.close()
    assert (recorded.returncode, recorded.stdout) == (0, "asks\ndone\n"), recorded.stderr
    write("after")
    replayed = run("replay", "@")
    assert replayed.returncode == 1, (replayed.stdout, replayed.stderr)
    assert "diverged" in replayed.stdout + replayed.stderr
    write("before")
    replayed = run("replay", "@")
    assert replayed.returncode == 0, (replayed.stdout, replayed.stderr)


def test_a_strand_that_blocks_unseen_does_not_keep_a_replay_from_its_end() -> None:
    ended: list[bool] = []
    schedule = RecordedSchedule(lambda: iter(()), bool, ended.append, lambda: ended.append(True))  # type: ignore[arg-type]
    gate = schedule.gate
    gate.running = 2  # one that waits for what never comes, one in a wait of its own
    gate.offer(Tag("w", "~never", 0, 0), lambda: None)
    gate.blocked()
    for moment_us in (0, 10, schedule.give_up_us):
        gate.look(moment_us, still=True)
    assert ended == []
    gate.look(schedule.give_up_us + 11, still=False)
    assert ended == []
    gate.look(schedule.give_up_us + 12, still=True)
    assert ended == [True]


def test_a_fork_whose_world_has_yet_to_answer_is_at_no_end() -> None:
    ended: list[bool] = []
    order = (lambda: iter(()), bool, ended.append, lambda: ended.append(True))
    schedule = ForkSchedule(lambda path: None, CLOCK, lambda: 0, *order)
    schedule.time.cut = True
    schedule.time.sets_out(7, None, transport=True)
    schedule.silent(schedule.give_up_us + 1)
    assert ended == []
    schedule.time.lost(7)
    schedule.silent(schedule.give_up_us + 1)
    assert ended == [True]


def test_a_program_in_which_a_debugger_is_open_is_not_at_its_end() -> None:
    """A replay that has stood still for long is ended, but not under the hands of a person."""
    assert not _at_a_prompt()
    assert eval("ask()", {"__name__": "pdb", "ask": _at_a_prompt})  # a frame of that module
