"""Proves that packs of ambient reads give back what was packed, and that reads past the end never stand still."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts import texts
from reenact.seams.ambient import extrapolate, pack, unpack

_NS = st.integers(min_value=-(2**62), max_value=2**62 - 1)  # a step from the least to the greatest fits eight bytes


@st.composite
def _reads(draw: st.DrawFn) -> tuple[str, list[Any]]:
    width = draw(st.integers(min_value=1, max_value=200))
    source, values = draw(
        st.sampled_from(
            [
                ("wall", _NS),
                ("mono", st.integers(min_value=0, max_value=2**62)),
                ("clock/7", _NS),
                ("random", st.floats(allow_nan=False)),
                (f"bits/{width}", st.integers(min_value=0, max_value=2**width - 1)),
                (f"urandom/{width}", st.binary(min_size=width, max_size=width)),
                ("uuid1/17", st.binary(min_size=17, max_size=17)),
                (f"numpy/{width}", st.one_of(st.just(b""), st.binary(min_size=width, max_size=width))),
                ("env/NAME", st.one_of(st.just(texts.absent()), st.just(b""), st.text(max_size=20).map(texts.known))),
                ("times/5", st.tuples(*[st.floats(allow_nan=False)] * 5)),
            ]
        )
    )
    return source, draw(st.lists(values, max_size=30))


@given(_reads())
def test_a_pack_gives_back_what_was_packed(reads: tuple[str, list[Any]]) -> None:
    source, values = reads
    assert unpack(source, pack(source, values)) == values


@given(_reads(), st.integers(min_value=0, max_value=30))
def test_packs_taken_in_the_middle_stand_alone(reads: tuple[str, list[Any]], cut: int) -> None:
    source, values = reads
    packs = [pack(source, values[:cut]), pack(source, values[cut:])]
    assert pack(source, []) == b""
    assert [value for data in packs for value in unpack(source, data)] == values


@given(_reads(), st.binary(max_size=8))
def test_reads_past_the_end_never_stand_still_and_are_of_their_kind(reads: tuple[str, list[Any]], salt: bytes) -> None:
    source, values = reads
    if source.startswith(("bits", "urandom/1")) and int(source.partition("/")[2]) < 64:
        return  # too narrow to never repeat by chance
    last = values[-1] if values else None
    if source == "times/5" and values and not all(map(math.isfinite, values[-1])):
        return
    beyond = [extrapolate(source, last, n, salt) for n in range(1, 20)]
    assert all(unpack(source, pack(source, [value])) == [value] for value in beyond)
    assert beyond == [extrapolate(source, last, n, salt) for n in range(1, 20)]
    if source in ("wall", "mono", "clock/7"):
        assert beyond == sorted(set(beyond)) and beyond[0] > (last or 0)
    elif source.startswith(("numpy", "env")):
        assert set(beyond) == {b""}  # nothing is known of another one
    elif source != "times/5":
        assert len(set(beyond)) == len(beyond)
    if source == "random":
        assert all(0 <= value < 1 for value in beyond)


@given(st.lists(st.one_of(st.just(texts.absent()), st.text(max_size=9).map(texts.known)), max_size=20))
def test_texts_are_cleaned_one_by_one_and_those_that_were_say_so(values: list[bytes]) -> None:
    found = texts.unpack(texts.cleaned(texts.pack(values), lambda text: text.replace("a", "~")))
    assert len(found) == len(values)
    for before, after in zip(values, found, strict=True):
        if b"a" in before[1:]:
            assert after[:1] == texts.ERASED and b"a" not in after and len(after) == len(before)
        else:
            assert after == before


@given(st.binary(max_size=40))
def test_what_is_no_pack_of_texts_is_refused(data: bytes) -> None:
    try:
        values = texts.unpack(data)
    except ValueError:
        return
    assert texts.unpack(texts.pack(values)) == values


def test_a_spin_on_a_clock_ends() -> None:
    last = 10**18
    assert extrapolate("mono", last, 100_000) - last > 10 * 10**9


def test_other_lanes_extrapolate_to_other_entropy() -> None:
    assert extrapolate("urandom/16", None, 1, b"root/a#1") != extrapolate("urandom/16", None, 1, b"root/a#2")


@pytest.mark.parametrize(
    ("source", "data"),
    [
        ("mono", b"\x81"),
        ("mono", b"12345678\x02\x01"),
        ("mono", b"12345678\x03\x01\x01\x01"),
        ("random", b"1234567"),
        ("urandom/4", b"12345"),
        ("nothing", b""),
        ("urandom", b""),
        ("bits/0", b"1"),
    ],
)
def test_damaged_packs_are_named(source: str, data: bytes) -> None:
    with pytest.raises(ValueError):
        unpack(source, data)
