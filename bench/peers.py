"""The measurements of other tools by a runner that lives outside this project, with ours registered beside them.

The runner is a folder with ``run.py``; ``REENACT_PEERS`` names it. It imports this module (``--extra bench.peers``),
which then registers ``reenact`` as one more adapter, so that all of them run in the same rounds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def folder() -> Path | None:
    """Where the runner is, or None."""
    shared = os.environ.get("REENACT_SHARED") or str(ROOT.parent / "shared")
    found = Path(os.environ.get("REENACT_PEERS") or os.path.join(shared, "bench", "peers"))
    return found if (found / "run.py").is_file() else None


def report() -> str:
    """Run the peers that are installed, and say what came of it; or say why they are left out."""
    found = folder()
    if found is None:
        return "Other tools: not measured (REENACT_PEERS names no folder with a runner, run.py, for them)."
    if not os.environ.get("REENACT_PEERS"):
        return "Other tools: a runner is at hand; REENACT_PEERS=FOLDER measures them too, in the same rounds as ours."
    with tempfile.TemporaryDirectory() as place:
        out = os.path.join(place, "peers.json")
        ran = subprocess.run(command(found, out), env=environment(), cwd=ROOT, check=False)
        if ran.returncode or not os.path.exists(out):
            return f"Other tools: their runner ended with {ran.returncode}."
        return "Other tools, by their own runner:\n" + summary(Path(out).read_text())


def command(runner: Path, out: str) -> list[str]:
    """The runner's command line: HTTP only, ours registered."""
    adapters = os.environ.get("REENACT_PEERS_ADAPTERS", "reenact_httpx,vcr_httpx,limit_tape_httpx")
    choice = ["--only", "http", "--adapters", adapters, "--cases", "n=10;n=1000", "--repeats", "3"]
    return [sys.executable, str(runner / "run.py"), *choice, "--extra", "bench.peers_adapter", "--out", out]


def environment() -> Mapping[str, str]:
    """The runner's environment: it finds this module by the path."""
    path = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in path if part)}


def summary(text: str) -> str:
    """The runner's results, a line for each tool and size."""
    import json

    document: dict[str, Any] = json.loads(text)
    lines = []
    for key, entry in sorted(document["results"].items()):
        for case, metrics in sorted(entry["cases"].items()):
            shown = (
                f"{name} {metrics[name]['median']:,.0f}"
                for name in ("record_overhead_us", "save_ms", "load_ms", "replay_us", "replay_last_us")
                if name in metrics
            )
            lines.append(f"  {key:28s} {case:8s} {'  '.join(shown)}")
    for session in document["sessions"]:
        lines += [f"  {name}: not measured: {why[:100]}" for name, why in sorted(session["failures"].items())]
    return "\n".join(lines)
