"""Records and replays a program of ``bench/agents`` from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.absent import Absent
from bench.agents.figures import FIGURES

ROOT = Path(__file__).resolve().parent.parent
AGENTS = ROOT / "bench" / "agents"


def run_agent(name: str, size: int, folder: str, *, replay: bool = True) -> Mapping[str, float]:
    """Record a program with ``size`` calls, replay it, and give what it measured about itself.

    The program times its own loop with our own clock, which no seam touches, and says the figures on standard error: a
    replay differs in nothing else.

    Args:
        name: Name of the program.
        size: How many calls it makes.
        folder: Where the store goes.
        replay: Whether to replay it too; else the figures are those of the recording.

    Raises:
        Absent: The program could not be recorded or replayed here.
    """
    env = {**os.environ, "REENACT_STORE": f"sqlite:///{folder}/runs.db"}
    program = [sys.executable, str(AGENTS / f"{name}.py"), str(size)]
    said = step([sys.executable, "-m", "reenact", "record", "--", *program], env)
    return replay_agent(folder) if replay else _figures(said)


def replay_agent(folder: str) -> Mapping[str, float]:
    """Replay the program that was recorded last in a folder, and give what it measured about itself."""
    env = {**os.environ, "REENACT_STORE": f"sqlite:///{folder}/runs.db"}
    return _figures(step([sys.executable, "-m", "reenact", "replay", "@"], env, ends=(0, 1)))


def run_bare(name: str, size: int) -> Mapping[str, float]:
    """Run a program unrecorded, and give what it measured about itself."""
    env = {**os.environ, "REENACT_DISABLE": "1"}
    return _figures(step([sys.executable, str(AGENTS / f"{name}.py"), str(size)], env))


def _figures(said: str) -> Mapping[str, float]:
    found = next((line for line in said.splitlines() if line.startswith(FIGURES)), None)
    if found is None:
        raise Absent("the program has said no figures")
    return dict(json.loads(found.removeprefix(FIGURES)))


def fork_agent(name: str, size: int, folder: str) -> Mapping[str, float]:
    """Record a program with ``size`` calls before its last one, fork it there, and give what it measured in the fork.

    The last call goes live: it leaves the processor time that the process has used until then.

    Raises:
        Absent: The program could not be recorded or forked here.
    """
    arrived = os.path.join(folder, "arrived")
    env = {**os.environ, "REENACT_STORE": f"sqlite:///{folder}/runs.db"}
    program = [sys.executable, str(AGENTS / f"{name}.py"), str(size), arrived]
    step([sys.executable, "-m", "reenact", "record", "--", *program], env)
    os.unlink(arrived)
    said = step([sys.executable, "-m", "reenact", "fork", "@:arrive#1", "--live", "all"], env)
    return {**_figures(said), "cpu_ms": float(Path(arrived).read_text())}


def step(command: list[str], env: dict[str, str], folder: str | Path = ROOT, *, ends: tuple[int, ...] = (0,)) -> str:
    """Run one command in a folder, and give its standard error; its failure is a case that cannot be measured."""
    ran = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode not in ends:
        said = (ran.stderr.strip() or ran.stdout.strip() or "no word").splitlines()
        last = next((line for line in reversed(said) if not line.startswith("  next:")), said[-1])
        raise Absent(f"{' '.join(command[1:4])} ended with {ran.returncode}: {last[:120]}")
    return ran.stderr
