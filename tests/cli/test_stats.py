"""Runs, bytes, tokens and money added up: each thing once, for the run that did it; an unknown price is never a sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reenact.abc.store import Store
from reenact.facts.call import Call, Effect, End, EndKind, Kind, Value
from reenact.facts.record import (
    CallIssued,
    CallSettled,
    EvidenceNoted,
    HeadArrived,
    LaneOpened,
    Record,
    RunClosed,
    RunOpened,
    StreamEnded,
)
from reenact.facts.run import Run, Status, Totals
from reenact.interfaces.cli import run_opening
from reenact.interfaces.cli.charts import days_between, encodes, sparkline
from reenact.store.memory_store import MemoryStore
from reenact.store.sqlite_store import SqliteStore
from reenact.timetravel.cost import prices
from reenact.timetravel.spending import Account, account_of
from tests.cli.conftest import Answer
from tests.cli.record_store import RecordStore
from tests.store.records import new_run

USAGE = {"tokens_in": 1000, "tokens_out": 100}
MINI = {"dialect": "openai.chat", "provider": "openai", "model_answered": "gpt-4o-mini-2024-07-18", "usage": USAGE}
"""0.00021 dollars."""
OWN = {"dialect": "openai.chat", "provider": "", "model_asked": "llama-at-home", "usage": USAGE}
DAY_US = 86_400_000_000


def asks(event: int, reading: Any, lane: int = 0, kind: Kind = Kind.HTTP, parent: int | None = None) -> list[Record]:
    """A model is asked."""
    call = Call(kind, f"model {event}", Effect.READ, "test/1", body=b'{"q": 1}', head={"method": "POST"})
    issued = CallIssued(event, lane, event, parent, event * 10, call)
    if kind is Kind.MODEL:
        return [issued, CallSettled(event, event * 10 + 5, Value(b"1"))]
    ends: list[Record] = [HeadArrived(event, 1, {"status": 200}), StreamEnded(event, 2, End(EndKind.EOF))]
    return [issued, *ends, *([EvidenceNoted(event, "reading", reading)] if reading else [])]


def kept(store: Store, *records: Record, models: int, run: Run | None = None, **fields: Any) -> Run:
    """A run that has ended."""
    run = run or new_run(**fields)
    status = fields.pop("status", Status.OK)
    log = store.begin(replace(run, status=Status.RECORDING))
    log.write([RunOpened(run), LaneOpened(0, "root", None), *records])
    log.write([RunClosed(replace(run, status=status, ended_us=run.started_us + 9, totals=Totals(9, models)))])
    log.close()
    return store.run(run.id)


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Of rows, which are read at once, and of views."""
    if request.param == "memory":
        yield MemoryStore("memory:")
        return
    with SqliteStore(tmp_path / "kept" / "store.db", own_directory=True) as found:
        yield found


def counted(store: Store, *runs: Run) -> Account:
    return account_of(store, runs or list(store.runs()), prices())


def test_a_call_is_counted_once_for_the_run_that_made_it(store: Store) -> None:
    outer = new_run(agent="outer")
    inner = replace(new_run(agent="inner"), parent=outer.id, relation="child", lane="root/inner#1")
    kept(
        store,
        *asks(0, MINI),
        LaneOpened(1, "root/inner#1", 0),
        RunOpened(inner),
        *asks(1, MINI, lane=1),
        *asks(2, OWN, lane=1),
        RunClosed(replace(inner, status=Status.OK, ended_us=inner.started_us + 5, totals=Totals(2, 2))),
        models=3,
        run=outer,
    )
    found = counted(store).by(["agent"])
    assert {key: (of.runs, of.models, of.tokens_in, of.cost) for key, of in found.items()} == {
        ("outer",): (1, 1, 1000, Decimal("0.00021")),
        ("inner",): (1, 2, 2000, Decimal("0.00021")),
    }
    assert dict(found["inner",].unpriced) == {"llama-at-home": 1} and found["outer",].whole
    alone = counted(store, store.run(inner.id)).sums
    assert list(alone) == [inner.id] and alone[inner.id].models == 2


def test_a_fork_costs_what_it_asked_anew(store: Store) -> None:
    parent = kept(store, *asks(0, MINI), *asks(1, MINI), *asks(2, MINI), models=3)
    calls = [*asks(0, MINI), *asks(1, MINI), *asks(2, MINI)]
    killed = kept(store, *calls, models=3, parent=parent.id, relation="fork", fork_event=1)
    told = kept(store, *calls, models=3, parent=parent.id, relation="fork", fork_event=1, environment={"asked": [2]})
    replayed = kept(store, *calls, models=3, parent=parent.id, relation="replay")
    resumed = kept(store, *calls, models=3, environment={"resumed": [{"at": 2}]})
    sums = counted(store).sums
    figures = [sums[run.id].models for run in (parent, killed, told, replayed, resumed)]
    assert figures == [3, 2, 1, 0, 1]


def test_what_has_no_price_is_counted_and_named(store: Store) -> None:
    kept(store, *asks(0, MINI), *asks(1, None, kind=Kind.MODEL), models=2, agent="a")
    kept(store, *asks(0, None, kind=Kind.MODEL), *asks(1, MINI, parent=0), models=2, agent="b")
    kept(store, *asks(0, OWN), EvidenceNoted(None, "cost", 0.5), models=1, agent="c")
    found = {key[0]: of for key, of in counted(store).by(["agent"]).items()}
    assert dict(found["a"].unpriced) == {"model 1": 1} and found["a"].cost == Decimal("0.00021")
    assert found["b"].whole and found["b"].cost == Decimal("0.00021")
    assert found["c"].whole and found["c"].cost == Decimal("0.5")


def test_answers_that_nobody_has_read_are_not_taken_for_nothing(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "kept" / "store.db", own_directory=True) as store:
        kept(store, *asks(0, MINI), *asks(1, None), models=2)
        (total,) = counted(store).by([]).values()
        assert total.models == 2 and not total.whole


def test_bytes_are_those_of_the_runs_own_log(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "kept" / "store.db", own_directory=True) as store:
        small = kept(store, *asks(0, MINI), models=1)
        large = kept(
            store, *asks(0, {**MINI, "text": "x"}), EvidenceNoted(None, "long", "0123456789abcdef" * 2000), models=1
        )
        sums = counted(store).sums
        assert 0 < sums[small.id].size < sums[large.id].size


@pytest.fixture
def filled(store: Store, record_store: RecordStore, monkeypatch: pytest.MonkeyPatch) -> Store:
    first = 1_760_000_000_000_000
    for n, agent in enumerate(("refunds", "refunds", "search")):
        status = Status.FAILED if n == 1 else Status.OK
        fields = {"agent": agent, "tenant": "acme", "started_us": first + n * DAY_US}
        kept(store, *asks(0, OWN if n == 2 else MINI), models=1, run=new_run(**fields), status=status)
    again = store if isinstance(store, MemoryStore) else None
    monkeypatch.setattr(
        run_opening,
        "open_store",
        lambda url=None: again or SqliteStore(store.path, own_directory=True),  # type: ignore
    )
    return store


def test_the_command_adds_up(filled: Store, reenact: Callable[..., Answer]) -> None:
    told = reenact("stats")
    assert [line.split()[:3] for line in told.lines] == [
        ["AGENT", "RUNS", "FAILED"], ["refunds", "2", "1"], ["search", "1", "0"], ["total", "3", "1"],
    ]  # fmt: skip
    assert "0.00042 + ?" in told.lines[-1] and "0.00042 + ?" not in told.lines[1]
    assert "1 model call without a price, for which nothing is added: llama-at-home (1)" in told.err
    *groups, total = reenact("--json", "stats", "--by", "day", "--by", "class").data
    assert [(each["day"], each["class"]) for each in groups] == [
        ("2025-10-11", "ok"), ("2025-10-10", "failed"), ("2025-10-09", "ok"),
    ]  # fmt: skip
    assert groups[0]["cost"] is None and groups[1]["cost"] == 0.00021
    assert total["cost"] is None and total["cost_known"] == 0.00042 and total["unpriced_models"] == {"llama-at-home": 1}
    (only, _) = reenact("--json", "stats", "--agent", "search", "--by", "tenant").data
    assert (only["tenant"], only["runs"], only["tokens_in"]) == ("acme", 1, 1000)
    assert reenact("stats", "--agent", "nobody").err.startswith("no matching runs")


def test_without_a_price_list_no_cost_is_said(
    filled: Store, reenact: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reenact.interfaces.cli.commands.stats.prices", lambda: None)
    told = reenact("stats")
    assert [line.split()[-3] for line in told.lines[1:]] == ["?", "?", "?"]
    assert "pip install" in told.err and reenact("--json", "stats").data[-1]["cost"] is None


def test_bars_are_as_high_as_their_figures() -> None:
    assert sparkline([0, 1, 4, 8], "▁▂▃▄▅▆▇█") == " ▁▄█"
    assert sparkline([0, 1, 800, 8], "_.:-=+*#") == " _#_"
    assert sparkline([0, 0], "_#") == "  "
    assert days_between("2025-02-27", "2025-03-01", 40) == ["2025-02-27", "2025-02-28", "2025-03-01"]
    assert days_between("2020-01-01", "2025-03-01", 2) == ["2025-02-28", "2025-03-01"]
    assert encodes("▁", "utf-8") and not encodes("▁", "latin-1") and not encodes("▁", None)
