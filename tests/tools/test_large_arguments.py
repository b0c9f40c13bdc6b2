"""A large argument that hardly changes costs what is new in it, recorded or replayed, and what waits is bounded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import reenact
from reenact.errors import Divergence
from reenact.facts import credential_search, keys, weaving
from reenact.recording import writer

SECRET = "sk-proj-9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c"
CALLS = 12
_Database = dict[str, Any]


@reenact.tool(effect="read")
def look(db: _Database, user: str) -> str:
    """Reads the database."""
    return str(db["users"][user]["plan"])


@reenact.tool
def count(db: _Database, what: str) -> int:
    """Counts as a write, and changes nothing."""
    return len(db[what])


def database(secret: str = "") -> _Database:
    users = {f"user_{n}": {"plan": "small", "at": f"{n} Main Street", "orders": [n, n + 1]} for n in range(3000)}
    orders = {f"#W{n}": {"items": [{"id": n, "price": 1.5 * n, "options": {"color": "red"}}]} for n in range(4000)}
    return {"users": users, "orders": orders, "settings": {"api_key": secret} if secret else {}}


def agent(secret: str = "", plan: str = "plan") -> str:
    db = database(secret)
    said = []
    for n in range(CALLS):
        said.append(look(db, f"user_{n}"))
        said.append(str(count(db, "orders")))
        db["users"][f"user_{n + 1}"]["plan"] = f"{plan} {n}"  # the agent's own code
    return ", ".join(said)


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Iterator[reenact.Store]:
    with reenact.open_store(f"memory:{request.node.nodeid}") as opened:
        yield opened


def counted(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, size: Callable[..., int]) -> list[int]:
    """How much is given to a function from now on."""
    seen: list[int] = []
    real = getattr(where, name)

    def counting(*args: Any, **kwargs: Any) -> Any:
        seen.append(size(*args))
        return real(*args, **kwargs)

    monkeypatch.setattr(where, name, counting)
    return seen


def test_what_is_as_before_is_neither_encoded_nor_cleaned_again(
    store: reenact.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = len(json.dumps(database()))
    made = counted(monkeypatch, weaving, "_new", lambda blob, mapping: len(blob))
    looked_through = counted(monkeypatch, credential_search, "_spot", lambda data, *_: len(data))
    parsed = counted(monkeypatch, keys, "_fast_json", lambda body, paths, ignored: len(body))
    reenact.record(agent, store=store)()
    # The first sight costs what it costs, and what is encoded in a text is looked through beside it; a change costs its
    # piece and the pieces beside it, which are cut by the hashes of names. All of it each time would be 24 wholes.
    assert sum(made) < 4 * whole
    assert sum(looked_through) < 12 * whole
    assert sum(parsed) < 4 * whole
    for seen in (made, looked_through, parsed):
        seen.clear()
    replayed = reenact.replay("@", entry=agent, store=store)
    assert replayed.verdict == "exact" and replayed.matched >= 2 * CALLS
    assert sum(made) < 4 * whole and sum(looked_through) < whole and sum(parsed) < whole


def test_what_is_kept_is_what_was_asked_and_another_value_diverges(store: reenact.Store) -> None:
    reenact.record(agent, store=store)()
    recording = store.open("@")
    db, n = database(), 0
    for event in recording.events(kinds=("tool",)):
        asked = json.loads(recording.body(event.request))
        assert asked["db"] == db
        if event.name == "count":
            db["users"][f"user_{n + 1}"]["plan"] = f"plan {n}"
            n += 1
    assert n == CALLS
    with pytest.raises(Divergence, match=r"db\.users\.user_1\.plan") as diverged:
        reenact.replay("@", entry=lambda: agent(plan="another"), store=store)
    assert "another 0" in str(diverged.value) and len(json.dumps(diverged.value.now)) < 20_000


def test_a_credential_in_it_is_taken_out_each_time_and_is_no_difference(store: reenact.Store) -> None:
    def asking() -> str:
        return agent(SECRET)

    reenact.record(asking, store=store)()
    recording = store.open("@")
    bodies = [recording.body(event.request) for event in recording.events(kinds=("tool",))]
    assert len(bodies) == 2 * CALLS and not any(SECRET.encode() in body for body in bodies)
    assert all(b'"api_key":"' in body for body in bodies)
    replayed = reenact.replay("@", entry=lambda: agent(SECRET[:-4] + "9999"), store=store)
    assert replayed.verdict == "exact" and replayed.report.redacted == 2 * CALLS


def test_a_tool_that_changed_what_cannot_be_looked_into_is_a_suspect(store: reenact.Store) -> None:
    @reenact.tool
    def change(db: dict[str, Any], user: str) -> None:
        db["users"][user].update(plan="large")

    def changing() -> None:
        db = database()
        change(db, "user_7")
        look(db, "user_7")

    reenact.record(changing, store=store)()
    with pytest.raises(Divergence) as diverged:
        reenact.replay("@", entry=changing, store=store)
    assert "change may have changed args.db" in diverged.value.cause and "--through change" in diverged.value.cause


def test_what_waits_to_be_written_is_counted(store: reenact.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of megabytes that come faster than they are written are waited for, as parts of streams are."""
    most = 0
    account = writer.Writer._account

    def watched(self: writer.Writer, size: int) -> None:
        nonlocal most
        account(self, size)
        most = max(most, self._bytes)

    monkeypatch.setattr(writer.Writer, "_account", watched)
    monkeypatch.setattr(writer, "QUEUE_BYTES", 2 << 20)
    reenact.record(agent, store=store)()
    assert 0 < most <= 3 << 20
