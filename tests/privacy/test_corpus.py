"""Credentials of every kind are found in every place where they naturally stand, and look-alikes stay."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import quote, unquote

import pytest

from reenact.facts.record import OutputPrinted, Record, SegmentArrived
from tests.privacy.canaries import arrived, issued
from tests.privacy.corpus import cases, look_alikes
from tests.privacy.corpus_places import body, in_segments, segments
from tests.privacy.measuring import Measured, cleaned, measured, still_in

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
    "printed": lambda data: [OutputPrinted(1, 0, data + b"\n")],
}


def test_look_alikes_are_kept() -> None:
    changed, total = [], 0
    for name, text in look_alikes():
        for way, records in WAYS.items():
            total += 1
            if body(cleaned(records(text.encode()))) != body(records(text.encode())):
                changed.append(f"{name}, {way}")
    assert 1 - len(changed) / total >= KEPT, sorted(set(changed))


WRAPS: dict[str, tuple[Callable[[bytes], Any], Callable[[Any], bytes]]] = {
    "base64": (lambda data: base64.b64encode(data).decode(), lambda kept: base64.b64decode(kept)),
    "hexadecimal": (lambda data: data.hex(), lambda kept: bytes.fromhex(kept)),
    "gzip": (
        lambda data: base64.b64encode(gzip.compress(data)).decode(),
        lambda kept: gzip.decompress(base64.b64decode(kept)),
    ),
    "JSON twice": (lambda data: json.dumps({"b": data.decode()}), lambda kept: json.loads(kept)["b"].encode()),
    "a URL": (
        lambda data: "https://h.example/?q=" + quote(data, safe=""),
        lambda kept: unquote(kept.partition("?q=")[2]).encode(),
    ),
}


@pytest.mark.parametrize("way", WRAPS)
def test_a_place_behind_an_encoding(way: str) -> None:
    wrap, unwrap = WRAPS[way]
    leaked, total = [], 0
    for case in itertools.islice(cases(seed=7), 0, None, 3):
        data = case.place.write(case.field, case.secret)
        if case.place.over != "request" or b"\0" in data or not _is_text(data):
            continue
        total += 1
        once = cleaned([issued(json.dumps({"d": wrap(data)}).encode())])
        assert body(cleaned(once)) == body(once), case.name
        if still_in(case.place.read(unwrap(json.loads(body(once))["d"])), case):
            leaked.append(case.name)
    assert total > 500 and 1 - len(leaked) / total >= RECALL, leaked


def _is_text(data: bytes) -> bool:
    try:
        return bool(data.decode())
    except UnicodeDecodeError:
        return False


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
        cut = in_segments(records[0], data, size)
        kept = cleaned(cut)
        assert [len(each) for each in segments(kept)] == [len(each) for each in segments(cut)]
        assert body(kept) == body(cleaned(records)), case.name
    assert len(seen) >= 8


@pytest.mark.parametrize("begins", [b"BMW", b"RIFF raff", b"ID3", b"Rar!", b"GIF8", b"notftyp"])
def test_a_text_that_begins_as_an_image_does_is_looked_through(begins: bytes) -> None:
    secret = b"sk-proj-aB3dE6gH9jK2mN5pQ8sT1vW4"
    text = begins + b" of today\nOPENAI_API_KEY=" + secret
    for data in (text, base64.b64encode(text)):
        kept = cleaned([OutputPrinted(1, 0, data)])
        found = b"".join(each.data for each in kept if isinstance(each, OutputPrinted))
        assert secret[8:] not in found and secret[8:] not in base64.b64decode(found + b"==", validate=False)


def test_a_line_below_an_encoded_text_stays_as_it_is() -> None:
    encoded = base64.b64encode(b"of today: OPENAI_API_KEY=sk-proj-aB3dE6gH9jK2mN5pQ8sT1vW4")
    kept = cleaned([OutputPrinted(1, 0, encoded + b"\nFinished in 3 s")])
    assert b"".join(each.data for each in kept if isinstance(each, OutputPrinted)).endswith(b"\nFinished in 3 s")
