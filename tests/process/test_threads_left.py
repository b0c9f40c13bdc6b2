"""Threads that outlive the main program: they are recorded in their turns at once, and a replay of them ends."""

from __future__ import annotations

from pathlib import Path

from tests.kit.recorded import Desk

LEFT = """
import atexit, threading
import reenact
from reenact.seams.gate import Gate

helped = []
pump = Gate.pump

def counted(self, *, settled=True, once=False):
    released = pump(self, settled=settled, once=once)
    if once and released:
        helped.append(settled)
    return released

Gate.pump = counted

@reenact.tool(effect="read")
def look(query): return query

def work(name):
    for n in range(100): look(f"{name} {n}")

atexit.register(lambda: open("helped.txt", "w").write(str(len(helped))))
atexit.register(lambda: look("at the end"))
for name in "abc": threading.Thread(target=work, args=(name,)).start()
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
    desk = Desk(tmp_path)
    desk.script(LEFT)
    desk.record("agent.py")
    assert int((tmp_path / "helped.txt").read_text()) < 30  # of 300: it was each of them
    assert "verdict: same (exact)" in desk.run("replay", "@").stderr


def test_one_that_waits_for_no_answer_ends_with_the_replay(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.script(ASKS_ANEW)
    desk.record("agent.py")
    desk.script(ASKS_ANEW.replace("two", "three"))
    said = desk.run("replay", "@", "--on-divergence", "observe", status=1).stderr
    assert "tool look differs at arguments.query" in said
