"""Long text and bytes are written piece by piece as they are written at once, and read however they are cut."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reenact.facts import encoding, large_values
from reenact.facts.large_values import Large, in_pieces
from reenact.facts.values import decode, encode, encode_in_pieces
from reenact.replaying.long_reading import read_pieces

ODD = st.text(st.sampled_from('a"\\\n\x00\x1f\x7fé\u2028\U0001f600/u0'), max_size=80)
LONE = st.text(st.sampled_from("ab\ud83d\ude00\n"), max_size=40)


@pytest.fixture(autouse=True)
def _short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_values, "_PIECE", 6)


def cut(data: bytes, places: list[int]) -> Iterator[bytes]:
    """Data in pieces, the first as long as what it begins with."""
    edges = [0, *sorted({16 + each for each in places if 16 + each < len(data)}), len(data)]
    return (data[start:end] for start, end in pairwise(edges))


@given(st.binary(max_size=80) | st.text(max_size=80) | ODD | LONE)
@example("\ud800")
@example(b"")
@example("")
def test_pieces_are_what_is_written_at_once(value: str | bytes) -> None:
    whole = encode(value).body
    found = Large(value)
    assert found.whole() == whole and b"".join(found.pieces()) == whole
    assert len(found) == len(whole) >= found.least


@given(st.binary(max_size=80) | ODD, st.lists(st.integers(0, 200), max_size=12))
@example('\\"' * 20, [1, 2, 3, 4, 5, 6, 7])
@example("\x1f" * 9, list(range(60)))
def test_it_is_read_again_however_it_is_cut(value: str | bytes, places: list[int]) -> None:
    found = read_pieces(cut(encode(value).body, places))
    assert isinstance(found, Large) and type(found.value) is type(value) and found.value == value
    again = read_pieces(Large(value).pieces())
    assert isinstance(again, Large) and again.value == value


@given(st.lists(st.integers()), st.lists(st.integers(0, 200), max_size=5))
def test_anything_else_stays_what_it_is(value: list[int], places: list[int]) -> None:
    body = encode(value).body
    assert read_pieces(cut(body, places)) == body


@pytest.mark.parametrize(
    "wrong", [b'"abc', b'"abc"x"', b'{"~bytes":"QUJD', b'{"~bytes":"QUJD"]', b'{"~bytes":"QU!D"}', b'"a\\', b'"\xff"']
)
def test_what_is_damaged_is_refused(wrong: bytes) -> None:
    with pytest.raises(ValueError):
        read_pieces([wrong])


def rows(count: int) -> list[dict[str, object]]:
    return [{"id": n, "name": f"é {n}", "more": [None, True, 1.5, {"x": "y"}]} for n in range(count)]


@pytest.mark.parametrize("value", [rows(900), {f"k{n}": row for n, row in enumerate(rows(401))}], ids=["list", "dict"])
def test_long_plain_data_is_written_some_entries_at_a_time(monkeypatch: pytest.MonkeyPatch, value: object) -> None:
    monkeypatch.setattr(encoding, "LARGE", 1000)
    pieces = encode_in_pieces(value)
    assert pieces is not None and len(pieces) > 3
    assert b"".join(pieces) == encode(value).body == Large(pieces).whole()
    assert decode(cast(bytes, Large(pieces))) == value


@pytest.mark.parametrize(
    "value",
    [
        [*rows(900), {1}],
        [*rows(900), float("nan")],
        [*rows(900), "\ud800"],
        [*rows(900), (1, 2)],
        dict[object, int]([*((f"k{n}", n) for n in range(900)), (3, 4)]),
        rows(3),
        tuple(rows(900)),
        "text",
    ],
    ids=["set", "nan", "surrogate", "tuple", "key", "short", "no-list", "text"],
)
def test_other_data_is_written_as_ever(monkeypatch: pytest.MonkeyPatch, value: object) -> None:
    monkeypatch.setattr(encoding, "LARGE", 1000)
    assert encode_in_pieces(value) is None


def test_what_is_not_long_is_written_as_ever() -> None:
    assert encode_in_pieces(rows(900)) is None


class Name(str):
    """Text of a class of its own."""


def test_only_text_and_bytes_themselves_are_written_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_values, "LARGE", 10)
    assert in_pieces("x" * 10) and in_pieces(b"x" * 10)
    for other in ("x" * 9, Name("x" * 10), bytearray(10), ["x"] * 10, None):
        assert in_pieces(other) is None


def test_some_pieces_may_be_others() -> None:
    value = Large("abcdefghijkl")
    second = list(value.pieces())[1]
    patched = value.patched({1: b"~" * len(second)})
    assert patched.whole() == value.whole().replace(second, b"~" * len(second)) and len(patched) == len(value)
