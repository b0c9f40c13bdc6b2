"""A fork hands no telemetry to the world unless that is allowed, and is not stopped by it."""

from __future__ import annotations

import pytest

from .conftest import Bench
from .test_exports import FEW, agent


def forked(bench: Bench, *options: str, code: int = 0) -> str:
    """Fork the last run at the question: its last line."""
    said = bench.run("fork", "@:3", *options, code=code)
    return next(line for line in reversed(said) if "live calls made" in line)


def test_a_fork_hands_nothing_over(bench: Bench) -> None:
    """Neither before its cut nor behind it."""
    bench.record(agent("export('a')", "export('b')"))
    before = bench.world.exports()
    last = forked(bench, "--live", "reads")
    assert bench.world.exports() == before
    assert "live calls made: 0" in last
    assert "plumbing 2" in last
    assert "verdict: same" in bench.replay()


def test_a_fork_of_other_code_hands_nothing_over(bench: Bench) -> None:
    """More of it, at other places, and its own replay is the same."""
    bench.record(agent(*FEW))
    bench.write(agent("export('x'); export('y'); export('z')", "export('b'); export('c', 'd')"))
    before = bench.world.exports()
    assert "plumbing 5" in forked(bench, "--live", "reads")
    assert bench.world.exports() == before
    assert "verdict: same" in bench.replay()


def test_what_is_allowed_goes_out(bench: Bench) -> None:
    """By the name of its rule; reads are not stale after it."""
    bench.record(agent("export('a')", "export('b'); print(ask('/tool/3')['value'])"))
    before = bench.world.asked.copy()
    assert "live calls made: 1" in forked(bench, "--live", "reads", "--allow-write", "otlp")
    assert bench.world.asked[len(before) :] == ["POST /v1/traces"]
    assert "verdict: same" in bench.replay()


def test_a_fork_at_telemetry_branches_behind_it(bench: Bench) -> None:
    """No replay waits for it: what comes next is the branching event, also at the beginning of a run."""
    begins = 'export("first")\nprint(ask("/tool/1")'
    bench.record(agent("export('a')", "export('b')").replace('print(ask("/tool/1")', begins))
    for reference in ("@:0", "@~1:2"):
        said = bench.run("fork", reference, "--live", "reads")
        last = next(line for line in reversed(said) if "live calls made" in line)
        assert "live calls made: 0" in last, last
        assert "plumbing 3" in last


@pytest.mark.parametrize("change", [("--result", "1={}"), ("--error", "1=500:no")])
def test_no_fork_changes_what_telemetry_is_answered(bench: Bench, change: tuple[str, str]) -> None:
    """It would be no change, and said to be one."""
    bench.record(agent("export('a')", "export('b')"))
    said = "\n".join(bench.run("fork", "@:0", *change, "--live", "reads", code=2))
    assert "event 1" in said and "hands telemetry over (otlp)" in said
