"""A fork hands no telemetry to the world unless that is allowed, and is not stopped by it."""

from __future__ import annotations

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


def test_a_fork_cannot_branch_at_telemetry(bench: Bench) -> None:
    """No replay waits for it, so nothing can change there."""
    bench.record(agent("export('a')", "export('b')"))
    said = "\n".join(bench.run("fork", "@:1", "--live", "reads", code=2))
    assert "only hands telemetry over" in said
    assert "branch at is 2" in said
