"""The incidents of the examples as goldens: each fails on the agent that caused it, and passes on the mended one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reenact.testing import ProviderProcess
from tests import commands

EXAMPLES = Path(__file__).parents[2] / "examples"
OWN = {"order": "#5093", "customer": "u_7710", "status": "packed", "arrives": "on Friday"}
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("refund_loop", "order_lookup", "due_today"):
        shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(place: Path) -> Run:
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("REENACT", "OPENAI_", "ANTHROPIC_"))}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", "")])
    environment = {**kept, "PATH": path, "HOME": str(place), "NO_COLOR": "1"}

    def command(*words: str, status: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        done = commands.run(
            [sys.executable, "-m", "reenact", *words],
            cwd=place,
            env={**environment, **more},
            capture_output=True,
            text=True,
            check=False,
            timeout=110,
        )
        assert done.returncode == status, f"{done.returncode}: {done.stdout}{done.stderr}"
        return done

    return command


def outcome(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def edited(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text(encoding="utf-8")
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    path.write_text(text, encoding="utf-8")


def test_the_refund_loop_is_bounded_and_says_that_it_has_no_documents(place: Path, run: Run) -> None:
    agent = place / "refund_loop" / "agent.py"
    with ProviderProcess(place / "refund_loop" / "world.py") as world:
        run("record", "--", "python", str(agent), "What is your refund policy?", status=1, **world.environment())
    said = run(
        *("golden", "add", "@", "--as", "refund-loop", "--about", "it searched until it timed out"),
        *("--expect", "calls(search_docs) <= 3", "--expect", "'have any documents' in answer"),
    )
    assert "calls(search_docs) = 20, expected <= 3" in said.stderr
    found = outcome(run("golden", "run", "refund-loop", "--json", status=1))
    assert [each["holds"] for each in found["judged"]] == [False, False]
    edited(agent, ('"REFUND_AGENT_VERSION", "v1"', '"REFUND_AGENT_VERSION", "v2_with_empty_check"'))
    found = outcome(run("golden", "run", "refund-loop", "--json"))
    assert (found["status"], found["boundaries"], found["used"]) == ("passed", 2, {}), "one question and one search"


def test_an_order_is_looked_up_for_its_own_customer_and_tenant(place: Path, run: Run) -> None:
    agent = place / "order_lookup" / "agent.py"
    with ProviderProcess(place / "order_lookup" / "world.py") as world:
        whose = ("--user", "u_7710", "--tenant", "shop_4")
        environment = {**world.environment(), "ORDERS_URL": world.url}
        run("record", *whose, "--", "python", str(agent), "Where is my order?", **environment)
    arguments = {"query": "my order", "user_id": "u_7710"}
    scripts = {
        "use": {"say": "Let me look.", "uses": [{"name": "lookup_order", "arguments": arguments}]},
        "said": {"say": "Your order #5093 is packed and arrives on Friday."},
        "found": {"orders": [OWN], "count": 1},
    }
    for name, value in scripts.items():
        (place / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    run(
        *("golden", "add", "@", "--as", "wrong-customer", "--expect", "not matches(answer, '#(4421|3987)')"),
        *("--expect", "calls(lookup_order) > 0 and all(a['user_id'] == user for a in args(lookup_order))"),
        *("--expect", "calls(lookup_order) > 0 and all(a['tenant'] == tenant for a in args(lookup_order))"),
        *("--answer", "model=@use.json", "--answer", "model=@said.json", "--answer", "lookup_order=@found.json"),
    )
    assert outcome(run("golden", "run", "--json", status=1))["status"] == "failed"
    edited(
        agent,
        ("import httpx2\n", "import httpx2\nimport reenact\n"),
        ('"properties": {"query": {"type": "string"}}', '"properties": {"query": {}, "user_id": {"type": "string"}}'),
        ('"required": ["query"]', '"required": ["query", "user_id"]'),
        ("def lookup_order(orders: httpx2.Client, query: str)", "def _find(orders: httpx2.Client, query: str)"),
        ('lookup_order(orders, str(use.input["query"]))', "lookup_order(**use.input, tenant='shop_4')"),
        (
            "\n\ndef answer(",
            "\n\n@reenact.tool(effect='read')\ndef lookup_order(query, user_id, tenant):\n    ...\n\n\ndef answer(",
        ),
    )
    found = outcome(run("golden", "run", "--json"))
    assert (found["status"], found["used"]) == ("passed", {"scripted": 3})
    edited(agent, ("tenant='shop_4'", "tenant='shop_5'"))
    assert outcome(run("golden", "run", "--json", status=1))["judged"][2]["holds"] is False


def test_what_was_due_today_is_so_at_any_hour_and_in_any_time_zone(place: Path, run: Run) -> None:
    with ProviderProcess(place / "due_today" / "world.py") as world:
        run("record", "--", "python", str(place / "due_today" / "at_midnight.py"), TASKS_URL=world.url)
    run("golden", "add", "@", "--as", "due-today", "--no-test")
    for zone in ("Asia/Tokyo", "America/Los_Angeles"):
        found = outcome(run("golden", "run", "due-today", "--json", TZ=zone))
        assert found["status"] == "passed" and found["boundaries"] > 0
