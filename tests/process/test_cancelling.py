"""Proves that a coroutine cancelled at any of its awaits ends as it does unrecorded, cleans up alike, and replays."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.process.test_exits import _run
from tests.programs import read_program
from tests.servers.conftest import Upstream

AGENT = read_program("process/cancelled_at_each_await.py")


def test_cancelled_at_every_await(tmp_path: Path, upstream: Upstream) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    reenact = (sys.executable, "-m", "reenact")
    bare = _run(tmp_path, upstream, sys.executable, "agent.py")
    assert bare.stdout.endswith("reached 13 of 13\n"), bare.stdout + bare.stderr
    assert bare.stdout.count("cancelled") >= 12
    recorded = _run(tmp_path, upstream, *reenact, "record", "--", sys.executable, "agent.py")
    assert (recorded.stdout, recorded.returncode) == (bare.stdout, bare.returncode), recorded.stderr
    asked = len(upstream.asked)
    replayed = _run(tmp_path, upstream, *reenact, "--json", "replay", "@")
    report = json.loads(replayed.stdout.splitlines()[-1])
    assert (replayed.returncode, report["verdict"]) == (0, "exact"), report
    assert len(upstream.asked) == asked
