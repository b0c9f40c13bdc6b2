"""Engines that keep what an agent did and go through it again, measured by the peers' runner in their own interpreter.

``REENACT_PEERS`` names the runner's folder, ``REENACT_PEERS_PYTHON`` an interpreter in which their packages are
installed (without it, this one). What is not there is said in the table, and nothing is estimated.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bench.absent import Absent

_ADAPTERS: Final = {
    "dbos": "dbos",
    "langgraph": "langgraph.checkpoint.sqlite",
    "msgspec": "msgspec",
    "temporal": "temporalio",
}
"""What has to be importable for each."""
_MINUTES_S: Final = 900
_QUIET: Final = {"DO_NOT_TRACK": "1", "LANGSMITH_TRACING": "false", "PYTHONWARNINGS": "ignore"}


def dbos_fork(size: int) -> Mapping[str, float]:
    """Microseconds a step in which DBOS re-executes a workflow of so many with every step answered from SQLite."""
    return {"us": measured("dbos", "replay/dbos_fork_replay", size)["us_per_step"]}


def temporal_replay(size: int) -> Mapping[str, float]:
    """Microseconds a step of Temporal's replayer, with its sandbox, through a history of so many activities."""
    return {"us": measured("temporal", "replay/temporal_replayer", size)["us_per_step"]}


def temporal_replay_bare(size: int) -> Mapping[str, float]:
    """The same without its sandbox."""
    return {"us": measured("temporal", "replay/temporal_replayer_unsandboxed", size)["us_per_step"]}


def langgraph_history(size: int) -> Mapping[str, float]:
    """Milliseconds in which LangGraph's SqliteSaver goes through the history of a run of so many steps."""
    return {"ms": measured("langgraph", "replay/langgraph_state_history", size)["history_s"] * 1e3}


def langgraph_newest(size: int) -> Mapping[str, float]:
    """Milliseconds in which it lists the newest 100 of so many."""
    return {"ms": measured("langgraph", "checkpoint/langgraph_sqlite", size)["list_newest_100_ms"]}


def measured(engine: str, key: str, size: int) -> Mapping[str, float]:
    """The metrics of one of the runner's adapters.

    Args:
        engine: What it needs; empty for the standard library.
        key: The adapter.
        size: Steps of its run.

    Raises:
        Absent: The runner, or the engine, is not there, or it failed.
    """
    folder = os.environ.get("REENACT_PEERS", "")
    if not (Path(folder) / "suite" / "child.py").is_file() or not folder:
        raise Absent("REENACT_PEERS names no folder with a peers' runner")
    python = os.environ.get("REENACT_PEERS_PYTHON") or sys.executable
    wanted = _ADAPTERS.get(engine, "sys")
    found = subprocess.run([python, "-c", f"import {wanted}"], capture_output=True, check=False)
    if found.returncode:
        raise Absent(f"{engine} is not installed for {Path(python).name} (REENACT_PEERS_PYTHON)")
    item = key.partition("/")[0]
    modules = ["suite.checkpoint", *(["suite.event_replay"] if item == "replay" else [])]
    asked = json.dumps({"modules": modules, "key": key, "params": {"n": size}})
    ran = subprocess.run(
        [python, "-m", "suite.child"],
        input=asked,
        cwd=folder,
        env={**os.environ, **_QUIET, "PYTHONPATH": folder},
        capture_output=True,
        text=True,
        timeout=_MINUTES_S,
        check=False,
    )
    lines = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    if ran.returncode or not lines:
        last = (ran.stderr.strip() or f"exit status {ran.returncode}").splitlines()[-1]
        raise Absent(f"{engine}: {last[:90]}")
    measured: dict[str, float] = json.loads(lines[-1])
    return measured
