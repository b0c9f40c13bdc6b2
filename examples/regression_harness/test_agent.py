"""The harness: expectations over a recorded run; today's code over a recorded tool, a scripted model, a still clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import agent
import pytest
from openai import OpenAI

import reenact
from reenact.testing import (
    Expectation,
    RecordedTool,
    Said,
    ToolUse,
    expect,
    expecting,
    frozen_clock,
    recorded_tool,
    scripted_model,
    seeded_entropy,
)

STORE = f"sqlite:///{Path(__file__).with_name('recordings.db')}"
QUESTION = "Which of my orders arrives today?"

EXPECTED = [
    expecting.call("find_orders", times=1),
    expecting.all_answered(),
    expecting.no_loop(at_most=1),
    expect("all(a['user_id'] == user for a in args(find_orders))"),
    expect("matches(answer['text'], '#5093') and not matches(answer['text'], '#4421')"),
    expecting.answer(
        conforms={"required": ["reference", "text"], "properties": {"reference": {"pattern": "^T-[0-9a-f]{8}$"}}}
    ),
]


@pytest.fixture
def find_orders(monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordedTool]:
    """The tool, as it answered then: what it was not asked, it does not answer, and the test fails."""
    with recorded_tool("@", "find_orders", agent.find_orders, store=STORE) as stub:
        monkeypatch.setattr(agent, "find_orders", stub)
        yield stub


@pytest.mark.parametrize("expectation", EXPECTED, ids=str)
def test_the_recorded_run_is_as_expected(expectation: Expectation) -> None:
    """What must hold holds on the run that was kept."""
    with reenact.open_store(STORE) as store:
        verdict = expectation.judge(store.open(store.run("@")))
    assert verdict.holds, str(verdict)


def answered(user_id: str = "u-17", *, expected: str) -> dict[str, str]:
    """What today's code answers, when the model says what it said then and must be told ``expected``."""
    with (
        scripted_model(ToolUse("find_orders"), Said("Your order #5093 arrives today.", asked=expected)) as model,
        OpenAI(base_url=model.openai_url, api_key=model.key) as client,
    ):
        said: dict[str, str] = agent.answer(client, QUESTION, user_id)
        return said


@pytest.mark.parametrize("at", ["2026-11-21T00:00:00Z", "2026-11-21T23:59:59.9Z"])
def test_the_order_is_due_all_day_long(find_orders: RecordedTool, at: str) -> None:
    """At its first moment and at its last."""
    with frozen_clock(at):
        told = answered(expected='"number": 5093, "arrives": "2026-11-21", "due_today": true')
    assert told["text"] == "Your order #5093 arrives today."


def test_a_moment_later_it_is_not(find_orders: RecordedTool) -> None:
    """The model is told so; what it makes of that is not this test's affair."""
    with frozen_clock("2026-11-22T00:00:00Z"):
        answered(expected='"number": 5093, "arrives": "2026-11-21", "due_today": false')


def test_a_reference_is_eight_characters_of_chance() -> None:
    """Chance comes from a seed."""
    with seeded_entropy(7):
        assert [agent.reference(), agent.reference()] == ["T-190dc9db", "T-a4cf4ae6"]


def test_only_the_customers_orders_are_looked_up(find_orders: RecordedTool) -> None:
    """The tool answers for the recorded customer alone."""
    answered(expected="5093")
    assert len(find_orders.used) == 1
