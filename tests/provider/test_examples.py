"""Proves that the two incidents happen as told when nobody records; the agents know nothing of the provider."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reenact.testing import ProviderProcess

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(agent: str, world: ProviderProcess, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run an agent against a world, unrecorded."""
    env = {**os.environ, **world.environment(), "DOCS_URL": world.url, "ORDERS_URL": world.url, **environ}
    return subprocess.run(
        [sys.executable, str(EXAMPLES / agent)], env=env, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("agent", ["refund_loop/agent.py", "refund_loop/agent_plain.py"])
def test_the_refund_agent_searches_twenty_times_and_times_out(agent: str) -> None:
    with ProviderProcess(EXAMPLES / "refund_loop" / "world.py") as world:
        done = run(agent, world)
        assert done.returncode == 1 and "TimeoutError: timed out after 20 searches" in done.stderr
        assert done.stdout.count("-> 0 documents") == 20
        assert world.counts["/v1/chat/completions"] == 20


def test_its_second_version_stops_at_the_first_empty_search() -> None:
    with ProviderProcess(EXAMPLES / "refund_loop" / "world.py") as world:
        done = run("refund_loop/agent.py", world, REFUND_AGENT_VERSION="v2_with_empty_check")
        assert done.returncode == 0 and world.counts == {"/v1/chat/completions": 1}
        assert done.stdout.endswith("I don't have any documents about refund policy. Please check with support.\n")


def test_the_order_agent_tells_of_somebody_elses_order_and_a_day_later_of_the_right_one() -> None:
    with ProviderProcess(EXAMPLES / "order_lookup" / "world.py") as world:
        first = run("order_lookup/agent.py", world)
        world.set_day(2)
        second = run("order_lookup/agent.py", world)
        assert (first.returncode, second.returncode) == (0, 0)
        assert "#4421" in first.stdout and "3 candidates" in first.stderr
        assert "#5093" in second.stdout and "1 candidates" in second.stderr


@pytest.mark.parametrize(
    "agent", sorted(EXAMPLES.glob("*/agent*.py")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_an_agent_knows_nothing_of_the_provider(agent: Path) -> None:
    text = agent.read_text(encoding="utf-8")
    imported = {
        name
        for node in ast.walk(ast.parse(text))
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }
    assert not {name for name in imported if name.startswith("reenact.")}
    assert "scripted" not in text
