"""``make bench``: measure, and print the table of ratios.

    python -m bench                      five rounds
    python -m bench --rounds 9 --full    more rounds, and the runs of 100,000 calls (long)
    python -m bench --minutes 5          begin no round that would go on for longer (15, without --full)
    python -m bench --only frozen_http   one case and what it is compared with
    python -m bench --json results.json  keep every value

With ``REENACT_PEERS`` naming the folder of a peers' runner (``run.py``), its measurements of other tools run too, with
ours registered beside them (``bench.peers``); without it they are left out, and the table says so.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from bench import peers
from bench.goals import NAMES, SLOW, STATES, STEPS, cases, rows
from bench.rounds import Case, Metrics, fits, judge, schedule
from bench.states_table import render_states
from bench.table import render

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Measure and print; exit status 1 when a goal is not reached and ``--strict`` is given."""
    parser = argparse.ArgumentParser(prog="make bench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=0.0, help="begin no round that would end after this")
    parser.add_argument("--full", action="store_true", help="also runs of 100,000 calls")
    parser.add_argument("--only", default="", help="names of cases, comma separated")
    parser.add_argument("--json", default="", help="file for every value of every round")
    parser.add_argument("--strict", action="store_true", help="exit status 1 when a goal is not reached")
    options = parser.parse_args()
    table = rows(full=options.full)
    wanted = {name for name in options.only.split(",") if name}
    if wanted:
        table = [row for row in table if row.ours.case.split("[")[0] in wanted]
    states = [each for each in STATES if not wanted or each.case in wanted]
    chosen = [*cases(table), *(Case(each.case, STEPS, SLOW[each.case]) for each in states)]
    print(f"{date.today()}, {machine()};")
    print("every case once a round in a process of its own; medians, ratios inside a round\n", flush=True)
    limit_s = 60 * (options.minutes or (float("inf") if options.full else 15))
    results, missing = measure(chosen, options.rounds, limit_s)
    print(f"rounds: {1 + max((number for number, _ in results), default=-1)} of {options.rounds}\n")
    lines = [judge(row, results, missing) for row in table]
    if lines:
        print(render(lines, NAMES))
    print("\n" + render_states(states, STEPS, results, missing))
    if options.json:
        kept = [{"round": number, "case": case, **metrics} for (number, case), metrics in results.items()]
        Path(options.json).write_text(json.dumps({"results": kept, "absent": missing}, indent=1) + "\n")
    if not wanted:
        print("\n" + peers.report())
    return 1 if options.strict and any(line.met is False for line in lines) else 0


def machine() -> str:
    """What it is measured on, in words."""
    processor = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), processor)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} cores ({processor}), {platform.system()}"


def measure(
    chosen: Sequence[Case], rounds: int, limit_s: float
) -> tuple[dict[tuple[int, str], Metrics], dict[str, str]]:
    """Run the schedule; results by round and case, and why a case is missing. Ctrl-C ends it with what there is."""
    results: dict[tuple[int, str], Metrics] = {}
    missing: dict[str, str] = {}
    server = subprocess.Popen([sys.executable, "-m", "bench.endpoint"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        env = {**os.environ, "REENACT_BENCH_URL": address, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        begun, current = time.monotonic(), 0
        for number, case in schedule(chosen, rounds, seed=1):
            took = time.monotonic() - begun
            if number != current and not fits(number, took, limit_s):
                break
            current = number
            if case.key in missing:
                continue
            answer = run_case(case, env)
            spent = time.monotonic() - begun - took
            say(f"{took / 60:5.1f} min  round {number + 1}/{rounds}  {case.key}: {spent:.1f} s")
            if "metrics" in answer:
                results[number, case.key] = answer["metrics"]
            else:
                missing[case.key] = str(answer["absent"])
    except KeyboardInterrupt:
        say("stopped; the table is of what was measured")
    finally:
        server.terminate()
        server.wait()
    return results, missing


def say(text: str) -> None:
    """A line about each case that was measured."""
    print(text, file=sys.stderr, flush=True)


def run_case(case: Case, env: Mapping[str, str]) -> dict[str, Metrics]:
    """One case in a process of its own; a crash of it is an absence with its last words."""
    command = [sys.executable, "-m", "bench.child", case.name, str(case.size)]
    try:
        ran = subprocess.run(
            command, cwd=ROOT, env=dict(env), capture_output=True, text=True, timeout=1800, check=False
        )
    except subprocess.TimeoutExpired:
        return {"absent": "not done after half an hour"}  # type: ignore[dict-item]
    lines = ran.stdout.splitlines()
    if ran.returncode or not lines:
        last = (ran.stderr.strip() or f"exit status {ran.returncode}").splitlines()[-1]
        return {"absent": last[:100]}  # type: ignore[dict-item]
    return dict(json.loads(lines[-1]))


if __name__ == "__main__":
    sys.exit(main())
