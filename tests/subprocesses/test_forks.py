"""Proves that a fork never talks to the stand-in of a process that its prefix answered: it stops, or starts the process
where nothing had passed through it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.programs import read_program

from .conftest import Agent

POPEN = """
import reenact
from subprocess import PIPE, Popen
process = Popen(["cat"], stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True, bufsize=1)
def tell(text): process.stdin.write(text)
def hear(): return process.stdout.readline()
def end(): process.stdin.close(); return process.wait()
"""
DESCRIPTORS = """
import os, reenact, select
from subprocess import PIPE, Popen
process = Popen(["cat"], stdin=PIPE, stdout=PIPE, stderr=PIPE)
into, out = process.stdin.fileno(), process.stdout.fileno()
def tell(text): os.write(into, text.encode())
def hear():
    select.select([out], [], [])
    return os.read(out, 100).decode()
def end(): process.stdin.close(); return process.wait()
"""
TALK = """
tell("one\\n")
print(hear(), end="")
with reenact.step("plan", {"text": "two\\n", "skips": False}) as state:
    pass
try:
    if not state["skips"]:
        tell(state["text"])
    print(hear(), end="")
except BaseException as error:
    print("caught", type(error).__name__)
print(end())
"""
COROUTINES = read_program("subprocesses/conversation_by_asyncio.py")
HANDLES = {"Popen": POPEN + TALK, "descriptors": DESCRIPTORS + TALK, "asyncio": COROUTINES}


def reenact(agent: Agent, *words: str) -> subprocess.CompletedProcess[str]:
    """Our command."""
    return agent.run(sys.executable, "-m", "reenact", *words)


def replays(agent: Agent, printed: str) -> None:
    """The fork replays to what it was."""
    replayed = reenact(agent, "replay", "@")
    assert replayed.returncode == 0, replayed.stderr
    assert "verdict: same (exact)" in replayed.stderr
    assert replayed.stdout == printed


@pytest.mark.parametrize("handle", HANDLES)
def test_the_recorded_process_answers_what_it_answered_and_nothing_else(agent: Agent, handle: str) -> None:
    agent.write(HANDLES[handle])
    recorded = agent.record().stdout
    assert recorded.splitlines()[:2] == ["one", "two"]
    again = reenact(agent, "fork", "@:plan#1", "--live", "all")
    assert again.returncode == 0, again.stderr
    assert again.stdout == recorded, "what is said again has its recorded answers"

    allowed = ("--allow-write", "cat stdin", "--allow-write", "cat", "--live", "all")
    other = reenact(agent, "fork", "@~1:plan#1", "--set", r'text="three\n"', *allowed)
    assert other.returncode == 3, other.stderr
    assert other.stdout == "one\ncaught Halt\n", "neither what was recorded nor a broken pipe"
    assert "the fork cannot go on live with what the recording began (cat, event 0): cat stdin was" in other.stderr
    assert "reenact:   next: reenact fork" in other.stderr and ":0 --rev HEAD" in other.stderr
    replays(agent, other.stdout)

    silent = reenact(agent, "fork", "@~2:plan#1", "--set", "skips=true")
    assert silent.returncode == 3, silent.stderr
    assert silent.stdout == "one\ncaught Halt\n", "an answer to what is no longer said is none"
    assert "its recorded answer came after event" in silent.stderr
    assert "(cat stdin), which was not made again" in silent.stderr


def test_a_conversation_that_a_function_drops_is_answered_from_its_beginning(agent: Agent) -> None:
    """The output is closed by the function's end. Its head came long before, ahead of all that was said."""
    agent.write(read_program("subprocesses/conversation_in_a_function.py"))
    recorded = agent.record().stdout
    again = reenact(agent, "fork", "@:0")
    assert (again.returncode, again.stdout) == (0, recorded), again.stderr
    assert "parts at" not in again.stderr, "its output was closed in the fork, too"
    replays(agent, recorded)


LATER = read_program("subprocesses/started_before_the_plan.py")


def test_a_process_that_nothing_was_said_to_is_started_when_something_new_is(agent: Agent) -> None:
    agent.write(LATER)
    recorded = agent.record().stdout
    folder = agent.folder.name
    assert recorded.startswith(f"when it was asked for {folder}\n first\n None True\n0 \nFIRST 0\nb'first'\n0\n-9\n")
    refused = reenact(agent, "fork", "@:plan#1", "--set", 'text="second"', "--allow-write", "sh stdin")
    assert refused.returncode == 5, refused.stderr
    assert "sh may change the world, and is not allowed to; sh stdin would begin it" in refused.stderr
    assert agent.started() == 1

    names = "sh", "sh stdin", "tr", "tr communicate", "cat", "cat stdin", "sleep", "sleep kill"
    allowed = [word for name in names for word in ("--allow-write", name)]
    done = reenact(agent, "fork", "@~1:plan#1", "--set", 'text="second"', *allowed)
    assert done.returncode == 0, done.stderr
    assert done.stdout == recorded.replace("first", "second").replace("FIRST", "SECOND").replace("-9", "-15")
    assert agent.started() == 2
    replays(agent, done.stdout)
    assert agent.started() == 2


LATER_COROUTINES = read_program("subprocesses/started_before_the_plan_by_asyncio.py")


def test_a_process_of_asyncio_that_nothing_was_said_to_is_started_likewise(agent: Agent) -> None:
    agent.write(LATER_COROUTINES)
    recorded = agent.record().stdout
    said = "b'when it was asked for\\n' b'first\\n' True None\n0 0\n(b'FIRST', b'')\n"
    assert recorded == said
    names = "sh", "sh stdin", "tr", "tr stdin"
    allowed = [word for name in names for word in ("--allow-write", name)]
    done = reenact(agent, "fork", "@:plan#1", "--set", 'text="second"', *allowed)
    assert done.returncode == 0, done.stderr
    assert done.stdout == recorded.replace("first", "second").replace("FIRST", "SECOND")
    assert agent.started() == 2
    replays(agent, done.stdout)
    assert agent.started() == 2


GONE = """
import reenact
from subprocess import PIPE, Popen
process = Popen(["./tool.sh"], stdin=PIPE, stdout=PIPE, stderr=PIPE)
with reenact.step("plan", {"text": "one"}) as state:
    pass
try:
    print(process.communicate(state["text"].encode()))
except BaseException as error:
    print("caught", type(error).__name__)
"""


def test_a_process_that_cannot_be_started_any_more_stops_the_fork(agent: Agent) -> None:
    agent.write(GONE)
    tool = agent.folder / "tool.sh"
    tool.write_text("#!/bin/sh\ncat\n")
    tool.chmod(0o755)
    assert agent.record().stdout == "(b'one', b'')\n"
    tool.unlink()
    allowed = ("--allow-write", "tool.sh", "--allow-write", "tool.sh communicate")
    done = reenact(agent, "fork", "@:plan#1", "--set", 'text="two"', *allowed)
    assert done.returncode == 3, done.stderr
    assert done.stdout == "caught Halt\n"
    assert "['./tool.sh'] was to be started, because the run goes on live with it, and was not" in done.stderr
    replays(agent, done.stdout)
