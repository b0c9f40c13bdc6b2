"""What a tool's long value costs: memory beside it while it is recorded and replayed, and the agent's time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

AGENT = """
import json, os, sys, time
import reenact

KIND, SIZE, LEFT = sys.argv[1], int(sys.argv[2]), sys.argv[3]

def value():
    if KIND == "bytes":
        return os.urandom(1 << 20) * SIZE
    if KIND == "text":
        return "hello world, " * ((SIZE << 20) // 13)
    return [{"id": n, "name": f"customer number {n}", "note": "x" * 400} for n in range((SIZE << 20) // 460)]

@reenact.tool(effect="read")
def fetch():
    return MADE

MADE = value()
begun = time.thread_time()
fetch()
took = time.thread_time() - begun
begun = time.thread_time()
if KIND == "rows":
    json.dumps(MADE)
dumped = time.thread_time() - begun
if LEFT != "-":
    with open(LEFT, "w") as file:
        json.dump({"took": took, "dumped": dumped}, file)
"""
"""The value is there before the call, so that its time is the recorder's own."""

PEAK = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)
"""


def _peak(folder: str, *command: str) -> float:
    """The most memory that a process of a command took, in MiB."""
    env = {**os.environ, "REENACT_STORE": os.path.join(folder, "store"), "REENACT_LARGEST_VALUE_MB": "1000"}
    words = [sys.executable, "-c", PEAK, *command]
    ran = subprocess.run(words, cwd=folder, env=env, check=True, capture_output=True, text=True)
    status, peak = ran.stdout.split()
    if status != "0":
        raise RuntimeError(f"{' '.join(command)} ended with {status}")
    return float(peak)


def _measured(kind: str, size: int) -> Mapping[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "agent.py").write_text(AGENT)
        left = os.path.join(folder, "took.json")
        program = (sys.executable, "agent.py", kind, str(size))
        reenact = (sys.executable, "-m", "reenact")
        bare = _peak(folder, *program, "-")
        recorded = _peak(folder, *reenact, "record", "--", *program, "-")
        replayed = _peak(folder, *reenact, "replay", "@")
        _peak(folder, *reenact, "record", "--", *program, left)
        took = json.loads(Path(left).read_text())
        beside = replayed - bare - size  # of a replay: its program has made one, too, and is given another
        found = {"record_mib": recorded - bare, "replay_mib": beside, "call_ms": took["took"] * 1e3}
        return {**found, "dumps_ms": took["dumped"] * 1e3}


def long_bytes(size: int) -> Mapping[str, float]:
    """MiB of memory beside so many MiB of bytes."""
    return _measured("bytes", size)


def long_text(size: int) -> Mapping[str, float]:
    """The same of text."""
    return _measured("text", size)


def long_rows(size: int) -> Mapping[str, float]:
    """The same of a list of records, of which one encoded copy is taken off; and the time of a ``json.dumps`` of it."""
    found = dict(_measured("rows", size))
    return {**found, "record_mib": found["record_mib"] - size}
