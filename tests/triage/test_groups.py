"""Runs that fail alike are one group; what its members share is found, with its interval, and chance is not."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import UsageError
from reenact.facts.association import LEVEL, Association, corrected, tail
from reenact.facts.features import Case, Features, fingerprint
from reenact.triage.featured_runs import EndedRun
from reenact.triage.groups import Novelty, group_called, grouped, short_names
from reenact.triage.shared_traits import Share, shared

HOUR_US = 3_600_000_000
FINE = Features(asked=("m1",), tools=("lookup",), lacks=(), suspicions=(), cold=())


def run(number: int, error: str = "", hour: int = 0, tenant: str | None = None, **fields: object) -> EndedRun:
    features = replace(FINE, error=error, **fields)  # type: ignore[arg-type]
    case = Case.FAILED if error else Case.COLD if features.cold else None
    name = "" if case is None else fingerprint(case, features)
    return EndedRun(f"r{number:06}", "shop", f"u{number}", tenant, None, hour * HOUR_US, features, case, name, None)


def only(shares: tuple[Share, ...]) -> list[tuple[tuple[str, str], ...]]:
    return [share.traits for share in shares]


def test_the_largest_group_comes_first_and_a_mark_parts_old_from_new() -> None:
    runs = [run(n, "A", hour=9 - n) for n in range(3)] + [run(9, "B", hour=2), run(10, hour=8)]
    every = grouped(runs, mark_us=5 * HOUR_US)
    assert [(each.about, len(each.members), each.novelty) for each in every] == [
        ("A", 3, Novelty.NEW), ("B", 1, Novelty.GONE),
    ]  # fmt: skip
    assert (every[0].first_us, every[0].last_us) == (7 * HOUR_US, 9 * HOUR_US)
    later = grouped(runs, mark_us=99 * HOUR_US)
    assert {each.novelty for each in later} == {Novelty.NEITHER}, "nothing has run since: nothing is known to be gone"
    assert grouped(runs, chosen=runs[:1], mark_us=8 * HOUR_US)[0].novelty is Novelty.NEITHER, "it was there before"


def test_groups_with_one_error_are_told_apart_by_what_parts_them() -> None:
    (one,) = grouped([run(1, "A", steps=("plan", "look"), suspicions=("loop",))])
    assert one.course == "last steps: plan, look", "beside an error, a suspicion parts nothing"
    looping = replace(run(2, steps=("plan",), suspicions=("loop",)), case=Case.FLAGGED, fingerprint="ab")
    assert grouped([looping])[0].course == "last steps: plan; suspicious: loop"
    assert grouped([run(3, steps=("plan",), cold=("payloads",))])[0].course == "", "a cold group is one by its items"


def test_a_group_is_called_by_the_beginning_of_its_fingerprint() -> None:
    groups = grouped([run(n, f"E{n}") for n in range(40)])
    names = short_names(group.fingerprint for group in groups)
    for group in groups:
        assert group_called(groups, names[group.fingerprint]) == group
        assert group_called(groups, group.fingerprint.upper()) == group
    with pytest.raises(UsageError, match="no group matches"):
        group_called(groups, "zz")
    with pytest.raises(UsageError, match="no group matches"):
        group_called(groups, "")
    near = short_names(["a" * 12 + "0" * 20, "a" * 12 + "1" * 20])
    assert set(map(len, near.values())) == {13}


def test_a_cause_of_two_parts_is_named_first() -> None:
    chance = random.Random(1)
    runs = []
    for n in range(600):
        hour, model = (2 if n % 8 == 0 else chance.randrange(24)), chance.choice(("m1", "m2"))
        failed = hour == 2 and model == "m2"
        runs.append(run(n, "Cut" if failed else "", hour=hour, tenant=chance.choice("abcd"), asked=(model,)))
    groups = grouped(runs)
    found = shared(groups, [each for each in runs if each.case is None])[groups[0].fingerprint]
    assert set(found[0].traits) == {("hour", "02:00"), ("model asked", "m2")}
    assert found[0].found.healthy == 0 and found[0].found.interval[0] > 10
    assert {("tenant", each) for each in "abcd"} & {trait for share in found for trait in share.traits} == set()


def test_where_nothing_is_shared_nothing_is_said() -> None:
    """Of 100 groups that are drawn by chance, few are said to share anything."""
    chance = random.Random(7)
    runs = []
    for n in range(4_000):
        error = f"E{chance.randrange(100)}" if chance.random() < 0.3 else ""
        hour, tenant = chance.randrange(24 * 7), chance.choice("abcdefghij")
        runs.append(run(n, error, hour=hour, tenant=tenant, asked=(chance.choice(("m1", "m2")),)))
    groups = grouped(runs)
    found = shared(groups, [each for each in runs if each.case is None])
    assert sum(map(len, found.values())) <= 2


def test_nothing_healthy_one_group_and_few_members() -> None:
    runs = [run(n, "A") for n in range(9)]
    assert shared(grouped(runs), [])[grouped(runs)[0].fingerprint] == ()
    assert shared(grouped(runs[:4]), [run(99)]) == {}
    assert grouped([run(1)]) == () and grouped([]) == ()


def test_what_is_not_known_of_a_run_does_not_count_against_it() -> None:
    bad = [run(n, "A", lacks=("user_id",)) for n in range(6)]
    fine = [run(10 + n) for n in range(30)]
    unknown = [run(100 + n, lacks=None) for n in range(500)]
    (share,) = [
        each for each in shared(grouped(bad), fine + unknown)[bad[0].fingerprint] if each.traits[0][0] == "missing"
    ]
    assert share.traits == (("missing", "user_id"),)
    assert (share.found.among, share.found.of, share.found.healthy, share.found.healthy_of) == (6, 6, 0, 30)


def test_a_failure_is_compared_with_all_that_ended_well_and_a_cold_case_with_what_is_not_cold() -> None:
    """What makes runs cold would otherwise look like a cause of failures: here a tool whose answers are no data."""
    bad = [run(n, "A", tools=("connect",), lacks=("user_id",)) for n in range(6)]
    cold = [run(10 + n, tools=("connect",), cold=("tool_calls",), lacks=("tool_calls", "user_id")) for n in range(30)]
    fine = [run(100 + n) for n in range(30)]
    groups = grouped([*cold, *bad, *fine])
    assert [(each.case, len(each.members)) for each in groups] == [(Case.FAILED, 6), (Case.COLD, 30)], "failures first"
    found = shared(groups, [each for each in (*cold, *fine) if each.healthy])
    (lack,) = found[groups[0].fingerprint]
    assert lack.traits == (("missing", "user_id"),) and (lack.found.healthy, lack.found.healthy_of) == (0, 30), (
        "connect is no cause; and every cold run is examined, but not every other one"
    )
    assert ("tool", "connect") in {
        trait for each in found[groups[1].fingerprint] for trait in (*each.traits, *each.same)
    }


def test_what_only_bodies_tell_does_not_count_of_thinned_runs() -> None:
    bad = [run(n, "A", shapes=("lookup {id: text}",), prompts=("p1",)) for n in range(8)]
    fine = [run(10 + n, shapes=("lookup {id: text}",), prompts=("p1",)) for n in range(8)]
    thinned = [run(100 + n, cold=("payloads",), lacks=None) for n in range(90)]
    found = shared(grouped([*bad, *fine, *thinned]), [*fine, *thinned])
    assert found[bad[0].fingerprint] == (), "the form and the prompt are those of all runs that have them"
    slow = [replace(each, tenant="t") for each in bad]
    (tenant,) = shared(grouped(slow), [*fine, *thinned])[bad[0].fingerprint]
    assert tenant.traits == (("tenant", "t"),) and tenant.found.healthy_of == 98


def test_a_suspicion_is_shared_beside_an_error_whichever_member_is_the_newest() -> None:
    """It is no part of such a group's name, as it is of a group without an error."""
    loops, fine = [run(n, "A", suspicions=("loop",)) for n in range(9)], [run(50 + n) for n in range(40)]
    for bad in (loops, [*loops, run(30, "A", hour=9)]):
        found = shared(grouped(bad), fine)[bad[0].fingerprint]
        assert found[0].traits == (("suspicion", "loop"),) and found[0].found.among == 9


def test_hours_are_those_of_a_zone() -> None:
    at = int(datetime(2026, 11, 2, 23, 30, tzinfo=UTC).timestamp()) // 3600
    bad = [run(n, "A", hour=at) for n in range(8)]
    fine = [run(10 + n, hour=at + 5 + n % 12) for n in range(60)]
    there = shared(grouped(bad), fine, ZoneInfo("Asia/Kolkata"))[bad[0].fingerprint]
    assert (("hour", "04:00"),) in only(there), "half an hour counts to the hour in which its UTC hour begins there"
    assert (("hour", "23:00"),) in only(shared(grouped(bad), fine)[bad[0].fingerprint])
    far = [run(50 + n, "A", hour=10**9) for n in range(5)]
    assert len(grouped(bad + far)) == 1 and shared(grouped(bad + far), fine) is not None


def test_millions_of_tenants_are_no_traits() -> None:
    bad = [run(n, "A", tenant=f"t{n}") for n in range(50)]
    fine = [run(100 + n, tenant=f"t{n}") for n in range(500)]
    assert not [share for share in shared(grouped(bad), fine)[bad[0].fingerprint] if share.traits[0][0] == "tenant"]


# --- figures ---------------------------------------------------------------------------------------------------------


def test_the_exact_test_is_that_of_the_text_books() -> None:
    assert tail(3, 4, 4, 8) == pytest.approx(17 / 70)  # the lady who tastes tea
    assert tail(4, 4, 4, 8) == pytest.approx(1 / 70)
    assert tail(0, 4, 4, 8) == 1.0 and 0 < tail(5000, 5000, 5000, 100_000) < 1e-200


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 12), st.integers(0, 12))
def test_the_exact_test_adds_up(a: int, b: int, c: int, d: int) -> None:
    from math import comb

    drawn, marked, every = a + b, a + c, a + b + c + d
    wanted = sum(comb(marked, k) * comb(every - marked, drawn - k) for k in range(a, min(drawn, marked) + 1))
    assert tail(a, drawn, marked, every) == pytest.approx(wanted / comb(every, drawn))


def test_the_interval_holds_the_lift_and_covers() -> None:
    """Of 1,000 pairs of samples, the interval holds the true ratio in about 95 of 100."""
    chance = random.Random(3)
    held = 0
    for _ in range(1_000):
        among = sum(chance.random() < 0.6 for _ in range(40))
        healthy = sum(chance.random() < 0.2 for _ in range(400))
        found = Association(among, 40, healthy, 400)
        low, high = found.interval
        assert low <= found.lift <= high
        held += low <= 3.0 <= high
    assert held >= 930


def test_the_correction_is_that_of_benjamini_and_hochberg() -> None:
    assert corrected([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert corrected([]) == [] and corrected([0.9]) == [0.9]


@given(st.lists(st.floats(0, 1), max_size=30))
def test_a_corrected_value_is_never_smaller_and_keeps_the_order(values: list[float]) -> None:
    found = corrected(values)
    assert all(one >= other - 1e-12 for one, other in zip(found, values, strict=True))
    order = sorted(range(len(values)), key=lambda at: values[at])
    assert [found[at] for at in order] == pytest.approx(sorted(found))
    assert LEVEL == 0.05
