"""Filters find the runs that agree with them, in order, by whatever way they are looked for, without their rows."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.ids import make_run_id
from reenact.facts.record import LaneOpened, Record, RunClosed, RunOpened
from reenact.facts.run import Run, Status
from reenact.store import hits, run_query
from reenact.store.full_text import occurs
from reenact.store.sqlite_log import write_whole
from reenact.store.sqlite_store import SqliteStore
from tests.store.records import issued

START_US = 1_700_000_000_000_000
RUNS = 150
WORDS = ("refund", "refunds", "order", "orderly", "odd", "zoë")


def made(number: int, chance: random.Random) -> tuple[Run, str]:
    """A run with what filters ask for, and its text. Numbers do not follow the ids, and some share a millisecond."""
    at = START_US + chance.randrange(60) * 1000
    run = Run(
        make_run_id(at, number.to_bytes(5, "big")),
        agent=chance.choice("ab"),
        user=chance.choice(["u", "v", None]),
        tenant=chance.choice(["t", None]),
        session=str(chance.randrange(30)),
        tags={"env": chance.choice("xy"), "n": str(number % 40)},
        parent=chance.choice([None, None, "someone"]),
        started_us=at,
        status=chance.choice([Status.OK, Status.OK, Status.FAILED, Status.INTERRUPTED]),
    )
    return run, " ".join(chance.sample(WORDS, 3))


def log_of(run: Run, text: str) -> Iterator[Record]:
    """Its records."""
    yield RunOpened(replace(run, status=Status.RECORDING))
    yield LaneOpened(0, "root", None)
    yield issued(0, f'{{"q": "{text}"}}'.encode())
    if run.status is not Status.INTERRUPTED:  # which is what a dead recorder leaves: its end is not written
        yield RunClosed(replace(run, ended_us=run.started_us + 5))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of many runs."""
    place = tmp_path_factory.mktemp("finding") / "store.db"
    chance = random.Random(7)
    with SqliteStore(place) as store:
        writing, hasher = store._file.write()
        with writing.transaction() as connection:
            for number in range(RUNS):
                run, text = made(number, chance)
                write_whole(connection, replace(run, status=Status.RECORDING), log_of(run, text), hasher)
    return place


FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "agent": st.sampled_from(["a", "b", "c"]),
        "user": st.sampled_from(["u", "w"]),
        "tenant": st.sampled_from(["t", "s"]),
        "session": st.sampled_from(["3", "17", "x"]),
        "parent": st.sampled_from(["someone", "nobody"]),
        "tag": st.sampled_from([{"env": "x"}, {"env": "x", "n": "7"}, {"n": "x"}]),
        "since_us": st.integers(START_US, START_US + 61_000),
        "before_us": st.integers(START_US, START_US + 61_000),
        "status": st.sampled_from([Status.OK, Status.FAILED, Status.TIMEOUT, Status.INTERRUPTED]),
        "failed": st.booleans(),
        "text": st.sampled_from(["refund", "refun order", "odd zoë", "orderly", "lantern", "refunds odd", "!"]),
        "limit": st.integers(0, 90),
    },
)


def agrees(run: Run, text: str, wanted: Mapping[str, Any]) -> bool:
    """Whether a run agrees with filters, by its own words."""
    same = all(getattr(run, name) == wanted[name] for name in wanted.keys() & {
        "agent", "user", "tenant", "session", "parent", "status",
    })  # fmt: skip
    failed = wanted.get("failed")
    return (
        same
        and (wanted.get("tag") or {}).items() <= run.tags.items()
        and wanted.get("since_us", 0) <= run.started_us < wanted.get("before_us", 1 << 62)
        and (failed is None or failed == (run.status is not Status.OK))
        and occurs("" if run.status is Status.INTERRUPTED else text, wanted.get("text", ""))
    )


def expected(wanted: Mapping[str, Any]) -> list[str]:
    chance = random.Random(7)
    runs = [(number, *made(number, chance)) for number in range(RUNS)]
    found = [(run.id[:10], number, run.id) for number, run, text in runs if agrees(run, text, wanted)]
    return [name for *_, name in sorted(found, reverse=True)][: wanted.get("limit")]


@pytest.mark.parametrize("few", [0, 9, 2000])
@given(wanted=FILTERS)
def test_what_is_found_is_what_agrees(path: Path, few: int, wanted: dict[str, Any]) -> None:
    with pytest.MonkeyPatch.context() as patch, SqliteStore(path) as store:
        patch.setattr(run_query, "FEW", few)
        patch.setattr(hits, "FEW", few)
        patch.setattr(run_query, "_PAGE", 8)
        patch.setattr(hits, "_AHEAD", 5)
        patch.setattr(hits, "_FAR_APART", few // 3)
        assert [run.id for run in store.runs(**wanted)] == expected(wanted)


def without_index(path: Path, place: Path) -> Path:
    """The store as an older version made it."""
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(place)) as target:
        source.backup(target)
        target.execute("DROP INDEX run_found")
        target.commit()
    return place


def has_index(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        return run_query.has_narrow(lambda sql, values: connection.execute(sql, values).fetchall())


WANTED: tuple[dict[str, Any], ...] = ({"tenant": "t"}, {"user": "u", "text": "order"}, {"status": Status.TIMEOUT}, {})


def test_a_store_without_the_index_is_read_as_well(path: Path, tmp_path: Path) -> None:
    older = without_index(path, tmp_path / "store.db")
    os.chmod(older, 0o400)
    with SqliteStore(older) as store:
        for wanted in WANTED:
            assert [run.id for run in store.runs(**wanted)] == expected(wanted)
    assert not has_index(older)


def test_a_small_store_is_given_the_index_when_it_is_written_to(path: Path, tmp_path: Path) -> None:
    older = without_index(path, tmp_path / "store.db")
    with SqliteStore(older) as store:
        store.amend(next(store.runs()), flag="seen")
    assert has_index(older)


@pytest.mark.parametrize("way", ["gc", "migrate"])
def test_a_large_store_is_given_the_index_by_housekeeping(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    older = without_index(path, tmp_path / "store.db")
    monkeypatch.setattr(run_query, "_SMALL", 10)
    with SqliteStore(older) as store:
        store.amend(next(store.runs()), flag="seen")
        assert not has_index(older)
        if way == "gc":
            list(store.give_back())
        else:
            plan = store.migration().plan()
            assert not plan.is_new
            store.migration().migrate(store.writing(), plan, lambda *_: None)
            assert store.migration().plan().is_new
    assert has_index(older)


@pytest.mark.parametrize(
    "wanted",
    [
        {"tenant": "t"}, {"user": "u"}, {"session": "3"}, {"agent": "a"}, {"parent": "someone"}, {"since_us": START_US},
        {"status": Status.TIMEOUT}, {"status": Status.INTERRUPTED}, {"failed": True}, {"failed": False},
        {"tag": {"env": "x"}}, {"tenant": "t", "status": Status.OK, "before_us": START_US + 9, "user": "u"},
    ],
    ids=str,
)  # fmt: skip
def test_no_row_of_a_run_is_read_that_does_not_agree(
    path: Path, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, Any]
) -> None:
    """Asked of SQLite itself: runs are gone through by the index alone, in its order."""
    monkeypatch.setattr(run_query, "FEW", 0)
    with SqliteStore(path) as store:
        reading, _ = store._file.read()
        asked: list[tuple[str, Any]] = []
        ask = reading.rows

        def noting(sql: str, values: tuple[Any, ...] = ()) -> Any:
            asked.append((sql, values))
            return ask(sql, values)

        monkeypatch.setattr(reading, "rows", noting)
        list(store.runs(**wanted))
        walks = [(sql, values) for sql, values in asked if sql.startswith("SELECT r.id, r.run_id FROM run r")]
        assert walks
        for sql, values in walks:
            plan = [detail for *_, detail in ask(f"EXPLAIN QUERY PLAN {sql}", values)]
            assert plan[0].startswith("SEARCH r USING COVERING INDEX") and plan[0].endswith("(run_id<?)"), plan
            assert not any("TEMP B-TREE" in each or "SCAN" in each for each in plan), plan
