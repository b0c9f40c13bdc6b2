"""A parameter that is a tool's own state is no part of its key: it is digested, and named as not compared."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import reenact
from reenact.errors import Divergence, UsageError
from reenact.timetravel.story import tell

_Database = dict[str, dict[str, Any]]


@reenact.tool(state=("db",))
def look(db: _Database, user: str) -> str:
    """Reads the database."""
    return str(db[user]["plan"])


@reenact.tool(state="db")
def change(db: _Database, user: str, plan: str) -> _Database:
    """Changes the database, and hands it back itself."""
    db[user]["plan"] = plan
    return db


@reenact.tool(state=("db",))
async def look_later(user: str, *, db: _Database | None = None) -> str:
    """The same, awaited."""
    return str((db or {})[user]["plan"])


@reenact.tool(state=("door",))
def knock(door: object) -> str:
    """Its state cannot be stored."""
    return "who is there?"


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Iterator[reenact.Store]:
    with reenact.open_store(f"memory:{request.node.nodeid}") as opened:
        yield opened


def _agent(plan: str = "small", user: str = "ann") -> Callable[[], str]:
    def agent() -> str:
        db = {"ann": {"plan": plan}, "bob": {"plan": "none"}}
        first = look(db, "ann")
        changed = change(db, user, "large")
        assert changed is db
        return first + look(db, "bob") + asyncio.run(look_later("ann", db=db)) + knock(object())

    return agent


def test_it_is_digested_before_and_after_and_no_part_of_what_is_asked(store: reenact.Store) -> None:
    run = reenact.record(_agent(), store=store)
    run()
    recording = store.open("@")
    looked, changed, again, later, knocked = recording.events(kinds=("tool",))
    assert recording.body(changed.request) == b'{"user":"ann","plan":"large"}'
    assert changed.call.head["state"] == ["db"]
    before, after = changed.outcome.head["state"]["db"]  # type: ignore[union-attr]
    assert before != after and len(before) == 32
    assert looked.outcome.head["state"] == {"db": [before, before]}  # type: ignore[union-attr]
    assert again.outcome.head["state"] == later.outcome.head["state"] == {"db": [after, after]}  # type: ignore[union-attr]
    assert knocked.outcome.head["state"] == {"door": [None, None]}  # type: ignore[union-attr]
    assert not {"opaque", "mutates", "unchecked"} & {*knocked.call.head, *changed.outcome.head}  # type: ignore[union-attr]


def test_a_replay_names_it_as_not_compared(store: reenact.Store) -> None:
    reenact.record(_agent(), store=store)()
    for same in (_agent(), _agent(plan="another")):
        replayed = reenact.replay("@", entry=same, store=store)
        assert replayed.verdict == "exact" and replayed.output == "smallnonelargewho is there?"
        assert replayed.report.not_compared == ("db", "door")
        assert replayed.report.last_line.startswith("verdict: same (exact), not compared: db, door  ")
    with pytest.raises(Divergence, match=r"arguments\.user"):
        reenact.replay("@", entry=_agent(user="bob"), store=store)


def test_without_a_state_nothing_is_left_out(store: reenact.Store) -> None:
    @reenact.tool
    def plain(db: dict[str, int]) -> str:
        return str(db)

    reenact.record(lambda: plain({"a": 1}), store=store)()
    replayed = reenact.replay("@", entry=lambda: plain({"a": 1}), store=store)
    assert replayed.report.not_compared == () and "not compared" not in replayed.report.last_line
    with pytest.raises(Divergence):
        reenact.replay("@", entry=lambda: plain({"a": 2}), store=store)


def test_a_state_is_an_argument() -> None:
    def look_up(db: _Database) -> int:
        return len(db)

    with pytest.raises(UsageError, match="state 'base' is no parameter of look_up") as refused:
        reenact.tool(state=("base",))(look_up)
    assert "a state is one of db" in str(refused.value)

    class Toolbox:
        def ask(self, what: str) -> str:
            return what

    with pytest.raises(UsageError, match="state 'self' is no argument of ask"):
        reenact.tool(state=("self",))(Toolbox.ask)


def test_a_call_with_a_large_argument_is_told_by_its_size(store: reenact.Store) -> None:
    @reenact.tool
    def ask(db: dict[str, str], user: str) -> str:
        return user

    with reenact.record(store=store):
        ask({"a": "x" * 300_000}, "ann")
    (line,) = [line for line in tell(store.open("@")) if line.kind == "tool"]
    assert line.text == '(<300.0 kB>) -> "ann"'


def test_a_credential_in_it_is_no_part_of_the_digest(store: reenact.Store) -> None:
    """A reader of the run could try candidates otherwise."""

    def digest_of(secret: str, plan: str = "small") -> str:
        db = {"ann": {"plan": plan, "password": secret}}
        reenact.record(lambda: look(db, "ann"), store=store)()
        (looked,) = store.open("@").events(kinds=("tool",))
        return str(looked.outcome.head["state"]["db"][0])  # type: ignore[union-attr]

    assert digest_of("tr0ub4dor&3") == digest_of("c0rrect-h0rse") != digest_of("tr0ub4dor&3", "large")
