"""When a run expires, and why: one table, and what holds for every run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import UsageError
from reenact.facts.ids import make_run_id
from reenact.facts.retention import DAY_US, DEFAULTS, Expiry, Kin, class_of, expiry_of, settled, span_us
from reenact.facts.run import Entry, Run, Status
from reenact.facts.settings import Layer, environment_layer, resolve

NOW = 1_790_000_000_000_000
PYTEST = {"env_names": ["HOME", "PYTEST_CURRENT_TEST"]}


def run_of(status: Status = Status.OK, **fields: Any) -> Run:
    """A run that began an hour before it ended."""
    began = NOW - 3_600_000_000
    return Run(make_run_id(began, b"12345"), status=status, **{"started_us": began, "ended_us": NOW, **fields})


TABLE: list[tuple[str, Run, dict[str, str], float | None, str]] = [
    ("ok", run_of(), {}, 7, "ok runs are kept 7 days"),
    ("failed", run_of(Status.FAILED), {}, 30, "failed runs are kept 30 days"),
    ("timeout", run_of(Status.TIMEOUT), {}, 30, "failed runs are kept 30 days"),
    ("interrupted", run_of(Status.INTERRUPTED), {}, 30, "failed runs are kept 30 days"),
    ("recording", run_of(Status.RECORDING, ended_us=None), {}, None, "it is being recorded"),
    ("flagged", run_of(flagged=True), {}, 90, "flagged runs are kept 90 days"),
    ("flagged failure", run_of(Status.FAILED, flagged=True), {}, 90, "flagged runs are kept 90 days"),
    ("flagged test", run_of(flagged=True, environment=PYTEST), {}, 90, "flagged runs are kept 90 days"),
    ("test", run_of(environment=PYTEST), {}, 1, "test runs are kept 1 day"),
    ("failed test", run_of(Status.FAILED, environment=PYTEST), {}, 1, "test runs are kept 1 day"),
    ("pytest", run_of(entry=Entry("command", ("pytest", "-q"))), {}, 1, "test runs are kept 1 day"),
    ("-m", run_of(entry=Entry("command", ("python", "-m", "unittest"))), {}, 1, "test runs are kept 1 day"),
    ("keep", run_of(tags={"keep": "always"}), {}, None, "it is labelled keep=always"),
    ("keep 3d", run_of(flagged=True, tags={"keep": "3d"}), {}, 3, "it is labelled keep=3d"),
    ("slip", run_of(tags={"keep": "alwas"}), {}, None, "it is labelled keep=alwas, which names no span and no class"),
    ("golden", run_of(Status.FAILED, tags={"golden": "x"}), {}, None, "the golden x was made of it"),
    ("no golden", run_of(Status.FAILED, tags={"golden": ""}), {}, 30, "failed runs are kept 30 days"),
    ("retention", run_of(retention="test"), {}, 1, "test runs are kept 1 day"),
    ("own class", run_of(retention="long"), {"long": "52w"}, 364, "long runs are kept 52 weeks"),
    ("90d", run_of(retention="90d"), {}, 90, "its recording says retention=90d"),
    ("always", run_of(retention="always"), {}, None, "its recording says retention=always"),
    ("unknown", run_of(retention="l"), {}, None, "its recording says retention=l, which names no span and no class"),
    ("set", run_of(), {"ok": "2d"}, 2, "ok runs are kept 2 days"),
    ("agent", run_of(agent="refunds"), {"ok": "2d", "ok@refunds": "12h"}, 0.5, "ok runs of refunds are kept 12 hours"),
    ("other agent", run_of(agent="a"), {"ok": "2d", "ok@refunds": "12h"}, 2, "ok runs are kept 2 days"),
    ("set always", run_of(), {"ok": "always"}, None, "ok runs are kept for good"),
    ("a flag lengthens", run_of(flagged=True), {"ok": "always"}, None, "ok runs are kept for good"),
]  # fmt: skip


@pytest.mark.parametrize(("run", "terms", "days", "why"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_table(run: Run, terms: dict[str, str], days: float | None, why: str) -> None:
    assert expiry_of(run, terms) == Expiry(None if days is None else NOW + round(days * DAY_US), why)


def test_one_that_cannot_be_replayed_is_kept_as_a_failed_one() -> None:
    assert expiry_of(run_of(), {}, cold=True) == Expiry(NOW + 30 * DAY_US, "failed runs are kept 30 days")
    assert class_of(run_of(environment=PYTEST), cold=True) == "test"


def test_time_counts_from_when_a_run_came_here() -> None:
    old = run_of(started_us=1, ended_us=2)
    assert expiry_of(old, {}, since_us=NOW).at_us == NOW + 7 * DAY_US
    killed = run_of(Status.INTERRUPTED, ended_us=None)
    assert expiry_of(killed, {}, since_us=NOW).at_us == NOW + 30 * DAY_US, "a server that ran for months"


STATUSES = st.sampled_from(list(Status))
TERMS = st.dictionaries(
    st.sampled_from(["ok", "failed", "flagged", "test", "ok@a", "failed@a", "flagged@a", "mine"]),
    st.sampled_from(["1h", "3d", "40d", "52w", "always"]),
)
RUNS = st.builds(
    run_of,
    STATUSES,
    agent=st.sampled_from(["", "a", "b"]),
    retention=st.sampled_from(["", "ok", "mine", "9d", "odd"]),
    tags=st.dictionaries(st.sampled_from(["owner"]), st.just("ann")),
    environment=st.sampled_from([{}, PYTEST]),
)


@given(RUNS, TERMS, st.booleans())
def test_what_people_say_only_lengthens(run: Run, terms: dict[str, str], cold: bool) -> None:
    def at(run: Run, *, cold: bool = False) -> float:
        found = expiry_of(run, terms, cold=cold).at_us
        return float("inf") if found is None else found

    assert at(replace(run, flagged=True), cold=cold) >= at(run, cold=cold)
    assert at(replace(run, tags={**run.tags, "keep": "always"})) == float("inf")
    assert at(replace(run, tags={**run.tags, "golden": "g"})) == float("inf")
    assert at(replace(run, status=Status.RECORDING)) == float("inf")
    assert not expiry_of(run, terms).due(0)


@st.composite
def forests(draw: st.DrawFn) -> list[Kin]:
    """Runs of which any may go on from, or be part of, one before it, or one that is not there any more."""
    found: list[Kin] = []
    for n in range(draw(st.integers(1, 8))):
        parent = draw(st.sampled_from([None, "gone", *(each.run for each in found)]))
        at = draw(st.one_of(st.none(), st.integers(0, 9)))
        found.append(Kin(str(n), parent, draw(st.booleans()), Expiry(at, f"by itself {n}")))
    return draw(st.permutations(found))


def later(one: Expiry, other: Expiry) -> bool:
    """Whether one run stays at least as long as another."""
    return one.at_us is None or (other.at_us is not None and one.at_us >= other.at_us)


@given(forests())
def test_what_another_run_needs_stays_as_long_as_that_one(runs: list[Kin]) -> None:
    found = settled(runs)
    assert found.keys() == {each.run for each in runs}
    for each in runs:
        assert later(found[each.run], each.own), "never less than by itself"
        if each.parent in found:
            assert later(found[each.parent], found[each.run]), "what it goes on from"
            if each.part:
                assert later(found[each.run], found[each.parent]), "a part goes with the whole, not before"
        assert found[each.run].at_us in [other.own.at_us for other in runs], "and no longer than any of them needs"
        alone = not any(each.run == other.parent for other in runs) and not (each.part and each.parent in found)
        assert not alone or found[each.run] == each.own


def test_settings_are_read_and_checked() -> None:
    nested = resolve([Layer("f", {"keep": {"ok": "3d", "refunds": {"ok": "30d", "test": "1h"}}})])
    assert nested["keep"].value == {"ok": "3d", "ok@refunds": "30d", "test@refunds": "1h"}
    flat = resolve([environment_layer({"REENACT_KEEP": "ok=3d,ok@refunds=30d"})])
    assert flat["keep"].value == {"ok": "3d", "ok@refunds": "30d"}
    with pytest.raises(UsageError, match="ok = 'soon' is neither a span of time"):
        resolve([Layer("f", {"keep": {"ok": "soon"}})])
    with pytest.raises(UsageError, match="not a table of texts"):
        resolve([Layer("f", {"keep": {"ok": 7}})])
    assert all(span_us(each) for each in DEFAULTS.values())
