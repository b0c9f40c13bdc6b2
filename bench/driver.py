"""Records and replays a program of ``bench/agents`` from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.absent import Absent

ROOT = Path(__file__).resolve().parent.parent
AGENTS = ROOT / "bench" / "agents"


def run_agent(name: str, size: int, folder: str, *, replay: bool = True) -> Mapping[str, float]:
    """Record a program with ``size`` calls, replay it, and give what it measured about itself.

    The program times its own loop with our own clock, which no seam touches, and leaves the figures in a file.

    Args:
        name: Name of the program.
        size: How many calls it makes.
        folder: Where store and figures go.
        replay: Whether to replay it too; else the figures are those of the recording.

    Raises:
        Absent: The program could not be recorded or replayed here.
    """
    figures = os.path.join(folder, "figures.json")
    env = {**os.environ, "REENACT_STORE": f"sqlite:///{folder}/runs.db", "REENACT_BENCH_OUT": figures}
    program = [sys.executable, str(AGENTS / f"{name}.py"), str(size)]
    step([sys.executable, "-m", "reenact", "record", "--", *program], env)
    if replay:
        os.unlink(figures)
        step([sys.executable, "-m", "reenact", "replay", "@"], env)
    try:
        return dict(json.loads(Path(figures).read_text()))
    except FileNotFoundError:
        raise Absent("the replayed program could not leave its figures") from None


def fork_agent(name: str, size: int, folder: str) -> Mapping[str, float]:
    """Record a program with ``size`` calls before its last one, fork it there, and give what it measured in the fork.

    The last call goes live: it leaves the processor time that the process has used until then.

    Raises:
        Absent: The program could not be recorded or forked here.
    """
    figures, arrived = os.path.join(folder, "figures.json"), os.path.join(folder, "arrived")
    env = {**os.environ, "REENACT_STORE": f"sqlite:///{folder}/runs.db", "REENACT_BENCH_OUT": figures}
    program = [sys.executable, str(AGENTS / f"{name}.py"), str(size), arrived]
    step([sys.executable, "-m", "reenact", "record", "--", *program], env)
    os.unlink(figures)
    os.unlink(arrived)
    step([sys.executable, "-m", "reenact", "fork", "@:arrive#1", "--live", "all"], env)
    return {**json.loads(Path(figures).read_text()), "cpu_ms": float(Path(arrived).read_text())}


def step(command: list[str], env: dict[str, str], cwd: str | Path = ROOT) -> None:
    """Run one command; its failure is a case that cannot be measured."""
    ran = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False)
    if ran.returncode:
        said = (ran.stderr.strip() or ran.stdout.strip() or "no word").splitlines()
        last = next((line for line in reversed(said) if not line.startswith("  next:")), said[-1])
        raise Absent(f"{command[3]} ended with {ran.returncode}: {last[:120]}")
