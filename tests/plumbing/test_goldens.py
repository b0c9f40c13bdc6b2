"""A golden and a resumed run: telemetry neither makes a golden stale nor is a write in doubt."""

from __future__ import annotations

import sys

from .conftest import Bench
from .test_exports import FEW, agent

STOPS = """
import pathlib
if not pathlib.Path("mended").exists():
    raise SystemExit(3)
"""


def test_a_golden_is_not_stale_by_it(bench: Bench) -> None:
    """Today's code hands over something else, and is told that all is well."""
    bench.record(agent(*FEW))
    bench.run("golden", "add", "@", "--as", "calm")
    before = bench.world.asked.copy()
    bench.write(agent("export('x'); export('y')", "export('z', 'and', 'more')"))
    assert "1 of 1 goldens passed" in "\n".join(bench.run("golden", "run", "calm"))
    assert bench.world.asked == before


def test_what_is_resumed_hands_over_again(bench: Bench) -> None:
    """From its head on; what was handed over before is not, and no export is in doubt."""
    program = agent(*FEW).replace('print(ask("/ask"', STOPS + 'print(ask("/ask"')
    bench.write(program)
    bench.run("record", "--", sys.executable, "agent.py", code=3)
    (bench.folder / "mended").touch()
    before = len(bench.world.asked)
    bench.run("resume", "@")
    assert bench.world.asked[before:] == ["POST /ask", "POST /v1/traces"]
