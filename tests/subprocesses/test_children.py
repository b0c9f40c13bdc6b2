"""Proves that Python programs started by a recorded program become child runs, and that what cannot be is named."""

from __future__ import annotations

import sys

import pytest

from reenact import open_store
from reenact.facts.run import Run
from tests.programs import read_program

from .conftest import Agent

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the helper is a shell script")

CHILD = """
import os, random, subprocess, sys
subprocess.run(["sh", "helper.sh"])
print(sys.argv[1:], "REENACT_BOOT" in os.environ, os.environ.get("PYTHONPATH"), random.random())
"""


def runs_of(agent: Agent) -> list[Run]:
    with open_store(str(agent.folder / "store.sqlite")) as store:
        return list(store.runs())


def test_scripts_become_child_runs_and_are_replayed_by_themselves(agent: Agent) -> None:
    (agent.folder / "child.py").write_text(CHILD)
    agent.same(
        """
        import asyncio, subprocess, sys
        print(subprocess.run([sys.executable, "child.py", "one"], capture_output=True, text=True).stdout)
        async def main():
            process = await asyncio.create_subprocess_exec(sys.executable, "child.py", "two", stdout=-1)
            print(await process.communicate())
        asyncio.run(main())
        """,
        starts=2,
    )
    runs = runs_of(agent)
    (parent,) = (run for run in runs if not run.parent)
    children = [run for run in runs if run.parent == parent.id]
    assert [run.relation for run in children] == ["child", "child"] and len(runs) == 3
    assert [run.entry.argv[-1] for run in reversed(children)] == ["one", "two"]
    replayed = agent.run(sys.executable, "-m", "reenact", "replay", children[0].id, PATH="nowhere")
    assert replayed.returncode == 0, replayed.stderr
    assert replayed.stdout.startswith("['two'] False None")
    assert agent.started() == 2


def test_the_last_run_is_the_program_and_not_what_it_started(agent: Agent) -> None:
    agent.write("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'pass'])\n")
    agent.record()
    with open_store(str(agent.folder / "store.sqlite")) as store:
        assert store.run("@").parent is None


def test_a_child_without_site_is_named(agent: Agent) -> None:
    agent.same("import subprocess, sys\nprint(subprocess.run([sys.executable, '-I', '-c', 'print(1)'], stdout=-1))\n")
    assert len(runs_of(agent)) == 1
    shown = agent.run(sys.executable, "-m", "reenact", "show", "@", "--all")
    assert "child process at python -I" in shown.stdout


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing_work_are_named_and_never_started_by_a_replay(agent: Agent, method: str) -> None:
    agent.write(
        f"""
        import multiprocessing, subprocess
        from concurrent.futures import ProcessPoolExecutor
        def work(n):
            open("marks", "a").write("x\\n")
            return n * 2
        if __name__ == "__main__":
            context = multiprocessing.get_context({method!r})
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                print(list(pool.map(work, [1, 2])))
        """
    )
    assert agent.record().stdout == "[2, 4]\n"
    assert agent.started() == 2
    replayed = agent.replay()
    assert replayed.returncode == 3, replayed.stderr
    assert f"multiprocessing ({method})" in replayed.stderr
    assert agent.started() == 2
    assert (len(runs_of(agent)) > 1) == (method != "fork")


WORKERS = read_program("subprocesses/multiprocessing_workers.py")


@pytest.mark.parametrize(("kind", "gives", "marks"), [("process", "(8, 0)", 3), ("pool", "[2, 4]", 6)])
def test_processes_and_pools_of_every_start_method_give_what_they_gave(
    agent: Agent, kind: str, gives: str, marks: int
) -> None:
    (agent.folder / "agent.py").write_text(WORKERS)
    recorded = agent.run(sys.executable, "-m", "reenact", "record", "--", sys.executable, "agent.py", kind)
    assert recorded.returncode == 0, recorded.stderr
    assert recorded.stdout.splitlines() == [f"{method} {gives}" for method in ("fork", "spawn", "forkserver")]
    assert agent.started() == marks
    runs = {run.id: run for run in runs_of(agent)}
    (root,) = (run for run in runs.values() if not run.parent)
    children = [run for run in runs.values() if run.parent]
    assert children and {(run.relation, run.parent) for run in children} == {("child", root.id)}
    with open_store(str(agent.folder / "store.sqlite")) as store:
        gaps = {f"{what}: {place}" for what, place, _ in store.open(root).gaps()}
    methods = ("fork", "spawn", "forkserver")
    assert gaps == {f"child process: multiprocessing ({method})" for method in methods}, "each once, by its own name"
    replayed = agent.replay()
    assert replayed.returncode == 3, replayed.stderr
    assert "multiprocessing (fork)" in replayed.stderr and "@reenact.tool" in replayed.stderr
    assert agent.started() == marks


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_tool_around_children_of_multiprocessing_is_answered_without_them(agent: Agent, method: str) -> None:
    agent.write(
        f"""
        import multiprocessing
        import reenact
        def work(n):
            open("marks", "a").write("x\\n")
            return n * 2
        @reenact.tool
        def doubled(numbers):
            with multiprocessing.get_context({method!r}).Pool(1) as pool:
                return pool.map(work, numbers)
        if __name__ == "__main__":
            print(doubled([1, 2]))
        """
    )
    assert agent.record().stdout == "[2, 4]\n" and agent.started() == 2
    replayed = agent.replay()
    assert (replayed.returncode, replayed.stdout) == (0, "[2, 4]\n"), replayed.stderr
    assert agent.started() == 2


FORKED_AMONG_THREADS = read_program("subprocesses/forked_among_threads.py")


def test_forks_among_threads_go_on_in_both_processes(agent: Agent) -> None:
    agent.same(FORKED_AMONG_THREADS)
    assert agent.started() == 3
    shown = agent.run(sys.executable, "-m", "reenact", "show", "@")
    assert "child process at os.fork, 3 times" in shown.stdout
