"""The arithmetic of the benchmark is right: ratios are taken inside a round, goals are judged, absences are said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import peers
from bench.goals import cases, rows
from bench.rounds import Case, Figure, Row, fits, judge, paired, schedule, spread
from bench.table import render

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.once

OURS, LIMIT, PEER = Figure("ours", "us"), Figure("limit", "us"), Figure("peer", "us")


def results(**columns: list[float]) -> dict[tuple[int, str], dict[str, float]]:
    return {(number, case): {"us": value} for case, column in columns.items() for number, value in enumerate(column)}


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 99))
def test_each_round_has_every_case_once_and_the_same_seed_gives_the_same_order(
    many: int, rounds: int, seed: int
) -> None:
    chosen = [Case(f"c{number}") for number in range(many)]
    plan = list(schedule(chosen, rounds, seed))
    for number in range(rounds):
        assert sorted(case.name for at, case in plan if at == number) == sorted(case.name for case in chosen)
    assert plan == list(schedule(chosen, rounds, seed))


def test_a_round_begins_only_where_it_is_likely_to_end_in_time() -> None:
    assert fits(0, 10_000, 1)
    assert fits(2, 600, 900) and not fits(2, 601, 900)


def test_slow_cases_sit_out_the_later_rounds() -> None:
    plan = [(number, case.name) for number, case in schedule([Case("slow", most=1), Case("quick")], 3, 0)]
    assert sorted(plan) == [(0, "quick"), (0, "slow"), (1, "quick"), (2, "quick")]


def test_a_ratio_is_taken_inside_a_round_so_a_drifting_machine_does_not_show() -> None:
    drifting = results(ours=[10, 20, 40], limit=[5, 10, 20])
    line = judge(Row("t", OURS, "µs", "times", 2.0, LIMIT), drifting, {})
    assert (line.ratio, line.met) == (2.0, True)


@pytest.mark.parametrize(
    ("row", "met"),
    [
        (Row("t", OURS, "µs", "most", 10), True),
        (Row("t", OURS, "µs", "most", 9.9), False),
        (Row("t", OURS, "µs", "times", 1.9, LIMIT), False),
        (Row("t", OURS, "µs", "faster", 3, PEER), True),
        (Row("t", OURS, "µs", "faster", 3.1, PEER), False),
        (Row("t", OURS, "µs", "shown", 0, PEER), None),
    ],
)
def test_goals_are_judged_in_their_own_direction(row: Row, met: bool | None) -> None:
    assert judge(row, results(ours=[10, 10], limit=[5, 5], peer=[30, 30]), {}).met is met


def test_what_was_not_measured_says_why_and_is_neither_reached_nor_missed() -> None:
    row = Row("t", OURS, "µs", "faster", 3, PEER)
    assert judge(row, {}, {"ours": "it is not there"}).missing == "it is not there"
    line = judge(row, results(ours=[1.0]), {"peer": "vcrpy is not installed"})
    assert (line.met, line.missing) == (None, "vcrpy is not installed")
    assert "not measured: vcrpy is not installed" in render([line], {})


def test_pairs_need_both_sides_and_something_to_divide_by() -> None:
    assert paired({0: 4.0, 1: 6.0, 2: 8.0}, {0: 2.0, 1: 0.0}, ours_on_top=True) == [2.0]
    assert spread([]) == 0.0
    assert spread([9.0, 10.0, 11.0]) == pytest.approx(0.1)


def test_every_figure_of_the_table_has_a_case_that_measures_it() -> None:
    from bench.cases import CASES

    for case in cases(rows(full=True)):
        assert case.name in CASES


@pytest.mark.parametrize(("case", "module"), [("mlflow_spans", "mlflow"), ("langfuse_spans", "langfuse")])
def test_a_neighbour_that_is_not_installed_is_absent(case: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from bench.cases import CASES, Absent

    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    with pytest.raises(Absent, match=f"{module}.* is not installed"):
        CASES[case](10)


def test_one_case_runs_from_the_command_line_without_anything_beside_the_checkout() -> None:
    env = {name: value for name, value in os.environ.items() if name not in {"REENACT_PEERS", "REENACT_SHARED"}}
    command = [sys.executable, "-m", "bench", "--rounds", "1", "--only", "show_help"]
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert "reenact --help" in ran.stdout
    assert "Other tools: " not in ran.stdout, "they are measured with the whole table alone"


def test_without_a_runner_the_other_tools_are_said_to_be_unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REENACT_PEERS", "no/such/folder")
    assert peers.report().startswith("Other tools: not measured")
