"""Goldens of twenty calls each, run as ``golden run`` runs them, and found."""

from __future__ import annotations

import os
import resource
import runpy
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from bench.driver import AGENTS, step
from reenact.store import open_store
from reenact.testing.expectations.expectation import expect
from reenact.testing.goldens.golden_batch import How, run_goldens
from reenact.testing.goldens.golden_dir import GoldenDir, open_golden_dir
from reenact.testing.goldens.golden_trace import Golden
from reenact.timetravel.bundling.packing import pack

AGENT = "golden_agent.py"


def run_goldens_of_20(size: int) -> Mapping[str, float]:
    """So many goldens of one agent: seconds for a thousand, and milliseconds of processor time that each takes beyond
    what the agent's own code and imports take."""
    with tempfile.TemporaryDirectory() as folder:
        golden_dir = _golden_dir(Path(folder), size)
        names = golden_dir.names()
        os.chdir(folder)
        run_goldens(golden_dir, names[:4], How())  # compiled modules, files in memory
        own = _own_ms()
        seconds, each_ms = _run(golden_dir, names)
        return {
            "s_of_1000": seconds * 1000 / size,
            "beyond_ms": each_ms - own,
            "own_ms": own,
        }


def _run(golden_dir: GoldenDir, names: list[str]) -> tuple[float, float]:
    """Seconds for all of them, and milliseconds of processor time for each."""
    before, started = _processor_ms(), time.perf_counter()
    outcomes = run_goldens(golden_dir, names, How())
    seconds, spent = time.perf_counter() - started, _processor_ms() - before
    assert [each.status for each in outcomes] == ["passed"] * len(names), outcomes[0].message
    return seconds, spent / len(names)


def find_goldens(size: int) -> Mapping[str, float]:
    """Milliseconds to find the names of so many."""
    with tempfile.TemporaryDirectory() as folder:
        golden_dir = _golden_dir(Path(folder), 1)
        for number in range(1, size):
            shutil.copy(golden_dir.path("g0000"), golden_dir.path(f"g{number:04}"))
        started = time.perf_counter()
        found = len(golden_dir.matching(["g*"]))
        assert found == size
        return {"ms": (time.perf_counter() - started) * 1e3}


def _golden_dir(folder: Path, size: int) -> GoldenDir:
    """A project with goldens, each of a run of its own question."""
    (folder / ".reenact").mkdir()
    shutil.copy(AGENTS / AGENT, folder)
    url = f"sqlite:///{folder}/.reenact/store.db"
    env = {**os.environ, "REENACT_STORE": url}
    step([sys.executable, "-m", "reenact", "record", "--", sys.executable, AGENT, "4421"], env, folder)
    golden_dir = open_golden_dir(folder)
    golden_dir.folder.mkdir(parents=True)
    held = (expect("calls(look_up) == 20").to_json(), expect("exit_status == 0").to_json())
    with open_store(url) as store:
        run = store.run("@")
        for number in range(size):
            golden = Golden(f"g{number:04}", expect=held, any_seed=True)
            pack(store, [("recorded", run)], golden_dir.path(golden.name), golden.to_json())
    return golden_dir


def _own_ms() -> float:
    """What the agent's own code takes while nobody listens; it imports nothing but us."""
    total = runpy.run_path(AGENT)["total"]
    taken = []
    for _ in range(5):
        before = time.thread_time_ns()
        total("4421")
        taken.append((time.thread_time_ns() - before) / 1e6)
    return median(taken)


def _processor_ms() -> float:
    """Of this process and of all it has waited for, and theirs."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    return total * 1e3
