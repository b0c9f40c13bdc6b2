"""A long text is looked through in parts, and each part once; nothing is found or missed because of it."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

from reenact.facts import credential_search, sightings
from reenact.facts.credential_search import spot
from reenact.facts.text_spans import Budget
from tests.noting import noting
from tests.privacy.canaries import FIELDS, LOOK_ALIKES, SHAPES


def documents(seed: int) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    entries = [
        *LOOK_ALIKES,
        *({"role": "user", "content": f"see {shape}"} for shape in SHAPES.values()),
        *({name: value, "n": 1} for name, value in FIELDS.items()),
        *({"name": name, "value": value} for name, value in FIELDS.items()),
        {"content": 'a note that ends in }, {"', "after": "nothing"},
        {"content": json.dumps([{"password": "a-b-c-1234"}, {"role": "x"}])},
    ]
    return [{"model": "m", "messages": chance.choices(entries, k=400), "last": {"api_key": "x1y2z3w4v5"}} for _ in "ab"]


def as_one(data: bytes) -> list[Any]:
    return credential_search._spot(data, None, Budget(1 << 30, 1 << 30), 0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("separators", [None, (",", ":")])
def test_parts_hold_what_the_whole_holds(seed: int, separators: tuple[str, str] | None) -> None:
    for document in documents(seed):
        data = json.dumps(document, separators=separators).encode()
        places = list(sightings.parts(data))
        assert len(places) > 10 and places[0][0] == 0 and places[-1][1] == len(data)
        assert all(one[1] == other[0] for one, other in itertools.pairwise(places))
        assert spot(data) == as_one(data)
        assert spot(data) == as_one(data), "remembered"


def test_a_string_that_looks_like_the_end_of_an_object_is_not_cut() -> None:
    inner = "x" * 9000 + '}, {"role": "user"}, {"role": "user"}'
    data = json.dumps({"content": inner, "password": "tr0ub4dor&3"}).encode()
    assert list(sightings.parts(data)) == [(0, len(data))]


def test_a_part_that_was_seen_is_not_looked_through_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    real = credential_search._spot
    monkeypatch.setattr(credential_search, "_spot", noting(real, lambda data, *_: looked.append(len(data))))
    entries = [{"role": "user", "content": f"message {n} of a conversation " * 20} for n in range(200)]
    spot(json.dumps({"messages": entries}).encode())
    first = sum(looked)
    looked.clear()
    spot(json.dumps({"messages": entries[:3] + entries[20:] + [{"role": "user", "content": "one more"}]}).encode())
    assert first > 100_000 and sum(looked) < first / 5


def test_what_knows_more_remembers_apart() -> None:
    data = json.dumps({"messages": [{"role": "user", "content": "word " * 100 + "QmFzZQ " * 20}] * 40}).encode()
    assert spot(data) == []

    def more(text: bytes) -> list[Any]:
        return []

    assert spot(data, more, b"told") == []
    assert spot(data, more) == []
