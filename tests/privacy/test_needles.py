"""A scanner finds the places that one search for each word finds, so the same credentials, at the same counted work."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts import credential_search, needles, views
from reenact.facts.needles import Needles
from reenact.facts.text_spans import Budget, CredentialSpan
from tests.privacy.corpus import cases

WORDS = credential_search._NEEDLES.words
scanned = pytest.mark.skipif(needles._scanner((b"word",)) is None, reason="ahocorasick-rs is not installed")

pieces = st.lists(
    st.sampled_from([*WORDS, b"sess", b"pas", b"au", b"toke", b"=", b'"', b": ", b" ", b"\n", b"\\n", b"%20", b"&key="])
    | st.binary(max_size=6)
    | st.sampled_from([b"Xk9" * 8, b"\xf0\x9f\x94\x91", b"a1B2" * 6, b"hunter2!", b"YWxsIG9mIHRoaXMgaXMgdGV4dCE" * 2]),
    max_size=120,
).map(b"".join)


def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """No scanner is there."""
    monkeypatch.setattr(credential_search._NEEDLES, "_scanner", None)
    monkeypatch.setattr(credential_search._NEEDLES, "_sought", True)


def places(find: object, word: bytes, size: int) -> list[int]:
    found, at = [], 0
    while (at := find(word, at)) >= 0:  # type: ignore[operator]
        found.append(at)
        at += 1
    assert len(found) <= size
    return found


@scanned
@given(pieces)
def test_each_word_is_found_where_a_search_finds_it(text: bytes) -> None:
    text = text.lower() + b" " * 600  # a short text is searched word by word
    words, find = credential_search._NEEDLES.within(text)
    assert find != text.find and words == {word for word in WORDS if word in text}
    for word in words:
        assert places(find, word, len(text)) == places(text.find, word, len(text))


@scanned
@given(pieces, st.integers(1, 90))
def test_so_it_is_at_the_edges_of_what_is_looked_through_at_once(text: bytes, window: int) -> None:
    text = text.lower() + b" " * 600
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(needles, "_WINDOW", window)
        words, find = credential_search._NEEDLES.within(text)
        assert words == {word for word in WORDS if word in text}
        for word in words:
            assert places(find, word, len(text)) == places(text.find, word, len(text))


@scanned
def test_a_text_of_nothing_but_words_takes_little_room() -> None:
    text = b"pw" * (2 << 20)
    tracemalloc.start()
    try:
        _, find = credential_search._NEEDLES.within(text)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert find != text.find and find(b"pw", 1) == 2 and find(b"pw", len(text) - 1) == -1
    assert taken < 8 << 20, f"{taken >> 20} MiB of 4 MiB"


@scanned
def test_a_scanner_that_fails_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def find_matches_as_indexes(self, text: bytes, overlapping: bool) -> list[object]:
            raise MemoryError

    words = Needles([b"word", b"other"])
    words.within(b" " * 600)
    monkeypatch.setattr(words, "_scanner", Broken())
    found, find = words.within(text := b" word" * 200)
    assert found == {b"word"} and find(b"word", 2) == text.find(b"word", 2)


def looked(data: bytes) -> tuple[list[CredentialSpan], Budget]:
    """What is found in a text, and what was left of its budget."""
    budget = Budget(1 << 30, 1 << 30)
    return credential_search._spot(data, None, budget, 0), budget


def work(budget: Budget) -> dict[str, object]:
    return {name: getattr(budget, name) for name in budget.__slots__}


@scanned
@given(pieces, st.randoms(use_true_random=False))
def test_the_same_is_found_at_the_same_work(text: bytes, chance: random.Random) -> None:
    text += b" " * 600 + text[::-1]
    found, budget = looked(text)
    with pytest.MonkeyPatch.context() as patch:
        one_by_one(patch)
        again, other = looked(text)
    assert (found, work(budget)) == (again, work(other))


@scanned
def test_the_corpus_is_cleaned_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [each.place.write(each.field, each.secret) + b" " * 600 for each in cases()]
    found = [credential_search.spot(text) for text in texts]
    one_by_one(monkeypatch)
    assert [credential_search.spot(text) for text in texts] == found
    assert sum(map(len, found)) > len(texts) // 2


@given(pieces)
def test_runs_of_coded_text_are_those_of_the_pattern(text: bytes) -> None:
    assert list(views.coded(text)) == [found.span() for found in views._RUN.finditer(text)]
