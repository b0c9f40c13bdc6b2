"""Threads and jobs that the main program leaves behind take their turns at once, and a replay of them ends."""

from __future__ import annotations

from pathlib import Path

from tests.kit.recorded import Workbench
from tests.programs import read_program

LEFT = read_program("process/threads_left_at_the_end.py")
POOLED = (
    LEFT.partition("atexit.register(lambda: look")[0]
    + """
for turn in range(2):
    with ThreadPoolExecutor(2) as pool:
        for name in "abc": pool.submit(work, name)
    look(f"after {turn}")
"""
)
INTERRUPTED = """
import threading, _thread, reenact
from concurrent.futures import ThreadPoolExecutor
@reenact.tool(effect="read")
def look(query): return query
said = []
def work():
    for n in range(30):
        said.append(look(n))
        if n == 10: _thread.interrupt_main()
pool = ThreadPoolExecutor(2)
future = pool.submit(work)
try:
    pool.shutdown()
    look("not reached")
except KeyboardInterrupt:
    print("interrupted")
future.result()
print(len(said))
"""
ASKS_ANEW = """
import threading, reenact
@reenact.tool(effect="read")
def look(query): return query
def work(): print(look("one"), look("two"))
threading.Thread(target=work).start()
print(look("main"))
"""


def test_they_take_their_turns_without_help(tmp_path: Path) -> None:
    desk = Workbench(tmp_path)
    desk.script(LEFT)
    desk.record("agent.py")
    assert int((tmp_path / "helped.txt").read_text()) < 60  # of 600: it was nearly each of them
    assert "verdict: same (exact)" in desk.run("replay", "@").stderr


def test_one_that_waits_for_no_answer_ends_with_the_replay(tmp_path: Path) -> None:
    desk = Workbench(tmp_path)
    desk.script(ASKS_ANEW)
    desk.record("agent.py")
    desk.script(ASKS_ANEW.replace("two", "three"))
    said = desk.run("replay", "@", "--on-divergence", "observe", status=1).stderr
    assert "tool look differs at arguments.query" in said


def test_jobs_of_a_pool_that_is_left_without_asking_for_results(tmp_path: Path) -> None:
    desk = Workbench(tmp_path)
    desk.script(POOLED)
    desk.record("agent.py")
    assert int((tmp_path / "helped.txt").read_text()) < 60  # of 600
    assert "verdict: same (exact)" in desk.run("replay", "@").stderr


def test_a_pool_that_is_interrupted_while_it_is_waited_for(tmp_path: Path) -> None:
    desk = Workbench(tmp_path)
    desk.script(INTERRUPTED)
    assert desk.record("agent.py").stdout.split() == ["interrupted", "30"]
    assert "verdict: same" in desk.run("replay", "@").stderr
