"""Accepting differences of a golden: each with a reason, all or the golden stays; what was decided is chained history.

Through ``python -m reenact golden run --mode review``, in a project whose agent was changed on purpose.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reenact.errors import GoldenMismatch, StoreError, UsageError
from reenact.store.bundles import read_bundle, write_bundle
from reenact.store.bundles.text import text_of
from reenact.testing.goldens import golden_acceptance
from reenact.testing.goldens.acceptance import Reasons, concluded, decided
from reenact.testing.goldens.drift import drift_of
from reenact.testing.goldens.golden_acceptance import ReviewResult, accept, look, revision_of, settle
from reenact.testing.goldens.golden_differences import Category
from reenact.testing.goldens.golden_dir import open_golden_dir
from reenact.testing.goldens.golden_trace import Golden, ScriptedAnswer
from reenact.testing.goldens.golden_writer import with_golden
from reenact.testing.goldens.modes import record_missing
from reenact.testing.goldens.opened_golden import open_golden

from .project import AGENT, ASKS_ON, FIX
from .reviewed import EXPECTED, Reviewed

OTHERWISE = AGENT.replace('search(step["search"])\n        # FIX', f'search("refunds", user="u_1")\n        {FIX}')
"""A fix that also asks the search something else."""
TRIMMED = [str(number) for number in range(2, 10)]
ALONE = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Reviewed:
    """The incident as two goldens: ``refunds``, and ``same`` which must stay the same."""
    made = Reviewed(tmp_path_factory.mktemp("reviewed"))
    made.record()
    made.keep("refunds", *EXPECTED)
    made.keep("same")
    return made


@pytest.fixture(scope="module")
def seen(project: Reviewed) -> ReviewResult:
    """What a review of ``refunds`` finds when the agent is mended."""
    project.mend(FIX)
    return look(project.golden_dir, "refunds")


@pytest.fixture(autouse=True)
def _as_it_was(project: Reviewed, seen: ReviewResult, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(project.folder)
    before = {path: path.read_bytes() for path in project.golden_dir.folder.iterdir()}
    project.mend(FIX)
    yield
    for path in project.golden_dir.folder.iterdir():
        path.unlink()
    for path, data in before.items():
        path.write_bytes(data)


def test_differences_are_shown_accepted_one_by_one_and_then_todays_run_answers(project: Reviewed) -> None:
    path = project.golden_dir.path("refunds")
    before = read_bundle(path)
    words = ("golden", "run", "refunds", "--mode", "review")
    shown = project.run(*words, "--accept", "9=it stops", "--accept", "2=it is told", status=1)
    assert "refunds: 2 fix, 7 trim" in shown.stdout
    assert '{"query": "refund policy", "user": null}                 | -' in shown.stdout
    assert '"failed"                                                 | "ok"' in shown.stdout
    assert "7 of 9 differences are not accepted" in shown.stdout
    assert "next: reenact golden run refunds --mode review --accept 3=REASON" in shown.stderr
    assert [each["event"] for each in project.said("refunds")["pending"]] == [2, 9], "in the order of the run"
    assert project.said("refunds")["history"] == []
    assert [each.records for each in read_bundle(path).runs] == [each.records for each in before.runs], "it stays"

    found, ended = project.review("refunds", "--accept", "7=three are enough", "--accept-all", "it stops", status=0)
    assert [(each["place"], each["category"], each["open"]) for each in found] == [
        *((place, "fix" if place == "7" else "trim", place not in ("2", "9")) for place in TRIMMED),
        ("end", "fix", True),
    ], "event 7 is the fourth search, which a failing expectation blames; the run had failed"
    assert (ended["status"], ended["accepted"], ended["replaced"]) == ("passed", 7, True)
    after = read_bundle(path)
    assert [each.role for each in after.runs] == ["recorded", "fixed"]
    assert after.main.records == before.main.records, "the incident stays"
    second, *_, seventh, _, ninth, end, last = project.said("refunds")["history"]
    assert (second["reason"], ninth["reason"], seventh["reason"]) == ("it is told", "it stops", "three are enough")
    assert (seventh["event"], seventh["category"], seventh["call"]) == (7, "fix", "tool search")
    assert len(seventh["old"]) == 32 and "new" not in seventh
    assert end["call"] == "run" and len(end["new"]) == 32 and end["new"] != end["old"]
    assert (last["what"], last["old"], last["new"]) == ("reviewed", before.main.run.id, after.runs[1].run.id)
    assert project.said("refunds")["pending"] == []

    again = look(project.golden_dir, "refunds")
    assert (again.differences, again.outcome.status, again.outcome.boundaries) == ((), "passed", 2)
    assert settle(project.golden_dir, again, Reasons()).line == "refunds  nothing to review"


def test_what_looks_like_personal_data_in_the_accepted_run_is_told(project: Reviewed, seen: ReviewResult) -> None:
    assert seen.findings is not None and seen.findings.personal == ()
    project.mend(FIX.replace("I have no documents.", "I have no documents. Ask ada@shop.io"))
    findings = look(project.golden_dir, "refunds").findings
    assert findings is not None
    ((_, sort, places),) = findings.personal
    assert sort == "e-mail address" and "its output" in places


def test_what_was_accepted_is_asked_again_where_it_comes_to_something_else(
    project: Reviewed, seen: ReviewResult
) -> None:
    accept(project.golden_dir, seen, {"9": "it stops", "end": "it says so"})
    project.mend(FIX.replace("I have no documents.", "There are no documents."))
    found = look(project.golden_dir, "refunds")
    assert [each.place for each in found.left] == ["2", "3", "4", "5", "6", "7", "8", "end"]


def test_a_run_on_which_an_expectation_fails_is_refused_and_nothing_is_written(project: Reviewed) -> None:
    project.mend(FIX.replace("I have no documents.", "Ask somebody else."))
    before = project.golden_dir.path("refunds").read_bytes()
    found = look(project.golden_dir, "refunds")
    assert found.differences and found.outcome.status == "failed"
    with pytest.raises(GoldenMismatch, match="expected to contain 'no documents'"):
        accept(project.golden_dir, found, {"end": "why not"})
    assert accept(project.golden_dir, found, {}).outcome.exit_code == 1
    assert project.golden_dir.path("refunds").read_bytes() == before


def test_expectations_that_hold_on_the_incident_by_now_are_refused(project: Reviewed, seen: ReviewResult) -> None:
    project.keep("weak", "calls(search) <= 5", run=seen.opened.recorded.id)
    found = look(project.golden_dir, "weak")
    with pytest.raises(GoldenMismatch, match="it holds on the bad run"):
        accept(project.golden_dir, found, {each.place: "it stops" for each in found.left})
    assert [each.role for each in read_bundle(project.golden_dir.path("weak")).runs] == ["recorded"]


def test_a_golden_that_must_stay_the_same_is_reviewed_the_same_way(
    project: Reviewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(golden_acceptance, "any_seed", lambda *_: True)
    found = look(project.golden_dir, "same")
    assert [each.place for each in found.left] == [*TRIMMED, "end"]
    assert settle(project.golden_dir, found, Reasons(everything="it stops early")).replaced
    assert look(project.golden_dir, "same").outcome.status == "passed"
    project.write(AGENT)
    back = look(project.golden_dir, "same")
    assert [each.category for each in back.differences] == [Category.CREATE] * 8 + [Category.UPDATE]
    assert [each.place for each in back.differences[:2]] == ["+2", "+3"]


def test_only_what_is_printed_differs_and_is_reviewed(project: Reviewed) -> None:
    project.write(AGENT.replace('"gave up"', '"I gave up"'))
    (only,) = look(project.golden_dir, "same").differences
    assert (only.place, only.category) == ("end", Category.UPDATE)
    assert only.now["printed as errors"] == "I gave up\n"


def test_another_state_of_a_step_is_an_update_and_asks_nobody_anything_else(project: Reviewed) -> None:
    """The same calls: only what the agent's own code makes of them is different."""
    stepped = "import reenact\nwith reenact.step('count', {'found': 0}) as state:\n    state['found'] += 1\n"
    project.write(stepped)
    project.run("record", "--", sys.executable, "agent.py")
    project.keep("stepped")
    project.write(stepped.replace("'found': 0", "'found': 1"))
    (only,) = look(project.golden_dir, "stepped").differences
    assert (only.place, only.category, only.how) == (
        "0",
        Category.UPDATE,
        "asks something else and comes to something else",
    )
    assert (only.was["answer"], only.now["answer"]) == ({"state": {"found": 1}}, {"state": {"found": 2}})
    drifted = drift_of(project.golden_dir, "stepped")
    assert (drifted.standing, drifted.why) == ("drifted", ())


def test_a_call_that_nobody_answers_is_stale_until_it_is_recorded(project: Reviewed) -> None:
    project.mend(ASKS_ON)
    asked = project.asked()
    for name in ("refunds", "same"):
        found = look(project.golden_dir, name)
        assert (found.differences, found.outcome.status) == ((), "stale")
        assert f"next: reenact golden run {name} --mode missing" in found.outcome.message
        assert project.asked() == asked
        with pytest.raises(GoldenMismatch):
            accept(project.golden_dir, found, {"2": "why not"})
        recorded = record_missing(project.golden_dir, name)
        assert (recorded.kept, recorded.outcome.status) == (1, "passed" if name == "refunds" else "failed")
        asked = (asked[0] + 1, asked[1])
        found = look(project.golden_dir, name)
        assert [each.place for each in found.left] == [*TRIMMED, "end"]
        assert (found.left[0].category, found.left[0].how[:19]) == (Category.UPDATE, "asks something else")
        assert project.asked() == asked
    assert "--mode review" in recorded.outcome.message


def test_other_arguments_are_an_update_old_beside_new(project: Reviewed, seen: ReviewResult) -> None:
    incident = seen.opened.recorded.id
    project.keep("scripted", *EXPECTED, run=incident, answers=(ScriptedAnswer("search", {"docs": [], "count": 0}),))
    project.write(
        AGENT.replace('search(step["search"])\n        # FIX', f'search("refunds", user="u_1")\n        {FIX}')
    )
    first = look(project.golden_dir, "scripted").differences[0]
    assert (first.place, first.category, first.how) == ("1", Category.UPDATE, "asks something else")
    assert first.was["asks"] == {"query": "refund policy", "user": None}
    assert first.now["asks"] == {"query": "refunds", "user": "u_1"}


def test_a_call_that_had_failed_and_does_not_any_more_is_a_fix(project: Reviewed) -> None:
    project.write(AGENT.replace('return {"docs": [], "count": 0}', 'raise OSError("the index is gone")'))
    project.record()
    project.keep("gone", "status == 'ok'", answers=(ScriptedAnswer("search", {"docs": [], "count": 0}),))
    project.write(
        AGENT.replace('search(step["search"])\n        # FIX', f'search("refunds", user="u_1")\n        {FIX}')
    )
    found = look(project.golden_dir, "gone").differences
    assert [(each.place, each.category) for each in found] == [("1", Category.FIX), ("end", Category.FIX)]


def test_in_a_clone_of_the_project_its_own_paths_are_no_difference(project: Reviewed, tmp_path: Path) -> None:
    project.write(AGENT.replace("main(sys.argv[1])", "main(str(HERE / sys.argv[1]))"))
    project.record()
    project.keep("paths", *EXPECTED)
    shutil.copytree(project.folder, tmp_path / "clone", ignore=shutil.ignore_patterns(".reenact"))
    found = look(open_golden_dir(tmp_path / "clone"), "paths")
    assert (found.outcome.status, found.outcome.boundaries, found.differences) == ("failed", 10, ())


def test_what_cannot_be_meant_is_refused(project: Reviewed, seen: ReviewResult) -> None:
    with pytest.raises(UsageError, match="nothing differs at 0 in golden refunds") as raised:
        settle(project.golden_dir, seen, Reasons({"0": "x"}))
    assert raised.value.cause == "the differences are at 2, 3, 4, 5, 6, 7, 8, 9, end"
    for words, everything in ((["7="], None), (["7"], None), ([" =x"], None), (["7=REASON"], None), ([], " ")):
        with pytest.raises(UsageError, match="gives no reason"):
            Reasons.parse(words, everything, "--accept")
    refused = project.run("golden", "run", "refunds", "--accept", "7=x", status=2)
    assert "nothing is accepted in mode frozen" in refused.stderr
    refused = project.run("golden", "run", "--mode", "review", "--accept", "7=x", status=2)
    assert "does not say of which golden" in refused.stderr
    refused = project.run("golden", "run", "same", "--mode", "review", "--accept", "sane:7=x", status=2)
    assert "--accept sane:7 names a golden that is not reviewed" in refused.stderr
    refused = project.run("golden", "run", "--mode", "review", "--rev", "HEAD", status=2)
    assert "--rev does not go with --mode review" in refused.stderr


def test_a_reason_may_name_its_golden(seen: ReviewResult) -> None:
    reasons = Reasons.parse(["refunds:7=it stops", "same:2=x=y", "3=z"], None, "--accept")
    assert reasons.unnamed == ("3",)
    assert reasons.of("refunds", seen.differences, ["3", "7", "8"]) == {"7": "it stops", "3": "z"}
    assert Reasons(reasons.by_place, "rest").of("same", seen.differences, ["2", "8"]) == {"2": "x=y", "8": "rest"}


def test_the_history_is_shown_and_an_altered_one_is_refused(project: Reviewed, seen: ReviewResult) -> None:
    path = project.golden_dir.path("refunds")
    reasons = {each.place: f"because of {each.place}" for each in seen.differences}
    golden = decided(seen.opened.golden, seen.differences, reasons, "2026-11-21T09:00:00Z", "0123456789abcdef+changes")
    with_golden(path, golden)
    listed = project.run("golden", "ls", "refunds", "--history").stdout
    line = "2026-11-21T09:00:00Z  accepted  fix 7  tool search  because of 7  (0123456789ab+changes)"
    assert line.replace("accepted", "accepted, the review goes on") in listed
    golden = concluded(golden, "2026-11-21T10:00:00Z", "0123456789abcdef", "01aaa", "01bbb")
    with_golden(path, golden)
    assert open_golden(path).golden == golden
    assert line in project.run("show", str(path)).stdout
    assert any("reason: because of 7" in text for text in text_of(path))
    told = project.said("refunds")
    told["history"][5]["reason"] = "everything is fine"
    write_bundle(path, read_bundle(path).runs, told)
    with pytest.raises(StoreError, match="entry 6 is not chained"):
        open_golden(path)
    told["history"][5]["event"] = [[]]
    write_bundle(path, read_bundle(path).runs, told)
    with pytest.raises(UsageError, match="event of an entry of the history is not what it should be"):
        open_golden(path)
    del told["history"][5]
    write_bundle(path, read_bundle(path).runs, told)
    with pytest.raises(StoreError, match="entry 6 is not chained"):
        open_golden(path)


def test_a_golden_of_the_format_before_is_read_and_gets_its_chain(project: Reviewed, seen: ReviewResult) -> None:
    path = project.golden_dir.path("refunds")
    told = project.said("refunds")
    assert told["golden"] == 3
    entry = {"at": "2026-11-20T09:00:00Z", "what": "added", "event": None, "category": "", "reason": "it looped"}
    old = {name: value for name, value in told.items() if name != "pending"} | {"golden": 1, "history": [entry]}
    write_bundle(path, read_bundle(path).runs, old)
    opened = open_golden(path)
    assert [each.reason for each in opened.golden.history] == ["it looped"] and opened.golden.pending == ()
    with pytest.raises(StoreError, match="entry 1 is not chained"):
        Golden.from_json({**old, "golden": 2})
    accept(project.golden_dir, replace(seen, opened=opened), {"7": "it stops"})
    (first,) = project.said("refunds")["history"]
    assert {**entry, "chain": first["chain"]} == first and len(first["chain"]) == 32


def test_a_golden_that_somebody_else_has_written_meanwhile_is_left_alone(project: Reviewed, seen: ReviewResult) -> None:
    path = project.golden_dir.path("refunds")
    with_golden(path, replace(seen.opened.golden, about="edited"))
    before = path.read_bytes()
    with pytest.raises(UsageError, match="has changed meanwhile"):
        accept(project.golden_dir, seen, {"7": "it stops"})
    assert path.read_bytes() == before


@given(st.data())
@settings(
    deadline=None,
    max_examples=settings().max_examples // 4,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_in_whichever_order_and_parts_the_same_bundle_comes_of_it(
    project: Reviewed, seen: ReviewResult, data: st.DataObject
) -> None:
    """Whether today's code passes on the new bundle is not asked here: that is the same for every order."""
    reasons = {each.place: f"because of {each.place}" for each in seen.differences}
    order = data.draw(st.permutations(list(reasons)))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(order) - 1))))
    parts = [order[start:end] for start, end in zip([0, *cuts], [*cuts, len(order)], strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(golden_acceptance, "on_run", lambda *_: replace(seen.outcome, status="passed"))
        patch.setattr(golden_acceptance, "any_seed", lambda *_: True)
        at_once = _come_of(project, seen, [reasons])
        in_parts = _come_of(project, seen, [{place: reasons[place] for place in part} for part in parts])
    assert in_parts == at_once
    assert [each["reason"] for each in in_parts[0]["history"]] == [*reasons.values(), "9 accepted"]


def _come_of(project: Reviewed, seen: ReviewResult, rounds: list[dict[str, str]]) -> tuple[Any, list[Any]]:
    """What a golden is after some reviews, each of which goes on where the last one ended; without its times."""
    path = project.golden_dir.path("refunds")
    before = path.read_bytes()
    for number, reasons in enumerate(rounds, 1):
        looked = replace(seen, opened=open_golden(path))
        settled = accept(project.golden_dir, looked, reasons)
        assert settled.replaced == (number == len(rounds)) and settled.accepted == len(reasons)
    told, runs = project.said("refunds"), [(each.role, each.run.id, each.records) for each in read_bundle(path).runs]
    path.write_bytes(before)
    for entry in told["history"]:
        del entry["at"], entry["chain"]
    return told, runs


def test_the_revision_of_the_code_is_told_with_its_changes(tmp_path: Path) -> None:
    assert revision_of(tmp_path) == ""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=you", "-c", "user.email=you@localhost"]
    (tmp_path / "agent.py").write_text("1\n", encoding="utf-8")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "the agent"]):
        subprocess.run([*git, *words], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert revision_of(tmp_path) == head
    (tmp_path / "agent.py").write_text("2\n", encoding="utf-8")
    assert revision_of(tmp_path) == f"{head}+changes"


# --- a person at a terminal ------------------------------------------------------------------------------------------


@ALONE
def test_a_person_is_asked_about_each_and_nothing_is_accepted_without_a_reason(project: Reviewed) -> None:
    code, screen = project.typed("n\nwhat?\ny\n\nit stops\nq\n", "refunds", "same")
    assert code == 1 and screen.count("accept? [y]es, [n]o, [a]ll that are left, [q]uit") == 4, screen
    assert screen.count("reason: ") == 2
    asked = screen.split("accept?")
    assert "trim    2" in asked[0] and '{"prompt": "Refunds?"}' in asked[0] and "tool search" not in asked[0]
    assert "trim    3" in asked[1] and "trim" not in asked[2], "asked again after an answer that was none"
    assert "8 of 9 differences are not accepted" in screen
    assert "same:" not in screen, "who quits is not asked about the next golden"
    assert [(each["event"], each["reason"]) for each in project.said("refunds")["pending"]] == [(3, "it stops")]


@ALONE
def test_a_person_accepts_all_that_are_left_and_leaves(project: Reviewed) -> None:
    code, screen = project.typed("n\ny\nthe search\na\nit stops\n\x04", "refunds")
    assert code == 1, screen
    reasons = [each["reason"] for each in project.said("refunds")["pending"]]
    assert reasons == ["the search", *["it stops"] * 7]
