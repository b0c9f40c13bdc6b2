"""A recorded incident becomes a test that fails for its reason, passes when it is mended, and never asks the world."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reenact import open_store
from reenact.facts.shell_text import typed
from reenact.testing.expectations.expectation_verdict import Verdict
from reenact.testing.goldens.drift import drift_of
from reenact.testing.goldens.golden_dir import open_golden_dir
from reenact.testing.goldens.golden_execution import concluded
from reenact.testing.goldens.golden_launch import ProcessResult
from reenact.testing.goldens.golden_trace import Golden, ScriptedAnswer
from reenact.testing.goldens.golden_writer import with_golden
from reenact.testing.goldens.modes import record_missing
from reenact.testing.goldens.opened_golden import open_golden
from reenact.timetravel.forks.fork_report import ForkReport

from .project import AGENT, ASKS_ON, FIX, Project

EXPECTED = ("--expect", "calls(search) <= 3", "--expect", "'no documents' in answer")


@pytest.fixture(scope="module")
def incident(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The recorded incident, kept as the golden ``refunds``. Tests put the agent's code back as they found it."""
    project = Project(tmp_path_factory.mktemp("a project"))
    project.record()
    said = project.add("refunds", "--about", "it searched for ever", *EXPECTED)
    assert "fails on today's code, as it should until you fix it: calls(search) = 5, expected <= 3" in said.stderr, (
        said.stderr
    )
    assert said.stdout.startswith("tests/goldens/refunds.reenact and tests/test_goldens.py::test_refunds: run ")
    return project


@pytest.fixture(autouse=True)
def _as_it_was(incident: Project) -> None:
    incident.write(AGENT)


def test_it_fails_for_the_reason_of_the_incident(incident: Project) -> None:
    asked = incident.asked()
    found = incident.outcome("refunds", status=1)
    assert found["status"] == "failed"
    assert [each["holds"] for each in found["judged"]] == [False, False]
    assert found["judged"][0]["seen"] == "calls(search) = 5, expected <= 3"
    assert (found["boundaries"], found["used"]) == (10, {})
    assert incident.asked() == asked, "neither the model nor the search was asked"
    assert any("network namespace" in each for each in found["enforcement"])


def test_the_fix_passes_and_may_stop_earlier(incident: Project) -> None:
    incident.mend(FIX)
    found = incident.outcome("refunds")
    assert (found["status"], found["boundaries"]) == ("passed", 2)
    assert [each["holds"] for each in found["judged"]] == [True, True]


def test_a_call_without_a_recording_is_stale_and_never_answered_by_another(incident: Project) -> None:
    incident.mend(ASKS_ON)
    asked = incident.asked()
    found = incident.outcome("refunds", status=3)
    assert (found["status"], found["stale_at"]) == ("stale", "think")
    assert "golden run refunds --mode missing" in found["message"]
    assert "recorded calls of think" in found["message"]
    beside = '  beside event 2 it asks\n    ~ arguments.prompt: "Refunds?" -> "Refunds?: nothing found"\n'
    assert beside in found["message"], found["message"]
    assert incident.asked() == asked


def test_what_is_missing_is_recorded_once_and_kept_beside_the_incident(incident: Project) -> None:
    incident.mend(ASKS_ON)
    path = incident.folder / "tests" / "goldens" / "refunds.reenact"
    before = path.read_bytes()
    try:
        models, searches = incident.asked()
        said = incident.run("golden", "run", "refunds", "--mode", "missing").stdout
        assert "1 answer recorded, kept beside the incident" in said
        assert incident.asked() == (models + 1, searches), "the model was asked once, the search not at all"
        found = incident.outcome("refunds")
        assert (found["status"], found["used"]) == ("passed", {"overlay": 1})
        assert incident.asked() == (models + 1, searches)
        assert incident.run("golden", "drift", "refunds").stdout.startswith("fresh    refunds")
        incident.write(incident.folder.joinpath("agent.py").read_text().replace('["search"])', '["search"].upper())'))
        assert incident.run("golden", "drift", "refunds", status=3).stdout.startswith("stale    refunds  search at ")
        with zipfile.ZipFile(path) as bundle:
            golden = json.loads(bundle.read("golden.json"))
        assert [each["what"] for each in golden["history"]] == ["added", "recorded"]
        incident.write(AGENT)
        assert incident.outcome("refunds", status=1)["status"] == "failed", "the incident is what it was"
    finally:
        path.write_bytes(before)


def test_code_that_asks_more_than_was_recorded_later_has_drifted_from_the_incident(incident: Project) -> None:
    """What was recorded later explains all that today's code asks, or nothing of it."""
    incident.mend(ASKS_ON)
    golden_dir = open_golden_dir(incident.folder)
    path = golden_dir.path("refunds")
    before = path.read_bytes()
    try:
        assert record_missing(golden_dir, "refunds").kept == 1
        with_golden(
            path, replace(open_golden(path).golden, answers=(ScriptedAnswer("search", {"docs": [], "count": 0}),))
        )
        incident.mend(f'{ASKS_ON}; search("fees")')
        found = drift_of(golden_dir, "refunds")
        assert found.standing == "drifted"
        assert [each.text.split()[:2] for each in found.why] == [["tool", "search"], ["model", "think"]]
    finally:
        path.write_bytes(before)


def test_what_is_no_answer_is_not_kept(incident: Project) -> None:
    """The model is out of reach, and the agent makes the best of it: the golden has to ask again another day."""
    path = incident.folder / "tests" / "goldens" / "refunds.reenact"
    before = path.read_bytes()
    try:
        incident.mend(ASKS_ON)
        agent = incident.folder / "agent.py"
        whole = agent.read_text()
        fails = '    if "nothing" in prompt: raise ConnectionError("nobody there")\n    return {'
        down = whole.replace("    return {", fails, 1)
        down = down.replace(
            "        step = think(prompt)", "        try: step = think(prompt)\n        except OSError: return"
        )
        agent.write_text(down)
        done = incident.run("golden", "run", "refunds", "--mode", "missing", status=1)
        assert "nothing was kept" in done.stdout and "nothing was missing" not in done.stdout
        assert "ConnectionError: nobody there" in done.stderr and "think was not answered" in done.stderr
        assert path.read_bytes() == before
        agent.write_text(whole)
        assert "1 answer recorded" in incident.run("golden", "run", "refunds", "--mode", "missing").stdout
    finally:
        path.write_bytes(before)


def test_where_no_model_is_asked_the_next_command_scripts_the_answer(incident: Project) -> None:
    incident.mend('search("fees")')
    path = incident.folder / "tests" / "goldens" / "refunds.reenact"
    before = path.read_bytes()
    try:
        (told,) = incident.run("golden", "drift", "refunds", "--json", status=3).stdout.splitlines()
        words = shlex.split(json.loads(told)["next"])
        assert words[-2:] == ["--answer", "search=JSON"], words
        assert incident.outcome("refunds", status=3)["message"].endswith(f"next: {typed(words)}")
        incident.run(*words[1:-1], 'search={"docs": [], "count": 0}')
        assert incident.outcome("refunds", status=1)["used"] == {"scripted": 5}
        with zipfile.ZipFile(path) as bundle:
            golden = json.loads(bundle.read("golden.json"))
        assert [each["text"] for each in golden["expect"]] == [*EXPECTED[1::2]]
        assert golden["about"] == "it searched for ever"
    finally:
        path.write_bytes(before)


def test_an_agent_that_crosses_no_boundary_is_not_tested(incident: Project) -> None:
    incident.write("print('I have no documents.')\n")
    found = incident.outcome("refunds", status=1)
    assert (found["status"], found["boundaries"]) == ("failed", 0)
    assert "made no call" in found["message"]


def test_expectations_that_hold_on_the_incident_are_refused(incident: Project) -> None:
    refused = incident.add("weak", "--expect", "calls(search) <= 5", status=2)
    assert "it holds on the bad run" in refused.stderr and "calls(search)" in refused.stderr
    assert not (incident.folder / "tests" / "goldens" / "weak.reenact").exists()


def test_a_misspelled_name_of_a_call_is_refused(incident: Project) -> None:
    refused = incident.add("weak", "--expect", "calls(serach) == 1", status=2).stderr
    assert "names serach" in refused and "did you mean search?" in refused
    assert not (incident.folder / "tests" / "goldens" / "weak.reenact").exists()
    said = incident.add("forbids", *EXPECTED, "--holds", "calls(delete_everything) == 0").stderr
    assert "of its code is named delete_everything; the names are " in said and "search" in said
    incident.run("golden", "rm", "forbids")


def test_a_removed_golden_takes_its_test_along_unless_that_was_changed(incident: Project) -> None:
    tests = incident.folder / "tests" / "test_goldens.py"
    before = tests.read_text()
    for name in ("one", "two"):
        incident.add(name, *EXPECTED)
    tests.write_text(tests.read_text().replace("def test_two(replayed):", "def test_two(replayed, capsys):"))
    assert "and tests/test_goldens.py::test_one" in incident.run("golden", "rm", "one").stdout
    said = incident.run("golden", "rm", "two")
    assert "test_goldens.py" not in said.stdout
    assert "tests/test_goldens.py::test_two has been changed" in said.stderr
    assert "test_one" not in tests.read_text() and "def test_two(replayed, capsys):" in tests.read_text()
    tests.write_text(before)


def test_a_name_is_taken_once_and_an_altered_bundle_is_refused(incident: Project) -> None:
    refused = incident.add("refunds", *EXPECTED, status=2).stderr
    assert "there is a golden refunds already" in refused and "--as refunds" in refused and "--force" in refused
    path = incident.folder / "tests" / "goldens" / "copy.reenact"
    data = bytearray((incident.folder / "tests" / "goldens" / "refunds.reenact").read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    try:
        assert incident.outcome("copy", status=4)["status"] == "broken"
    finally:
        path.unlink()


def test_scripted_answers_are_counted(incident: Project) -> None:
    incident.add("scripted", *EXPECTED, "--answer", 'think={"say": "I have no documents."}')
    incident.mend(ASKS_ON)
    found = incident.outcome("scripted")
    assert (found["status"], found["used"]) == ("passed", {"scripted": 1})
    incident.run("golden", "rm", "scripted")


def test_without_expectations_it_must_stay_the_same(incident: Project) -> None:
    said = incident.add("same")
    assert "gave up" not in said.stdout + said.stderr, "nobody asked for what it prints, three times"
    ran = incident.run("golden", "run", "same")
    assert "passed" in ran.stdout and "gave up" not in ran.stdout + ran.stderr
    incident.mend(FIX)
    found = incident.outcome("same", status=1)
    assert found["status"] == "failed"
    assert "nothing is missing in it" in incident.run("golden", "run", "same", "--mode", "missing", status=2).stderr
    incident.run("golden", "rm", "same")


def test_what_cannot_stay_the_same_is_no_golden_unless_something_is_expected_of_it(incident: Project) -> None:
    incident.mend(FIX)
    path = incident.folder / "tests" / "goldens" / "no.reenact"
    refused = incident.add("no", status=3).stderr
    assert "must stay the same; it does not\nstdout differs at byte 0" in refused, refused
    assert "likely cause: the code has changed" in refused and "next: reenact replay " in refused
    assert not path.exists()


def test_a_run_that_was_killed_is_no_golden_that_must_stay_the_same(tmp_path: Path) -> None:
    """By what is expected of it, it is one: it is judged by what was written of it."""
    project = Project(tmp_path)
    waits = "import os, time; (HERE / 'pid').write_text(str(os.getpid())); time.sleep(100)"
    project.write(AGENT.replace('raise SystemExit("gave up")', waits))
    killed = project.begin("record", "--", sys.executable, "agent.py", "Refunds?")
    _until(lambda: (tmp_path / "pid").exists() and _written(tmp_path / ".reenact") == 10)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGTERM)
    assert "interrupted at 9" in killed.communicate(timeout=60)[1]
    refused = project.add("killed", status=3).stderr
    assert "golden killed is not added" in refused and "its process was ended from outside" in refused, refused
    assert "  next: reenact golden add " in refused
    assert not list(tmp_path.glob("tests/**/*.reenact"))
    project.add("killed", "--expect", "calls(search) <= 3")
    project.mend(FIX)
    assert project.outcome("killed")["status"] == "passed"


def _written(store: Path) -> int:
    """How many events of the only run are in the file, with what came of them."""
    with open_store(str(store)) as found:
        return sum(event.outcome is not None for run in found.runs() for event in found.events(run))


def _until(holds: Callable[[], bool]) -> None:
    while not holds():  # how long a test may take is the bound
        time.sleep(0.02)


def test_the_test_file_grows_by_a_test_and_nothing_else_changes(incident: Project) -> None:
    file = incident.folder / "tests" / "test_goldens.py"
    text = file.read_text(encoding="utf-8")
    assert text.count("@pytest.mark.reenact(") >= 1 and 'reenact("refunds")' in text
    compile(text, str(file), "exec")


def test_reports_are_written_for_people_and_for_ci(incident: Project, tmp_path: Path) -> None:
    incident.run("golden", "run", "refunds", "--report", str(tmp_path), status=1)
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "0 of 1 passed" in summary and "calls(search) = 5" in summary
    page = (tmp_path / "refunds.html").read_text(encoding="utf-8")
    assert "calls(search) &lt;= 3" in page and "<script" not in page
    assert 'value="failed"' in (tmp_path / "junit.xml").read_text(encoding="utf-8")


def test_a_golden_is_a_run_that_every_reading_command_takes(incident: Project) -> None:
    shown = incident.run("show", "@golden/refunds").stdout
    assert "search" in shown and "think" in shown
    assert incident.run("cat", "@golden/refunds:search#2").stdout == '{"docs":[],"count":0}'
    assert "there is no golden 'nope'" in incident.run("show", "@golden/nope", status=2).stderr


def test_goldens_are_listed_and_a_wrong_name_says_which_there_are(incident: Project) -> None:
    assert "refunds  " in incident.run("golden", "ls").stdout
    assert "there is no golden 'nope'" in incident.run("golden", "run", "nope", status=2).stderr
    assert "is no name for a golden" in incident.add("../x", *EXPECTED, status=2).stderr


def test_models_are_asked_anew_so_often_and_enough_must_pass(incident: Project) -> None:
    incident.mend(FIX)
    models, searches = incident.asked()
    found = incident.outcome("refunds", "--live", "model", "--repeat", "3", "--at-least", "2")
    assert (found["status"], found["samples"], found["used"]) == ("passed", [3, 3], {"live": 1})
    assert incident.asked() == (models + 3, searches), "each time the model, and never the search"
    incident.write(AGENT)
    found = incident.outcome("refunds", "--live", "model", "--repeat", "2", "--at-least", "1", status=1)
    assert (found["status"], found["samples"]) == ("failed", [0, 2])
    assert "passed 0 of 2 times, 1 wanted" in found["message"]


def test_with_the_fork_that_fixed_it_a_fix_that_was_taken_back_fails(incident: Project) -> None:
    (run,) = [json.loads(line) for line in incident.run("ls", "--json").stdout.splitlines()]
    incident.mend(FIX)
    incident.run("fork", f"{run['run']}:0", "--live", "none")
    told = incident.run("golden", "add", "@", "--as", "forked", "--holds", "calls(search) <= 3").stderr
    assert f"is a fork of {run['run'][-8:]}, with what was changed in it" in told
    incident.run("golden", "rm", "forked")
    incident.write(AGENT)
    weak = incident.run(
        *("golden", "add", run["run"], "--as", "mended", "--fixed", "@", "--expect", "calls(search) > 5"), status=2
    )
    assert "fails on the fixed run too" in weak.stderr
    incident.run("golden", "add", run["run"], "--as", "mended", "--fixed", "@", *EXPECTED)
    found = incident.outcome("mended", status=1)
    assert found["status"] == "failed", "what only the incident has answers for is the incident"
    assert found["message"].startswith("today's code re-enacts the incident\ncalls(search) = 5")
    incident.mend(FIX)
    assert incident.outcome("mended")["status"] == "passed"
    incident.run("golden", "rm", "mended")


def test_a_golden_that_was_cut_is_refused_with_the_way_back(incident: Project) -> None:
    path = incident.folder / "tests" / "goldens" / "refunds.reenact"
    before = path.read_bytes()
    try:
        path.write_bytes(before[:-30])
        found = incident.outcome("refunds", status=4)
        assert found["status"] == "broken"
        assert found["message"].endswith("next: git restore tests/goldens/refunds.reenact"), found["message"]
        said = incident.run("golden", "run", status=4).stderr
        assert said.endswith("next: git restore tests/goldens/refunds.reenact\n"), said
    finally:
        path.write_bytes(before)


def test_the_command_that_adds_a_golden_anew_keeps_what_was_said_of_misses() -> None:
    assert Golden("one", on_miss="live-read").again().endswith("--as one --force --on-miss live-read")
    assert "--on-miss" not in Golden("one").again(), "what is so by itself need not be said"


def test_a_golden_whose_program_is_gone_leads_on_without_a_store(incident: Project) -> None:
    (incident.folder / "agent.py").unlink()
    found = incident.outcome("refunds", status=3)
    assert "agent.py is not there any more" in found["message"]
    assert found["message"].endswith("next: reenact show tests/goldens/refunds.reenact"), found["message"]


def test_what_kept_a_live_call_from_being_made_is_said_whatever_the_run_had_done_by_then() -> None:
    why = "OPENAI_API_KEY is not set, and this fork goes live"
    report = ForkReport("run", "parent", 0, "failed", "", exit_code=3, message=why)
    told = ProcessResult(report, used={}, boundaries=4, stale_at="", enforcement=(), run="run")
    assert concluded(told, (Verdict(False, "calls(search) == 1"),)) == ("stale", why)
