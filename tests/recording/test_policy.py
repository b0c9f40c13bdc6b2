"""Each field of a ``Policy`` does what its documentation says: in the run, on disk, and in the replay."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reenact
from reenact.facts.known_credentials import KnownCredentials
from reenact.facts.policy import Policy
from reenact.privacy.eraser import Eraser
from tests.withstand.test_secrets import _unpacked


@reenact.tool(effect="read")
def fill(basket: list[str], what: str) -> int:
    """A tool that changes what it is given."""
    basket.append(what)
    return len(basket)


@reenact.tool(effect="read")
def account(data: dict[str, Any]) -> dict[str, Any]:
    """A tool that takes and gives fields of its own names."""
    return {**data, "owner": "Ann"}


@reenact.tool(effect="write", key="order")
def refund(order: int) -> str:
    """A tool whose effect has a key."""
    return f"refunded {order}"


@reenact.tool(key="order")
def lend(order: int) -> object:
    """A tool whose result cannot be stored."""
    return object()


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Iterator[reenact.Store]:
    with reenact.open_store(f"memory:{request.node.nodeid}") as opened:
        yield opened


def _gaps(store: reenact.Store) -> list[tuple[str, str, int]]:
    return [tuple(gap) for gap in store.open("@").gaps()]  # type: ignore[misc]


def test_the_list_of_fields_is_the_one_that_is_proven_here() -> None:
    elsewhere = {
        "order",
        "hold_ms",
        "env",
        "ignore",
        "file_contents",
        "plumbing",
        "sampling",
        "server_ignore",
        "unsampled",
    }
    elsewhere |= {"largest_value_mb", "largest_run_mb"}
    elsewhere |= {"otel_endpoint", "otel_provider", "otel_content", "otel_dialect"}  # interop/test_trace_live.py
    elsewhere |= {"otel_propagate", "otel_metrics"}  # interop/test_trace_propagation.py, interop/test_trace_metrics.py
    here = {"files", "require", "sample", "retention", "redact", "check_changes"}
    assert {field.name for field in fields(Policy)} == elsewhere | here


def test_a_replay_ignores_what_its_policy_names_beside_the_rules_of_the_run(store: reenact.Store) -> None:
    told = ["one"]

    @reenact.tool(effect="read")
    def look(query: str, trace: str, session: str) -> str:
        return query

    @reenact.tool(effect="read")
    def ask() -> str:
        return told[0]

    @reenact.record(store=store, policy=Policy(ignore={"session": "body.session"}))
    def agent() -> str:
        return look("tea", told[0], told[0]) + look("rum", "same", told[0]) + ask()

    agent()
    told[0] = "two"
    with pytest.raises(reenact.Divergence):
        reenact.replay("@", entry=agent, store=store)
    for live in ((), ("ask",)):
        policy = Policy(ignore={"trace": "body.trace"})
        replay = reenact.replay("@", entry=agent, store=store, policy=policy, live=live)
        assert replay.output == ("tearumtwo" if live else "tearumone")
        if not live:
            assert replay.verdict in ("exact", "same")
            assert {line.partition(" applied")[0] for line in replay.report.remarks if "ignore rule" in line} == {
                "ignore rule trace",
                "ignore rule session",
            }
    told[0] = "three"
    with pytest.raises(reenact.Divergence):
        reenact.replay("@", entry=agent, store=store, policy=Policy(ignore={"query": "body.query"}))


def test_what_is_required_and_missing_is_a_gap(store: reenact.Store) -> None:
    policy = Policy(require=("user_id", "tenant_id", "ticket", "version", "agent"))
    with reenact.record(agent="a@1", user="u", tags={"ticket": "8"}, store=store, policy=policy):
        pass
    assert _gaps(store) == [("a required field is missing", "tenant_id", 1)]


def test_changes_are_looked_for_or_not(store: reenact.Store) -> None:
    def agent() -> list[str]:
        basket: list[str] = []
        fill(basket, "lamp")
        return basket

    reenact.record(agent, store=store)()
    assert reenact.replay("@", entry=agent, store=store).output == ["lamp"]
    reenact.record(agent, store=store, policy=Policy(check_changes=False))()
    run = store.open("@")
    assert not any("mutates" in event.outcome.head for event in run.events(name="fill"))  # type: ignore[union-attr]
    with pytest.raises(reenact.Divergence, match="ended differently"):
        reenact.replay("@", entry=agent, store=store)


def test_retention_is_kept_with_the_run(store: reenact.Store) -> None:
    with reenact.record(store=store, policy=Policy(retention="90d")):
        pass
    assert store.run("@").retention == "90d"


@pytest.mark.parametrize("wrong", [{"redact": {"iban": "stand-in"}}, {"sample": 1.5}, {"sample": -1}])
def test_what_is_not_there_yet_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(reenact.ReenactError, match=r"not available yet|is no share"):
        Policy(**wrong)


def test_named_fields_are_redacted_on_disk_and_the_replay_matches(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    german, british, french, number = (text[::-1] for text in ("4321002103 20ED", "X 7654 33BG", "987641RF", "319384"))
    # Backwards, because the text of this very file is evidence, too, where it has been edited.
    asked = {"iban": german, "inner": {"IBAN": [british, french]}, "pin": int(number), "ibanish": "kept 77"}

    def agent(pin: int = int(number)) -> str:
        print(f"iban={german.replace(' ', '')}", json.dumps({"pin": pin}))
        return str(account({**asked, "pin": pin})["owner"])

    policy = Policy(redact={"iban": "credential", "pin": "credential"})
    with reenact.record(store=url, policy=policy):
        agent()
    found = b"\n".join(data for _, data in _unpacked(tmp_path / "runs.db"))
    for secret in (german[5:], british, french, number):
        assert secret.encode() not in found, secret
    assert b"kept 77" in found and b"owner" in found
    with reenact.open_store(url) as opened:
        replayed = reenact.replay("@", entry=agent, store=opened)
        assert (replayed.verdict, replayed.report.redacted) == ("exact", 1)


NAMES = st.from_regex(r"[a-z]{3,8}(_[a-z]{2,5})?", fullmatch=True)


@given(NAMES, st.text(min_size=1, max_size=30).filter(lambda text: "~" not in text), st.integers(0, 3))
def test_a_named_field_is_erased_at_every_depth_and_twice_changes_nothing(name: str, value: str, depth: int) -> None:
    body: Any = {"a": 1, name: value, "z": "end"}
    for _ in range(depth):
        body = {"in": json.dumps(body)}
    eraser = Eraser(b"s", KnownCredentials({}, (), fields=[name]))
    data = json.dumps(body).encode()
    erased = eraser.text(data)
    found = json.loads(erased)
    for _ in range(depth):
        found = json.loads(found["in"])
    assert found["z"] == "end" and found["a"] == 1 and found[name].startswith("~rxn")
    assert eraser.text(erased) == erased


def test_an_act_that_cannot_be_given_again_is_a_gap(store: reenact.Store) -> None:
    with reenact.record(store=store):
        assert refund(1) == refund(1) == "refunded 1"
        assert lend(2) is not lend(2)
    what = "a tool's result cannot be stored: a second call under its key acts again"
    assert _gaps(store) == [(what, "lend", 2)]
    assert [event.call.head["key"] for event in store.events("@")] == ["1", "1", "2", "2"]


def test_a_generator_has_no_first_result() -> None:
    with pytest.raises(reenact.ReenactError, match="gives its results one by one"):

        @reenact.tool(key="order")
        def pages(order: int) -> Iterator[int]:
            yield order
