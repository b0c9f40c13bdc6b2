"""Proves that the library examples do what they say, in an empty directory with an empty home.

The tour is typed with the read-me: tests/project/test_readme.py."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests import commands

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(script: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a copy of an example in ``cwd``, as in a project of its own; its home is an empty directory."""
    shutil.copytree(EXAMPLES, cwd / "examples", ignore=shutil.ignore_patterns("__pycache__", ".reenact"))
    home = cwd / "home"
    home.mkdir(exist_ok=True)
    dropped = ("REENACT_", "OPENAI_", "ANTHROPIC_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    env |= {"HOME": str(home), "REENACT_STORE": str(cwd / ".reenact")}
    command = [sys.executable, str(cwd / "examples" / script), *arguments]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=100, check=False)


def test_the_graph_tells_its_own_story(tmp_path: Path) -> None:
    done = run("agent_graph/graph.py", "What about refund and shipping?", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Refunds take five days. Orders leave within two days.\n")
    assert done.stdout.count("step    gather") == 2 and done.stdout.count("tool    look_up") == 2


def test_the_runner_goes_back_in_both_ways(tmp_path: Path) -> None:
    done = run("time_travel_runner/runner.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("the railway is asked") == 1, "neither way asks again what was asked before its step"
    assert done.stdout.count("the hotel is asked: early") == 2
    assert "checkpoint: early train, arriving at 8, no room" in done.stdout
    assert done.stdout.endswith("at: choose\nevents: [7, 7, 3]\n")


def test_the_store_is_written_read_and_emptied_by_hand(tmp_path: Path) -> None:
    done = run("store_direct/direct.py", f"sqlite:///{tmp_path}/hand.db", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert 'weather({"city": "Kraków"}) -> {"sky":"clear"}' in done.stdout and done.stdout.endswith("runs left: 0\n")


def test_the_wrapped_tool_is_asked_once_and_replayed_twice(tmp_path: Path) -> None:
    done = run("tool_wrapper/rates.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    recorded, *replayed = done.stdout.splitlines()
    price = recorded.removeprefix("recorded ")
    assert [line.split(" (")[0] for line in replayed] == [f"replayed {price}"] * 2
    assert all("0 live calls" in line for line in replayed) and done.stderr.count("asking the market") == 1


def test_the_harness_is_green_and_red_for_the_right_reasons(tmp_path: Path) -> None:
    assert run("regression_harness/record.py", cwd=tmp_path).returncode == 0
    folder = tmp_path / "examples" / "regression_harness"

    def harness(*chosen: str) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--tb=short",
            "test_agent.py",
            *chosen,
        ]
        plain = {**os.environ, **commands.only_our_plugin()}
        return subprocess.run(command, cwd=folder, env=plain, capture_output=True, text=True, timeout=100, check=False)

    green = harness()
    assert green.returncode == 0 and "11 passed" in green.stdout, green.stdout
    agent = folder / "agent.py"
    agent.write_text(agent.read_text().replace("find_orders(user_id)]", 'find_orders("u-23")]'))
    red = harness("-k", "only_the_customers or recorded_run")
    assert red.returncode == 1 and "1 failed, 6 passed" in red.stdout, red.stdout
    assert "differs at arguments.user_id" in red.stdout and "u-23" in red.stdout
