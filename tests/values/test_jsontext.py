"""Proves that the encoder that is made once writes what the standard library's encoder writes, and refuses the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.jsontext import writer

ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=()))
DATA = st.recursive(ATOMS, lambda part: st.lists(part) | st.dictionaries(st.text(), part), max_leaves=20)


@given(DATA, st.booleans(), st.booleans())
def test_it_writes_what_the_standard_encoder_writes(data: Any, ascii_only: bool, nan: bool) -> None:
    known = json.JSONEncoder(ensure_ascii=ascii_only, allow_nan=nan, separators=(",", ":"))
    try:
        text = known.encode(data)
    except ValueError:
        with pytest.raises(ValueError):
            writer(ascii_only=ascii_only, nan=nan)(data)
    else:
        assert writer(ascii_only=ascii_only, nan=nan)(data) == text


def test_it_refuses_what_is_no_json() -> None:
    write = writer(ascii_only=True, nan=True)
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ValueError, match="contains itself"):
        write(circle)
    for alien in (b"x", {1, 2}, object(), {("a",): 1}):
        with pytest.raises(TypeError):
            write(alien)
    assert write([1]) == "[1]"  # and goes on afterwards
