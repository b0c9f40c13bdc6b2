"""Credentials of every kind are found in every place where they naturally stand, and look-alikes stay."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache

import pytest

from reenact.facts.record import Printed, Record, SegmentArrived
from tests.privacy.canaries import arrived, issued
from tests.privacy.corpus import cases, look_alikes
from tests.privacy.corpus_places import body
from tests.privacy.measuring import Measured, cleaned, measured

RECALL = 0.99
LEAST = 0.95
KEPT = 0.985


@cache
def result() -> Measured:
    return measured(cases(rounds=2))


def test_nearly_every_credential_is_found() -> None:
    assert result().recall() >= RECALL, result().worst("place")


def test_no_kind_and_no_place_is_left_behind() -> None:
    for of in ("kind", "place"):
        worst = result().worst(of)
        assert all(part >= LEAST for part in worst.values()), {name: part for name, part in worst.items() if part < 1}


def test_no_structure_is_broken_and_cleaning_twice_changes_nothing() -> None:
    assert [case.name for case in result().broken] == []
    assert [case.name for case in result().unsteady] == []


WAYS: dict[str, Callable[[bytes], list[Record]]] = {
    "as it is": lambda data: [issued(data)],
    "in a message": lambda data: [issued(json.dumps({"messages": [{"content": data.decode()}]}).encode())],
    "in a response": lambda data: [arrived(), SegmentArrived(0, 0, data)],
    "printed": lambda data: [Printed(1, 0, data + b"\n")],
}


def test_look_alikes_are_kept() -> None:
    changed, total = [], 0
    for name, text in look_alikes():
        for way, records in WAYS.items():
            total += 1
            if body(cleaned(records(text.encode()))) != body(records(text.encode())):
                changed.append(f"{name}, {way}")
    assert 1 - len(changed) / total >= KEPT, sorted(set(changed))


@pytest.mark.parametrize("size", [1, 3, 17, 1000])
def test_a_stream_in_segments_of_any_length_comes_out_the_same(size: int) -> None:
    """Events are cut where they end, and anywhere else."""
    seen = set()
    for case in cases():
        if case.place.over != "events" or case.place.name in seen:
            continue
        seen.add(case.place.name)
        records = case.place.records(case.field, case.secret)
        data = body(records)
        cut = [records[0], *(SegmentArrived(0, at, data[at : at + size]) for at in range(0, len(data), size))]
        kept = cleaned(cut)
        assert [len(one.data) for one in kept[1:]] == [len(one.data) for one in cut[1:]]  # type: ignore[union-attr]
        assert body(kept) == body(cleaned(records)), case.name
    assert len(seen) >= 8
