"""What runs cost: summed in decimals from what providers counted, and unknown as soon as any part of it is unknown."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.call import Kind
from reenact.facts.run import Status
from reenact.interfaces.cli.main import cli
from reenact.timetravel import cost
from reenact.timetravel.cost import reading_cost, run_cost
from tests.cli.conftest import Answer
from tests.cli.record_store import RecordStore
from tests.cli.scenes import START_US, Scene

USAGE = {"tokens_in": 1000, "tokens_out": 100}
MINI = {"dialect": "openai.chat", "provider": "openai", "model_answered": "gpt-4o-mini-2024-07-18", "usage": USAGE}
MINI_COST = Decimal("0.00021")
"""1000 tokens in at 15 cents a million, 100 out at 60 cents."""


def a_tenth(provider: str, model: str, counts: Mapping[str, int], at: datetime) -> Decimal | None:
    """A price list with one entry: ten cents a call."""
    assert at.year == 2025
    return Decimal("0.1") if (provider, model) == ("openai", "gpt-x") else None


X = {"provider": "openai", "model_asked": "gpt-x", "usage": USAGE}


SEEDS = itertools.cycle(range(10, 200))


def recorded(record_store: RecordStore, *readings: Any, **totals: int) -> Scene:
    scene = Scene(record_store, next(SEEDS), agent="paid")
    for reading in readings:
        scene.http(b'{"q": 1}', b"{}", reading=reading)
    scene.close(Status.OK, totals={"models": len(readings), **totals})
    return scene


def test_the_command_line_shows_and_asks_for_cost(record_store: RecordStore, reenact: Callable[..., Answer]) -> None:
    recorded(record_store, MINI, MINI, tokens_in=2000, tokens_out=200)
    (listed,) = reenact("--json", "ls").data
    assert listed["cost"] == 0.00042
    lines = reenact("--json", "show", "@").data
    assert [one.get("cost") for one in lines] == [0.00042, 0.00021, 0.00021]
    assert reenact("--json", "show", "@:0").data[0]["cost"] == 0.00021
    assert "  $0.00042" in reenact("show", "@").lines[0]
    assert len(reenact("--json", "ls", "--where", "cost == 0.00042 and tokens == 2200").data) == 1
    assert reenact("--json", "ls", "--where", "cost > 0.00042").data == []


def test_the_bundled_prices_are_those_that_are_known() -> None:
    priced = cost.prices()
    assert priced is not None
    assert reading_cost(MINI, START_US, priced) == MINI_COST
    cached = {**MINI, "usage": {**USAGE, "cached": 1000}}
    assert reading_cost(cached, START_US, priced) == Decimal("0.000135")
    embedding = {"sort": "embedding", "provider": "openai", "model_asked": "text-embedding-3-small"}
    assert reading_cost({**embedding, "usage": {"tokens_in": 1000}}, START_US, priced) == Decimal("0.00002")
    nova = {"provider": "bedrock", "model_asked": "us.amazon.nova-micro-v1:0", "usage": USAGE}
    assert reading_cost(nova, START_US, priced) == Decimal("0.000049")


@pytest.mark.parametrize(
    "change",
    [
        {"provider": "127.0.0.1"},
        {"provider": ""},
        {"model_asked": "gpt-unheard-of"},
        {"model_asked": ""},
        {"usage": {}},
        {"usage": {"tokens_in": 1000}},
        {"partial": True},
        {"error": {"status": 0, "type": "overloaded_error"}, "usage": {}},
        {"params": {"service_tier": "flex"}},
    ],
)
def test_what_is_not_known_makes_the_whole_unknown(record_store: RecordStore, change: Any) -> None:
    known = recorded(record_store, X, X)
    assert run_cost(record_store.open(known.run), a_tenth) == Decimal("0.2")
    unknown = recorded(record_store, X, {**X, **change}, X)
    assert run_cost(record_store.open(unknown.run), a_tenth) is None


def test_a_refused_call_costs_nothing_and_no_prices_are_no_zero(record_store: RecordStore) -> None:
    refused = {"provider": "openai", "error": {"status": 429, "type": "rate_limit"}}
    run = record_store.open(recorded(record_store, refused, X).run)
    assert run_cost(run, a_tenth) == Decimal("0.1")
    assert run_cost(run, None) is None
    assert run_cost(record_store.open(recorded(record_store).run), a_tenth) is None


def test_an_exchange_whose_reading_was_left_out_is_read_then(record_store: RecordStore) -> None:
    scene = Scene(record_store, 9, agent="paid")
    request = {"model": "gpt-x", "messages": [{"role": "user", "content": "hi"}]}
    scene.http(json.dumps(request).encode(), b'{"choices": [{"message": {}}]}')
    scene.http(b'{"q": 1}', b"{}", reading=X)
    scene.close(Status.OK, totals={"models": 1})
    assert run_cost(record_store.open(scene.run), a_tenth) is None


def test_a_model_in_the_process_is_known_only_by_the_exchanges_it_makes(record_store: RecordStore) -> None:
    scene = Scene(record_store, 9, agent="paid")
    outer = scene.issue(Kind.MODEL, "ask")
    scene.http(b'{"q": 1}', b"{}", reading=X, parent=outer)
    scene.settle(outer, "said")
    inside = scene.close(Status.OK, totals={"models": 2})
    assert run_cost(record_store.open(inside), a_tenth) == Decimal("0.1")
    scene = Scene(record_store, 8, agent="paid")
    scene.settle(scene.issue(Kind.MODEL, "ask"), "said")
    scene.http(b'{"q": 1}', b"{}", reading=X)
    alone = scene.close(Status.OK, totals={"models": 2})
    assert run_cost(record_store.open(alone), a_tenth) is None


def test_what_the_program_noted_wins(record_store: RecordStore, reenact: Callable[..., Answer]) -> None:
    scene = Scene(record_store, 9, agent="paid")
    scene.http(b'{"q": 1}', b"{}", reading={**X, "partial": True})
    scene.note("cost", 0.004)
    scene.close(Status.OK, totals={"models": 1})
    assert reenact("--json", "ls").data[0]["cost"] == 0.004


@given(st.integers(1, 40))
def test_sums_are_exact(times: int) -> None:
    record_store = RecordStore()
    run = record_store.open(recorded(record_store, *[X] * times).run)
    assert run_cost(run, a_tenth) == Decimal(times) / 10


def test_without_the_extra_cost_is_unknown_and_nothing_else_changes(
    record_store: RecordStore, reenact: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(record_store, MINI, tokens_in=1000, tokens_out=100)
    monkeypatch.setattr(cost, "prices", lambda: None)
    for module in ("priced_runs", "vocabulary"):
        monkeypatch.setattr(f"reenact.timetravel.{module}.prices", lambda: None)
    assert "cost" not in reenact("--json", "ls").data[0]
    assert reenact("--json", "ls", "--where", "cost >= 0").data == []
    assert CliRunner().invoke(cli, ["ls"]).exit_code == 0


def test_nothing_is_fetched_and_nothing_is_loaded_before_it_is_wanted() -> None:
    program = """
import sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise SystemExit(f"contact: {event} {arguments}")
sys.addaudithook(refuse)
import reenact.interfaces.cli.main, reenact.timetravel.vocabulary as words
assert "genai_prices" not in sys.modules
import threading
from reenact.timetravel.cost import prices
from datetime import datetime, timezone
assert prices()("openai", "gpt-4o", {"input_tokens": 1, "output_tokens": 1}, datetime.now(timezone.utc))
assert threading.active_count() == 1
sys.modules["genai_prices.data_snapshot"] = None
prices.__globals__["_prices"].cache_clear()
assert prices() is None
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "model",
    [("openai", "gpt-4o-mini"), ("anthropic", "claude-sonnet-4-5"), ("google", "gemini-2.5-pro"), ("openai", "o3"),
     ("deepseek", "deepseek-chat"), ("cohere", "command-r")],
)  # fmt: skip
def test_a_remembered_price_is_the_price_list_s(model: tuple[str, str]) -> None:
    """Whatever was priced before: of models with tiers and with prices that change, nothing is remembered."""
    remembering, moments = cost.prices(), (datetime(2024, 3, 1, 3, tzinfo=UTC), datetime(2025, 9, 1, 18, tzinfo=UTC))
    assert remembering is not None
    for names in (("input_tokens", "output_tokens"), ("input_tokens", "output_tokens", "cache_read_tokens")):
        for at in moments:
            for figures in ((900_000, 7, 3), (0, 0, 0), (1000, 100, 1000), (250_001, 1, 17), (13, 999_999, 13)):
                counts = dict(zip(names, figures, strict=False))
                cost._prices.cache_clear()
                fresh = cost.prices()
                assert fresh is not None
                assert remembering(*model, counts, at) == fresh(*model, counts, at)
