"""Proves that a handler of the agent's runs again where it interrupted a tool, whose body does not run in a replay."""

from __future__ import annotations

import signal
import textwrap
from pathlib import Path

import pytest

from reenact.seams.lanes import Lane
from reenact.seams.strands.handler_scope import HandlerOwners, interrupted, is_within
from tests.desk import Desk
from tests.programs import read_program

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="there are no signals to speak of")

AGENTS = {
    "a flag that the agent looks at": """
        import os, signal, time, reenact
        seen = []
        signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
        @reenact.tool(effect="read")
        def look(turn):
            if turn == 1:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(0.05)
            return turn
        turn = 0
        while not seen:
            print(look(turn))
            turn += 1
    """,
    "one that raises through the tool, or within it": read_program("fresh/alarm_through_or_within_a_tool.py"),
    "one of the tool's own, and the agent's put back": """
        import signal, time, reenact
        mine = lambda *a: print("mine")
        signal.signal(signal.SIGALRM, mine)
        @reenact.tool(effect="read")
        def slow(n):
            got = []
            before = signal.signal(signal.SIGALRM, lambda *a: got.append("inner"))
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            time.sleep(n)
            signal.signal(signal.SIGALRM, before)
            return got
        @reenact.tool(effect="read")
        def other(n):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            time.sleep(n)
            return n
        print(slow(0.2)); print(other(0.2)); print(signal.getsignal(signal.SIGALRM) is mine)
    """,
    "one that asks and draws": """
        import os, signal, time, reenact, random
        @reenact.tool(effect="read")
        def log(text):
            open("log.txt", "a").write(text)
            return len(text)
        def handle(number, frame):
            time.sleep(0.01)
            print("logged", log("signal"), random.random(), flush=True)
            time.sleep(0.01)
        signal.signal(signal.SIGTERM, handle)
        @reenact.tool(effect="read")
        def look(turn):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.05)
            return log("within") + turn
        with reenact.step("plan", {"a": 1}) as state:
            state["a"] = look(1)
        print(look(2), random.random())
    """,
    "tools in tools, and a model": read_program("fresh/alarms_in_nested_tools.py"),
    "one of a loop, and one in a coroutine": read_program("fresh/signals_of_a_loop.py"),
    "one that the tool waits for, which changes more itself": read_program("fresh/alarm_that_a_tool_waits_for.py"),
    "one that ends the program": """
        import signal, sys, time, reenact
        signal.signal(signal.SIGALRM, lambda *a: sys.exit(9))
        @reenact.tool
        def slow(n):
            time.sleep(n); return n
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try: slow(3)
        finally: print("finally")
    """,
}


@pytest.mark.parametrize("name", AGENTS)
def test_it_runs_again_where_the_answer_is_awaited(tmp_path: Path, name: str) -> None:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(textwrap.dedent(AGENTS[name]))
    recorded = desk.record(["python", "agent.py"])
    assert b"Traceback" not in recorded.err, recorded.err
    for _ in range(2):
        assert desk.differs(recorded) == ""


def test_what_a_handler_asks_is_the_agents_own_and_asked_of_nobody_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(textwrap.dedent(AGENTS["one that asks and draws"]))
    recorded = desk.record(["python", "agent.py"])
    assert recorded.out.count(b"logged 6") == 2 and b"7 events (0 model, 6 tool)" in recorded.err, recorded.err
    (desk.folder / "log.txt").unlink()
    assert desk.differs(recorded) == ""
    assert not (desk.folder / "log.txt").exists()


@pytest.mark.parametrize(
    ("name", "tool"),
    [("one that raises through the tool, or within it", "slow"), ("tools in tools, and a model", "outer")],
)
def test_where_the_body_of_the_tool_runs_it_is_interrupted_there(tmp_path: Path, name: str, tool: str) -> None:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(textwrap.dedent(AGENTS[name]))
    recorded = desk.record(["python", "agent.py"])
    replayed = desk.run("reenact", "replay", "@", "--through", tool)
    assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err


def test_a_handler_is_whose_it_was_when_it_is_put_back() -> None:
    owners = HandlerOwners()
    assert owners.of(15, print, "root") == "root"
    assert owners.of(15, repr, "root>look#1") == "root>look#1"
    assert owners.of(15, print, "root>look#1") == "root"
    assert owners.of(15, repr, "root>look#1>ask#1") == "root>look#1"
    assert owners.of(15, repr, "root>look#2") == "root>look#2", "that call is over"
    assert owners.of(10, print, "root>look#1") == "root>look#1", "of another signal it is another one"
    for number in range(20):
        owners.of(15, number, "root")
    assert owners.of(15, print, "root>look#1") == "root>look#1", "they are not kept for ever"


def test_a_handler_that_is_put_back_again_and_again_is_not_forgotten() -> None:
    owners = HandlerOwners()
    assert owners.of(14, "mine", "root") == "root"
    for attempt in range(40):
        assert owners.of(14, f"attempt {attempt}", "root>fetch#1") == "root>fetch#1"
        assert owners.of(14, "mine", "root>fetch#1") == "root"


def test_the_outermost_call_that_is_answered_as_a_whole_and_has_not_set_it() -> None:
    root = Lane("root", None, None)  # type: ignore[arg-type]
    step = root.scope("plan", 0)
    outer = step.scope("look", 1)
    outer.quiet = True
    task = outer.child("job")
    inner = task.scope("ask", 2)
    below = Lane(inner.path, None, None, parent=inner.parent, below=True, origin=inner)  # type: ignore[arg-type]
    for lane in (outer, task, inner, below):
        assert interrupted(lane, "root") == (step, 1)
        assert interrupted(lane, "") == (step, 1)
    assert interrupted(inner, outer.path) == (task, 2)
    assert interrupted(inner, task.path) == (task, 2)
    assert interrupted(task, outer.path) is None and interrupted(outer, outer.path) is None
    assert interrupted(step, "root") is None and interrupted(None, "root") is None
    assert not is_within("root>look#10", "root>look#1")
