"""What cells of a trial add up to, which runs are tried first, and what may be asked live costs."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reenact.facts.call import End, EndKind, Json, Kind
from reenact.facts.features import Case, Features
from reenact.facts.record import EvidenceNoted, HeadArrived, Record, SegmentArrived, StreamEnded
from reenact.store.sqlite_store import SqliteStore
from reenact.testing.experiments.candidates import Candidate
from reenact.testing.experiments.cell import CellResult, Status
from reenact.testing.experiments.dataset import Row
from reenact.testing.experiments.fix_trial import Fate, FixTrial, FixVerdict, judged_by_person, trial, varied
from reenact.testing.experiments.live_price import Estimate, estimate
from reenact.testing.goldens.golden_outcome import JudgedExpectation
from reenact.testing.goldens.golden_trace import Golden
from reenact.triage.groups import RunGroup, grouped
from tests.store.records import closing, issued, new_run, opening
from tests.triage.test_groups import run

LIKE = Features(error="KeyError", template="'id'", tool="lookup", suspicions=())
FINE = Features(suspicions=())


def row(name: str, answer: Json = "sent") -> Row:
    return Row(name, "s", f"run of {name}", Golden(name), recorded={"answer": answer})


def cell(name: str, ended: Features | None, status: Status = "ran", repeat: int = 1, **more: Any) -> CellResult:
    return CellResult(
        name, "c", repeat, status, ended={} if ended is None else ended.to_json(), **{"output": "sent", **more}
    )


def group(like: Features = LIKE, case: Case = Case.FAILED) -> RunGroup:
    member = replace(run(1, "KeyError"), features=like, case=case)
    return RunGroup(member.fingerprint, case, (member,))


def came_to(members: list[CellResult], healthy: list[CellResult], of: RunGroup | None = None) -> FixTrial:
    rows = [[row(name) for name in dict.fromkeys(each.row for each in some)] for some in (members, healthy)]
    return trial("c", of or group(), rows[0], rows[1], [*members, *healthy])


@pytest.mark.parametrize(
    ("found", "fate"),
    [
        (cell("m", FINE), Fate.FIXED),
        (cell("m", LIKE), Fate.ALIKE),
        (cell("m", replace(LIKE, steps=("a",))), Fate.ALIKE),
        (cell("m", replace(LIKE, tool="refund")), Fate.OTHERWISE),
        (cell("m", replace(LIKE, template="'state'")), Fate.OTHERWISE),
        (
            cell("m", FINE, "failed", judged=(JudgedExpectation("x", False),), message="x = 1, expected 2"),
            Fate.OTHERWISE,
        ),
        (cell("m", FINE, "failed", message="nothing of it was tested"), Fate.UNTRIED),
        (cell("m", LIKE, "stale", message="no answer"), Fate.UNTRIED),
        (cell("m", LIKE, "refused"), Fate.UNTRIED),
        (cell("m", None, "broken"), Fate.UNTRIED),
    ],
)
def test_what_becomes_of_a_member(found: CellResult, fate: Fate) -> None:
    (member,) = came_to([found], []).members
    assert member.fate is fate and bool(member.why) == (fate is not Fate.FIXED)


def test_the_worst_repeat_counts() -> None:
    both = [cell("m", FINE), cell("m", LIKE, repeat=2)]
    assert came_to(both, []).members[0].fate is Fate.ALIKE
    assert came_to([cell("h", FINE)], [cell("n", FINE), cell("n", LIKE, repeat=2)]).healthy[0].fate is Fate.BROKEN


def test_each_verdict_has_its_exit_status() -> None:
    fixed, alike, stale = cell("a", FINE), cell("b", LIKE), cell("d", LIKE, "stale")
    well, bad, untried = cell("w", FINE), cell("x", LIKE), cell("y", FINE, "stale")
    for members, healthy, verdict, status in (
        ([fixed], [well], FixVerdict.COLLAPSES, 0),
        ([fixed], [], FixVerdict.COLLAPSES, 0),
        ([fixed], [well, untried], FixVerdict.COLLAPSES, 0),
        ([fixed], [untried], FixVerdict.COLLAPSES, 1),
        ([fixed], [well, bad], FixVerdict.COLLAPSES, 1),
        ([fixed, alike], [well], FixVerdict.IN_PART, 1),
        ([fixed, stale], [well], FixVerdict.IN_PART, 1),
        ([alike], [well], FixVerdict.NOT_AT_ALL, 1),
        ([alike, stale], [well], FixVerdict.NOT_AT_ALL, 1),
        ([stale], [bad], FixVerdict.UNTRIED, 3),
    ):
        found = came_to(members, healthy)
        assert (found.verdict, found.exit_code) == (verdict, status), (members, healthy)
    assert came_to([fixed], [well, bad, untried]).broken.of == 2, "of those that could be run"


def test_a_healthy_run_that_says_something_else_is_told_and_not_broken() -> None:
    (other,) = came_to([cell("a", FINE)], [cell("w", FINE, output="lost")]).healthy
    assert other.fate is Fate.UNBROKEN and other.otherwise


def test_what_a_person_flagged_is_judged_by_what_shows_in_it() -> None:
    repeats = Features(suspicions=("repeated-call",))
    flagged = group(repeats, Case.FLAGGED)
    assert came_to([cell("m", repeats)], [], flagged).members[0].fate is Fate.ALIKE
    assert came_to([cell("m", FINE)], [], flagged).members[0].fate is Fate.FIXED
    assert judged_by_person(group(FINE, Case.FLAGGED), []) and not judged_by_person(flagged, [])
    assert not judged_by_person(group(FINE, Case.FLAGGED), ["models > 1"]) and not judged_by_person(group(), [])


def test_the_newest_is_tried_first_and_then_what_differs_from_it() -> None:
    runs = [run(n, "A", asked=("m1",)) for n in range(6)] + [run(9, "A", asked=("m2",)), run(10, "A", asked=("m3",))]
    first = varied(runs)
    assert [each.id for each in first[:3]] == ["r000000", "r000009", "r000010"]
    assert sorted(each.id for each in first) == sorted(each.id for each in runs)
    rare = [run(20, "A", asked=("m9",)), *runs]
    assert varied(rare)[0] == rare[0], "it is the one that triage names"
    apart = varied([run(n, "A", asked=(f"m{n}",)) for n in range(4)])
    assert [each.id for each in apart] == [f"r{n:06}" for n in range(4)]
    assert grouped(runs)[0].members[0] == first[0] and varied([]) == []


def priced(provider: str, model: str, counts: dict[str, int], at: object) -> Decimal | None:
    each = {"gpt-5": Decimal("0.01"), "gpt-5-nano": Decimal("0.001")}.get(model)
    return None if each is None else each * sum(counts.values())


def test_what_goes_live_is_priced_by_what_was_recorded(tmp_path: Path) -> None:
    first = new_run()
    head = {"method": "POST", "url": "https://api.openai.com/v1/chat/completions", "headers": []}
    records: list[Record] = [*opening(first)]
    for number in range(2):
        reading = {
            "provider": "openai", "model_asked": "gpt-5", "model_answered": "gpt-5",
            "usage": {"tokens_in": 30, "tokens_out": 10}, "error": {"status": 429} if number else None,
        }  # fmt: skip
        records += [
            issued(
                number, b'{"model": "gpt-5", "messages": []}', kind=Kind.HTTP, name="POST api.openai.com", head=head
            ),
            HeadArrived(number, 1, {"status": 200, "headers": []}),
            SegmentArrived(number, 2, b"{}"),
            StreamEnded(number, 3, End(EndKind.EOF)),
            EvidenceNoted(number, "reading", reading),
        ]
    store = SqliteStore(tmp_path / "store.db")
    log = store.begin(first)
    log.write([*records, closing(first)])
    log.close()
    runs = [first.id] * 3
    for candidate, wanted in (
        (Candidate("now"), Estimate()),
        (Candidate("gaps", live="missing"), Estimate(6, Decimal("2.4"), open=True, only_missing=True)),
        (Candidate("short", prompt="x", live="changed"), Estimate(6, Decimal("2.4"), open=True)),
        (Candidate("small", model="gpt-5-nano", live="changed"), Estimate(6, Decimal("0.24"), open=True)),
        (Candidate("own", model="mine", live="model"), Estimate(6, None, open=True)),
    ):
        assert estimate(store, runs, candidate, priced, 0) == wanted, candidate  # type: ignore[arg-type]
    assert estimate(store, [], Candidate("short", prompt="x", live="changed"), priced, 0).calls == 0  # type: ignore[arg-type]
    assert estimate(store, runs, Candidate("a", live="model"), None, 0).cost is None
    store.close()
