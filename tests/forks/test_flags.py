"""Proves that ``fork --flag`` sets what OpenFeature evaluates from the branching event on, in the provider's place."""

from __future__ import annotations

import pytest

import reenact
from tests.forks.conftest import Forks
from tests.programs import read_program

AGENT = read_program("forks/feature_flags.py")
BEFORE = "False 3 0.5 {'gold': 1}\n"


def test_it_evaluates_to_the_value_from_there_on(forks: Forks) -> None:
    printed = forks.record(AGENT)
    assert printed == 2 * BEFORE + "STATIC plain\n"
    values = ("new-ui=true", "limit=7", "rate=1", 'tiers={"gold": 2}', "theme=dark", "unheard-of=true")
    options = [word for value in values for word in ("--flag", value)]
    report = forks.fork("look#1", *options, "--live", "none")
    assert report["printed"] == BEFORE + "True 7 1.0 {'gold': 2}\nSTATIC dark\nnew True\n"
    assert (report["live"], report["status"]) == (0, "ok")
    assert "flag new-ui is true" in report["first_line"]
    forks.replays_exactly(report["run"])


def test_at_the_evaluation_itself(forks: Forks) -> None:
    forks.record(AGENT)
    report = forks.fork("limit#2", "--flag", "limit=7", "--live", "none")
    assert report["printed"].splitlines()[1].startswith("False 7")
    forks.replays_exactly(report["run"])


def test_what_cannot_be_set(forks: Forks) -> None:
    forks.record(AGENT)
    for event, flag, says in (
        ("look#1", "new-ui=3", "flag new-ui is asked for as boolean, and 3 is none"),
        ("look#1", "limit=true", "flag limit is asked for as integer, and True is none"),
        ("look#1", "colour=red", "through OpenFeature it evaluates limit, new-ui, rate, theme, tiers"),
        ("theme#2", "limit=4", "it does before, first at event"),
        ("look#1", "limit", "is not of the form --flag K=V"),
    ):
        assert says in forks.fork(event, "--flag", flag, "--live", "none", "--dry-run", status=2)["said"]


def test_a_flag_that_was_not_asked_after_all_is_said(forks: Forks) -> None:
    forks.record(AGENT)
    report = forks.fork("look#1", "--flag", "unheard-of=true", "--flag", "limit=7", "--live", "none", status=1)
    assert "flag unheard-of was not evaluated from event" in report["message"]


def test_in_code(forks: Forks, capfd: pytest.CaptureFixture[str]) -> None:
    forks.record(AGENT)
    with reenact.open_store(str(forks.desk.folder / ".reenact")) as store:
        reenact.fork(forks.parent, "look#1", change=reenact.Change(flags={"limit": 9}), live="none", store=store)
    assert "False 9" in capfd.readouterr().out
