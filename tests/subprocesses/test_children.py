"""Proves that Python programs started by a recorded program become child runs, and that what cannot be is named."""

from __future__ import annotations

import sys

import pytest

from reenact import open_store
from reenact.facts.run import Run

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
