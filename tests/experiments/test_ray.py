"""Proves that an experiment comes to the same on a Ray cluster, a local one, and keeps its cells for either."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.experiments.conftest import HASTY, Bench

WORDS = ("--where", "models > 0", "--candidate", f"hasty:prompt={HASTY}", "--repeat", "2")


@pytest.mark.skipif(find_spec("ray") is None, reason="no ray here, it is large: scripts/environment.py .venv ray")
@pytest.mark.timeout(300)
def test_a_cluster_comes_to_the_same(bench: Bench, tmp_path: Path) -> None:
    bench.record()
    bench.shut()
    asked = bench.requests
    with tempfile.TemporaryDirectory(prefix="r", ignore_cleanup_errors=True) as scratch:  # short: it holds sockets
        bench.desk.environ |= {"HOME": str(tmp_path), "RAY_TMPDIR": scratch}
        there = bench.experiment(*WORDS, "--on", "ray://local", "-j", "2")
    assert [cell["output"] for cell in there.cells] == ["I have not looked."] * 2
    assert bench.requests - asked == 2
    here = bench.experiment(*WORDS)
    assert here.cells == there.cells
    assert bench.requests - asked == 2, "what a cluster has done is not done again"


def test_what_names_no_cluster_is_refused(bench: Bench) -> None:
    bench.record()
    done = bench.desk.run("experiment", *WORDS, "--on", "spark://local", status=2)
    assert "ray://HOST:PORT" in done.stderr
