"""An expression over runs is narrowed by what indices know, and what it finds stays what it finds by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.expressions import compile_expression
from reenact.facts.record import Record
from reenact.facts.run import Run, Status, Totals
from reenact.store.sqlite_store import SqliteStore
from reenact.timetravel.narrowed_query import OF_ROW, NarrowedQuery
from reenact.timetravel.vocabulary import RUN_WORDS, RunScope
from tests.store.records import closing, issued, new_run, opening, settled


def narrowing(text: str) -> NarrowedQuery:
    return NarrowedQuery(compile_expression(text, RUN_WORDS))


@pytest.mark.parametrize(
    ("text", "filters", "reads"),
    [
        ("tenant == 'acme'", {"tenant": "acme"}, ["index"]),
        ("'acme' == tenant and calls(search_docs) > 5", {"tenant": "acme"}, ["index", "events"]),
        ("tag(env) == 'prod' and tag('build') == '7'", {"tag": {"env": "prod", "build": "7"}}, ["index", "index"]),
        ("failed and tokens > 9", {"failed": True}, ["index", "row"]),
        ("not failed and (user == 'u' and models)", {"failed": False, "user": "u"}, ["index", "index", "row"]),
        ("failed == False", {"failed": False}, ["index"]),
        ("user == 'u' or session == 's'", {}, ["row"]),
        ("not (user == 'u')", {}, ["row"]),
        ("user != 'u'", {}, ["row"]),
        ("user == None", {}, ["row"]),
        ("user == session", {}, ["row"]),
        ("tag(env)", {}, ["row"]),
        ("calls(user) == 1", {}, ["events"]),
        ("any(each == 'x' for each in tags)", {}, ["row"]),
        ("matches(error, 'no') and json(result) == 1", {}, ["row", "events"]),
        ("user == 'a' and user == 'b'", {"user": "a"}, ["index", "index"]),
    ],
)  # fmt: skip
def test_parts_are_told_apart(text: str, filters: dict[str, Any], reads: list[str]) -> None:
    found = narrowing(text)
    assert found.filters == filters
    assert [part.reads for part in found.parts] == reads


@pytest.mark.parametrize("name", sorted(OF_ROW - {"tag"}))
def test_what_is_said_to_be_of_the_row_opens_no_log(name: str) -> None:
    def opened() -> NoReturn:
        raise AssertionError(name)

    RunScope(Run("01m8dw3fm79gxbgzy7", ended_us=5), opened).value(name)


def test_events_are_read_last() -> None:
    asked: list[str] = []

    def opened() -> NoReturn:
        asked.append("log")
        raise AssertionError

    scope = RunScope(Run("01m8dw3fm79gxbgzy7", totals=Totals(tools=3)), opened)
    assert not narrowing("calls(search_docs) > 5 and tools > 7").holds(scope) and not asked
    with pytest.raises(AssertionError):
        narrowing("calls(search_docs) > 5 and tools > 2").holds(scope)


def test_options_go_before_the_expression() -> None:
    found = narrowing("user == 'a' and tag(env) == 'x' and tag(n) == '1'")
    assert found.among({"user": "b", "tag": {"env": "y"}}) == {"user": "b", "tag": {"env": "y", "n": "1"}}
    assert narrowing("tokens > 1").among({"limit": 3}) == {"limit": 3}


PARTS = st.sampled_from(
    ("user == 'u'", "'v' == user", "tenant == 't'", "failed", "not failed", "failed == True", "status == 'ok'",
     "tag(env) == 'x'", "tag(env) != 'x'", "agent == 'a'", "user == None", "calls(search_docs) > 0", "tools > 0",
     "status == 'nothing'", "session == 's' or agent == 'a'", "len(tags) > 0")
)  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of runs of each sort."""
    place = tmp_path_factory.mktemp("narrowing") / "store.db"
    with SqliteStore(place) as store:
        for number in range(24):
            run = new_run(
                user=("u", "v", None)[number % 3],
                tenant=("t", None)[number % 2],
                agent=("a", "")[number // 3 % 2],
                session=("s", None)[number // 2 % 2],
                tags={"env": "xy"[number // 6 % 2]} if number % 5 else {},
            )
            log = store.begin(run)
            called: list[Record] = [issued(0), settled(0)] if number % 4 else []
            end = closing(run, Status.FAILED if number % 7 == 0 else Status.OK)
            log.write(
                [*opening(run), *called, replace(end, run=replace(end.run, totals=Totals(tools=len(called) // 2)))]
            )
            log.close()
    return place


@given(st.lists(PARTS, min_size=1, max_size=4))
def test_what_is_found_is_what_the_expression_finds_by_itself(path: Path, parts: list[str]) -> None:
    text = " and ".join(f"({part})" for part in parts)
    expression = compile_expression(text, RUN_WORDS)
    found = NarrowedQuery(expression)
    with SqliteStore(path) as store:

        def scope(run: Run) -> RunScope:
            return RunScope(run, lambda: store.open(run))

        narrowed = [run.id for run in store.runs(**found.among({})) if found.holds(scope(run))]
        assert narrowed == [run.id for run in store.runs() if expression.holds(scope(run))]
