"""Patterns find what ``re`` finds, in linear time whatever the pattern; what cannot be had so is refused by name."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.patterns import _MAX_PARTS, MAX_STATES, PatternError, _Builder, compile_pattern
from tests.noting import noting

ATOMS = st.sampled_from(
    [
        *("a", "b", ".", r"\w", r"\d", r"\s", r"\S", "[ab]", "[^a]", "[a-c_]", r"[\w-]", "é", r"\n", "_"),
        *(
            r"\b",
            r"\B",
            "^",
            "$",
            r"\A",
            r"\Z",
            "(?m:^)",
            "(?m:$)",
            "(?s:.)",
            "(?i:A)",
            "(?i:É)",
            r"(?a:\w)",
            r"(?a:\b)",
        ),
    ]
)
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        inner.map(lambda part: f"({part})*"),
        inner.map(lambda part: f"(?:{part})+?"),
        inner.map(lambda part: f"(?:{part}){{1,3}}"),
        inner.map(lambda part: f"(?:{part})?"),
    ),
    max_leaves=8,
)


@given(PATTERNS, st.text(alphabet="abc1é_ \nAÉ-", max_size=8))
def test_it_finds_what_the_interpreters_own_engine_finds(pattern: str, text: str) -> None:
    assert compile_pattern(pattern).found_in(text) == (re.search(pattern, text) is not None)


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\n\n", "\na", "b\na\nb", "é", "aé", "a é"])
@pytest.mark.parametrize(
    "pattern",
    [
        *("a$", "(?m)a$", r"a\Z", "^a", "(?m)^a", r"\Aa", r"a\b", r"(?a:a\b)", r"\B", r"a\B"),
        *("$", r"\Z", "^$", "(?m)^$", r"\n$", "(?i)É", "(?i:A)$", "a(?s:.)", "a.", r"(?a)\W", r"\W", "(?i)[^A]"),
    ],
)
def test_places_are_where_they_are_for_the_interpreters_own_engine(pattern: str, text: str) -> None:
    assert compile_pattern(pattern).found_in(text) == (re.search(pattern, text) is not None)


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|aa)+$", "(a*)*b", "(.*a){12}$", "(a|b)*a(a|b){12}c", "(?:a?){40}a{40}$"]
)
def test_no_pattern_makes_it_hang(pattern: str) -> None:
    """The interpreter's own engine would need years; without what is kept of its steps it would visit a state at each
    character."""
    spent: list[int] = []
    assert not compile_pattern(pattern).found_in("a" * 30_000 + "!", spent.append)
    assert 30_000 // 16 <= sum(spent) < 15_000


def test_no_pattern_makes_it_grow() -> None:
    pattern = compile_pattern("(?:(?:a|b)*a(?:a|b){900}c|x)")
    assert not pattern.found_in("".join(Random(1).choices("ab", k=2_500)))
    assert sum(map(len, pattern._sets)) <= 210_000, "ten times as much without a bound"


def test_its_work_is_told_and_may_be_stopped() -> None:
    spent: list[int] = []

    def spend(units: int) -> None:
        spent.append(units)
        if sum(spent) > 1_000:
            raise OverflowError

    compile_pattern("refund|return").found_in("we ship everywhere " * 500, spend)
    assert 500 <= sum(spent) <= 1_000
    with pytest.raises(OverflowError):
        compile_pattern("(?:a?){40}a{40}$").found_in("a" * 50_000, spend)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"(a)\1", "a back-reference"),
        ("(?=a)", "looking ahead"),
        ("(?<!a)b", "looking ahead"),
        ("(?!)", "looking ahead"),
        ("a++", "a possessive repeat"),
        ("(?>a)", "an atomic group"),
        ("(a)?(?(1)b|c)", "a condition on a group"),
        ("(", "it is no pattern"),
        ("a{9999999999}", "it is no pattern"),
        ("(?:ab){1001}", f"more than {MAX_STATES} states"),
        ("(?:(?:(?:){60000}){60000}){60000}", "too large"),
        ("((?:){60000}|){60000}", "too large"),
        ("a" * 1001, "1001 characters"),
    ],
)
def test_what_cannot_be_had_is_refused_by_name_and_at_once(
    monkeypatch: pytest.MonkeyPatch, pattern: str, words: str
) -> None:
    made: list[object] = []
    monkeypatch.setattr(_Builder, "sequence", noting(_Builder.sequence, lambda _, parts, *__: made.append(parts)))
    with pytest.raises(PatternError) as caught:
        compile_pattern(pattern)
    assert words in str(caught.value)
    assert len(made) <= _MAX_PARTS, "and not a thousand million"
