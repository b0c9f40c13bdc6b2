"""What is searched as new in a repeated body finds what a search of all of it finds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts import repeated_bytes
from reenact.facts.dialects.dialect import UNUSUAL
from reenact.facts.repeated_bytes import PatternSearch

WORD = re.compile(rb'"(?:store|mcp_servers)"')

PARTS = st.sampled_from(
    [b"a", b'"', b"store", b'"store"', b'"type"', b":", b" ", b" " * 30, b'"type" : "text"', b'"type":"web"', b"x" * 40,
     b'{"role":"user"}', b'"type"' + b" " * 70 + b":", b'"te', b"xt", b"mcp_servers"]
)  # fmt: skip


def whole(body: bytes) -> bool:
    return UNUSUAL.search(body) is not None or WORD.search(body) is not None


@given(st.lists(PARTS, max_size=60), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9), PARTS), max_size=12))
def test_edits_are_searched_as_if_all_were(parts: list[bytes], edits: list[tuple[int, int, bytes]]) -> None:
    searched = PatternSearch(UNUSUAL, WORD)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeated_bytes, "_LONG", 1)
        for at, gone, part in [(0, 0, b""), *edits]:
            parts[at : at + gone] = [part]
            body = b"".join(parts)
            assert searched.finds(body) == whole(body)


@pytest.mark.parametrize("before", [b"", b'"type"' + b" " * 90, b'"type" :"tex', b'"stor', b'"type":"'])
def test_a_match_across_the_edge_of_what_is_new_is_found(before: bytes) -> None:
    searched = PatternSearch(UNUSUAL, WORD)
    body = b"x" * 20_000 + before
    assert searched.finds(body + b"]}") == whole(body + b"]}")
    for new in (b': "web"', b'e"', b'web"', b'"store"'):
        assert searched.finds(body + new + b"]}") == whole(body + new + b"]}")


@pytest.mark.parametrize("gap", [100, 127, 200, 5000])
def test_a_match_with_a_long_gap_in_what_is_repeated_is_found(gap: int) -> None:
    room, fill = b" " * gap, b"x" * 20_000
    for before, after in (
        (fill + b'"type"' + room + b"]}", fill + b'"type"' + room + b': "web"]}'),
        (fill + b'"tyqe"' + room + b':"web"' + fill, fill + b'"type"' + room + b':"web"' + fill),
    ):
        searched = PatternSearch(UNUSUAL, WORD)
        assert not searched.finds(before) and whole(after)
        assert searched.finds(after)


def test_what_is_repeated_is_not_searched_again() -> None:
    places: list[tuple[int, int]] = []

    class Pattern:
        """Notes where it is asked to look."""

        def search(self, body: bytes, start: int, end: int) -> None:
            places.append((start, end))

    searched = PatternSearch(Pattern())  # type: ignore[arg-type]
    turns = b"".join(b'{"role":"user","content":"turn %d"},' % n for n in range(9_000))
    other = turns.replace(b"turn", b"else")
    for body in (
        turns,
        other,
        turns + b'{"new":1}]',
        other + b'{"new":2}]',
        turns[:5000] + b"mark" + turns[5000:] + b'{"new":1}]',
    ):
        searched.finds(body)
    assert [end - start for start, end in places[:2]] == [len(turns), len(other)]
    assert all(end - start < 600 for start, end in places[2:]), places
    assert not searched.finds(b"y" * (5 << 20)) and len(searched._without) <= 4
    assert all(len(each) <= 4 << 20 for each in searched._without)
