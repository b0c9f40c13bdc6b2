"""Encoding never raises and never calls the agent's code, whatever it is given; reading says what is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from reenact.errors import UnreplayableRun
from reenact.facts import encoding
from reenact.facts.values import decode, describe_error, encode, jsonable
from tests.values import hostile


@pytest.mark.parametrize("name", hostile.NAMES)
@pytest.mark.parametrize("around", ["bare", "in a list", "in a dict", "in a record", "in an error"])
def test_nothing_of_it_runs_and_nothing_is_raised(name: str, around: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "NODE_LIMIT", 5_000)
    monkeypatch.setattr(encoding, "_PLAIN_NODE_LIMIT", 5_000)
    inner = hostile.objects()[name]
    around_it: dict[str, Callable[[], Any]] = {
        "bare": lambda: inner,
        "in a list": lambda: [1, inner],
        "in a dict": lambda: {"k": inner, 2: (inner,)},
        "in a record": lambda: hostile.BadData(inner),
        "in an error": lambda: ValueError(inner),
    }
    value = around_it[around]()
    if name == "bad error":  # the text of an exception is its own to make
        with pytest.raises(hostile.Bomb):
            encode(value)
        return
    encoded = encode(value)
    json.loads(encoded.body)
    jsonable(encoded.body)
    if encoded.opaque:
        with pytest.raises(UnreplayableRun) as caught:
            decode(encoded.body, hostile.BadData)
        assert caught.value.missing and caught.value.next_command


def test_what_is_opaque_is_named() -> None:
    encoded = encode({"lock": hostile.objects()["lock"], "bad": hostile.BadRepr()})
    assert encoded.opaque == ("_thread.lock", "tests.values.hostile.BadRepr")
    assert jsonable(encoded.body)["bad"] == "<opaque tests.values.hostile.BadRepr>"


def test_a_value_that_unfolds_without_end_costs_bounded_time() -> None:
    encoded = encode(hostile.doubling())
    assert encoded.opaque
    assert len(encoded.body) < 1_000_000, "and not two to the power of sixty lists"


def test_an_error_whose_text_fails_is_described() -> None:
    fact = describe_error(hostile.QuietlyBadError("x"))
    assert "str() fails" in fact.text and fact.args == b'{"~tuple":["x"]}'
