"""Proves that ``fork --input`` gives a run another input: other arguments, or another standard input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import reenact
from tests.forks.conftest import Forks

ENTRY = """
    import sys, reenact

    @reenact.tool(effect="read")
    def look(query):
        return query.upper()

    @reenact.record
    def agent(query, times=1):
        print([look(query) for _ in range(times)], look("always"))
        return query

    if __name__ == "__main__":
        agent("a")
"""
PROGRAM = """
    import os, sys, reenact

    @reenact.tool(effect="read")
    def look(query):
        return query.upper()

    print("asked", input("name? "))
    print(look(sys.stdin.readline().strip()))
    print(repr(sys.stdin.read(3)), sys.stdin.read().split())
"""


def recorded(forks: Forks, program: str, given: str) -> str:
    """Record a program that is given a standard input."""
    (forks.desk.folder / "agent.py").write_text("\n".join(line[4:] for line in program.splitlines()))
    printed = typed(forks, given, "record", "--", sys.executable, "agent.py")
    forks.parent = forks.runs()[0]["run"]
    return printed


def typed(forks: Forks, given: str, *words: str) -> str:
    """Type ``reenact WORDS``, with a standard input; gives what was printed."""
    command = [sys.executable, "-m", "reenact", *words]
    ran = subprocess.run(
        command, cwd=forks.desk.folder, input=given, capture_output=True, text=True, check=True, timeout=60
    )
    return ran.stdout


def called(forks: Forks) -> None:
    """Record a decorated entry point, called by a program that is not recorded itself."""
    (forks.desk.folder / "agent.py").write_text("\n".join(line[4:] for line in ENTRY.splitlines()))
    subprocess.run([sys.executable, "agent.py"], cwd=forks.desk.folder, check=True, timeout=60)
    forks.parent = forks.runs()[0]["run"]


def test_other_arguments(forks: Forks) -> None:
    called(forks)
    for given, printed, live in (
        ("b", "['B'] ALWAYS\n", 1),
        ('["b", 2]', "['B', 'B'] ALWAYS\n", 2),
        ('{"query": "a", "times": 2}', "['A', 'A'] ALWAYS\n", 1),
    ):
        report = forks.fork(0, "--input", given)
        assert (report["printed"], report["live"], report["status"]) == (printed, live, "ok"), given
    forks.replays_exactly(report["run"])
    forks.parent = report["run"]
    again = forks.fork("look#2", "--live", "none")
    assert again["printed"] == printed


def test_arguments_that_do_not_fit(forks: Forks) -> None:
    called(forks)
    report = forks.fork(0, "--input", '{"question": "b"}', status=2)
    assert "does not take this input" in report["message"] and "(query, times=1)" in report["message"]
    assert "another input is a fork at event 0" in forks.fork(1, "--input", "b", status=2)["said"]


def test_another_standard_input(forks: Forks) -> None:
    assert recorded(forks, PROGRAM, "ann\nred\nabcdef g\n").endswith("RED\n'abc' ['def', 'g']\n")
    report = forks.fork(0, "--input", "bob\nred\nuvwxyz\n", "--live", "none")
    assert report["printed"] == "name? asked bob\nRED\n'uvw' ['xyz']\n"
    assert (report["live"], report["refused"]) == (0, [])
    forks.replays_exactly(report["run"])
    assert "is text, and 3 is none" in forks.fork(0, "--input", "3", status=2)["said"]


def test_a_person_is_asked_anew_by_a_replay_that_opens_it(forks: Forks) -> None:
    recorded(forks, PROGRAM, "ann\nred\nabcdef g\n")
    assert typed(forks, "bob\nred\n\n", "replay", "@", "--live", "input").startswith("name? asked bob\nRED\n")
    forks.replays_exactly()


def test_a_run_that_has_no_input(forks: Forks) -> None:
    forks.record('import reenact\nwith reenact.step("one"): print("hello")\n')
    assert "has read no standard input" in forks.fork(0, "--input", "x", status=2)["said"]
    store = str(forks.desk.folder / ".reenact")
    with reenact.record(store=store), reenact.step("one"):
        pass
    forks.parent = forks.runs()[0]["run"]
    assert "was recorded as a block of code" in forks.fork(0, "--input", "x", status=2)["said"]


def test_in_code(tmp_path: Path) -> None:
    @reenact.record(store=f"sqlite:///{tmp_path}/runs.db")
    def agent(query: str, *, loud: bool = False) -> str:
        with reenact.step("say", {"query": query}):
            return query.upper() if loud else query

    agent("a")
    with reenact.open_store(f"sqlite:///{tmp_path}/runs.db") as store:
        [parent] = store.runs()
        change = reenact.Change(input={"query": "b", "loud": True})
        fork = reenact.fork(parent, 0, change=change, entry=agent, store=store)
        assert (fork.relation, fork.status.value) == ("fork", "ok")
        assert b'"B"' in store.open(fork).body(store.event(f"{fork.id}:return").answer)
