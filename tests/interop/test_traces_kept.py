"""A trace becomes a golden and a row of an experiment: it answers today's code, and what that says is judged on it."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reenact.errors import UnreplayableRun, UsageError
from reenact.facts.expressions import compile_expression
from reenact.store import open_store
from reenact.testing.goldens.golden_of_import import require_own
from reenact.testing.goldens.golden_trace import Golden
from reenact.testing.goldens.golden_writer import with_golden
from reenact.testing.goldens.opened_golden import open_golden
from reenact.timetravel.vocabulary import RUN_WORDS, RunScope
from tests.interop.conftest import Tried
from tests.interop.spans import text
from tests.interop.test_traces_played import ASKED, PROGRAM, QUESTION, agent, imported, model, otel, program

CHANGED = PROGRAM.replace("return message.content", 'return "I ask a colleague."')
ASKS_ON = PROGRAM.replace('"Be brief."', '"Be kind."')
ENTRY = ("--entry", "agent:answer")


def golden_run(desk: Tried, name: str, *words: str, code: int) -> dict[str, Any]:
    done = desk.reenact("--json", "golden", "run", name, *words)
    assert done.code == code, done.err.decode() + done.out.decode()
    return dict(json.loads(done.out.splitlines()[-1]))


@pytest.mark.timeout(300)
def test_a_golden_is_judged_on_the_trace(desk: Tried) -> None:
    program(desk)
    run = imported(desk, otel())
    weak = desk.reenact("golden", "add", run, "--as", "weak", "--expect", "'lost' in answer", *ENTRY)
    assert weak.code == 2 and b"too weak to be a test" in weak.err, "it must fail on the imported answer"
    untrue = desk.reenact("golden", "add", run, "--as", "untrue", "--holds", "'found' in answer", *ENTRY)
    assert untrue.code == 2 and b"--holds is not true" in untrue.err
    added = desk.reenact(
        "golden", "add", run, "--as", "lost", "--expect", "'lost' not in answer",
        "--holds", "calls(find_order) == 1", *ENTRY,
    )  # fmt: skip
    said = added.err.decode()
    assert added.code == 0, said
    assert "judged on the trace: --expect fails and --holds holds on the imported answer" in said
    assert f"input: {QUESTION} (turn 1 of 1)" in said
    assert b"judged on the trace" in desk.reenact("golden", "ls").out

    failed = golden_run(desk, "lost", code=1)
    assert failed["status"] == "failed" and "It is lost." in failed["message"] and QUESTION in failed["message"]
    assert failed["boundaries"] == 3
    drift = desk.reenact("--json", "golden", "drift", "lost")
    assert json.loads(drift.out.splitlines()[0])["standing"] == "unfixed" and drift.code == 0
    desk.writes("agent.py", CHANGED)
    passed = golden_run(desk, "lost", code=0)
    assert passed["status"] == "passed", "what the function returns is what is judged"
    assert [each["holds"] for each in passed["judged"]] == [True, True]
    desk.writes("agent.py", ASKS_ON)
    stale = golden_run(desk, "lost", code=3)
    assert stale["status"] == "stale" and "Be kind." in stale["message"]
    for words in (("--live", "model"), ("--mode", "missing"), ("--mode", "review")):
        refused = desk.reenact("golden", "run", "lost", *words)
        assert refused.code in (1, 2) and b"judged on the trace" in refused.err + refused.out, words


@pytest.mark.timeout(300)
def test_without_expectations_it_must_stay_the_same(desk: Tried) -> None:
    program(desk)
    run = imported(desk, otel())
    words = ("golden", "add", run, "--as", "same", "--cmd", "python agent.py {input}")
    assert desk.reenact(*words).code == 0
    assert golden_run(desk, "same", code=0)["boundaries"] == 3
    desk.writes("agent.py", "print('nothing')")
    assert golden_run(desk, "same", code=1)["status"] == "failed"


def test_a_golden_of_a_trace_needs_a_program_of_this_project(desk: Tried, tmp_path: Path) -> None:
    program(desk)
    run = imported(desk, otel())
    refused = desk.reenact("golden", "add", run, "--as", "x", "--expect", "'lost' not in answer")
    assert refused.code == 2 and b"knows no program" in refused.err and b"--cmd 'python agent.py'" in refused.err
    for words, code in (
        (("--cmd", "touch ran"), 3), (("--cmd", "sh -c 'touch ran'"), 3), (("--entry", "os:getcwd"), 3),
        (("--cmd", "python ../agent.py"), 3), (("--entry", "agent"), 2), ((*ENTRY, "--cmd", "python agent.py"), 2),
        ((*ENTRY, "--on-miss", "live-read"), 2),
    ):  # fmt: skip
        refused = desk.reenact("golden", "add", run, "--as", "x", "--holds", "'lost' in answer", *words)
        assert refused.code == code, (words, refused.err.decode())
    assert not (desk.folder / "ran").exists() and not (desk.folder / "tests").exists()


def test_a_program_that_only_a_file_names_is_shown(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("")
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    good = [
        Golden("g", entry="agent:answer"), Golden("g", entry="pack:main"), Golden("g", command=("python", "agent.py")),
        Golden("g", command=("/usr/bin/python3.11", "agent.py", "x")), Golden("g", command=("python", "-m", "pack")),
    ]  # fmt: skip
    for golden in good:
        require_own(golden, tmp_path)
        assert Golden.from_json(golden.to_json()) == golden and golden.to_json()["golden"] == 4
    bad = [
        Golden("g", entry="os:system"), Golden("g", entry="../agent:x"), Golden("g", command=("python", "-c", "1")),
        Golden("g", command=("sh", "agent.py")), Golden("g", command=("python",)), Golden("g", entry=":x"),
        Golden("g", command=("python", "/etc/passwd")), Golden("g", command=("python", "-m", "http.server")),
    ]  # fmt: skip
    for golden in bad:
        with pytest.raises(UnreplayableRun, match="is shown, not run"):
            require_own(golden, tmp_path)
    assert Golden("g").to_json()["golden"] == 3, "older versions read what needs nothing new"


@pytest.mark.timeout(300)
def test_a_bundle_that_names_another_program_does_not_run_it(desk: Tried) -> None:
    program(desk)
    run = imported(desk, otel())
    assert desk.reenact("golden", "add", run, "--as", "lost", "--holds", "'lost' in answer", *ENTRY).code == 0
    path = desk.folder / "tests" / "goldens" / "lost.reenact"
    with_golden(path, replace(open_golden(path).golden, command=("touch", "ran"), entry=""))
    told = golden_run(desk, "lost", code=3)
    assert "is shown, not run: touch ran" in told["message"] and not (desk.folder / "ran").exists()


@pytest.mark.timeout(300)
def test_an_experiment_over_imported_runs(desk: Tried) -> None:
    program(desk)
    run = imported(desk, otel())
    words = ("experiment", "--where", "models > 0", "--expect", "answer == 'It is lost.'", "--candidate", "now:")
    refused = desk.reenact(*words)
    assert refused.code == 2 and b"name the program that it answers: --cmd takes a command line" in refused.err
    done = desk.reenact("--json", *words, "--candidate", "m:model=other", *ENTRY)
    assert done.code == 4, done.err.decode()
    cells = {line["candidate"]: line for line in map(json.loads, done.out.splitlines()) if line["type"] == "cell"}
    assert cells["now"]["status"] == "passed" and cells["now"]["output"] == "It is lost."
    assert cells["now"]["note"] == f"judged on the trace; input: {QUESTION} (turn 1 of 1)"
    assert cells["m"]["status"] == "broken" and "answers only what it tells" in cells["m"]["message"]
    desk.writes("agent.py", CHANGED)
    done = desk.reenact("--json", *words, *ENTRY)
    (cell,) = [line for line in map(json.loads, done.out.splitlines()) if line["type"] == "cell"]
    assert (cell["status"], cell["output"]) == ("failed", "I ask a colleague.")
    with open_store(str(desk.folder / ".reenact")) as store:
        assert [each.id[-8:] for each in store.runs()] == [run], "runs of cells are no runs of the store"


@pytest.mark.timeout(300)
def test_a_candidate_is_tried_on_a_group_of_imported_runs(desk: Tried) -> None:
    program(desk)
    run = imported(desk, otel())
    assert desk.reenact("flag", run, "it was not lost").code == 0
    group = json.loads(desk.reenact("--json", "triage").out.splitlines()[1])["group"]
    words = ("triage", "--group", group, "--expect", "'lost' not in answer", "--candidate", "now:")
    unnamed = desk.reenact(*words)
    assert unnamed.code == 3 and b"was not tried: 1 left out" in unnamed.out and b"knows no program" in unnamed.out
    lead = shlex.split(unnamed.err.decode().rpartition("next: ")[2])
    assert lead[:6] == ["reenact", "triage", "--group", group, "--candidate", "now:"]
    assert lead[6:] == ["--cmd", "python agent.py", "--expect", "'lost' not in answer"]
    done = desk.reenact("--json", *words, "--candidate", "m:model=other", *ENTRY)
    lines = [json.loads(line) for line in done.out.splitlines()]
    fates = {line["candidate"]: (line["fate"], line["why"]) for line in lines if line["type"] == "member"}
    assert done.code == 3 and fates["now"][0] == "fails differently" and fates["m"][0] == "not tried"
    assert "answers only what it tells" in fates["m"][1]
    desk.writes("agent.py", CHANGED)
    assert desk.reenact(*words, *ENTRY).code == 0


@pytest.mark.timeout(300)
def test_which_of_several_turns_is_driven_is_said(desk: Tried) -> None:
    program(desk)
    first = [*ASKED, {"role": "assistant", "parts": [{"type": "text", "content": "It is lost."}]}]
    more = [*first, {"role": "user", "parts": [{"type": "text", "content": "And order 8?"}]}]
    run = imported(desk, text(agent(), model(2, ASKED, "It is lost."), model(3, more, "It is here.")))
    added = desk.reenact("golden", "add", run, "--as", "two", "--holds", "'It is' in answer", *ENTRY)
    assert f"input: {QUESTION} (turn 1 of 2)" in added.err.decode(), added.err.decode()


def test_what_a_kept_replay_returned_is_its_answer(desk: Tried) -> None:
    desk.writes("agent.py", CHANGED)
    run = imported(desk, otel())
    kept = json.loads(desk.reenact("--json", "replay", run, *ENTRY, "--save").out.splitlines()[-1])["saved"]
    with open_store(str(desk.folder / ".reenact")) as store:
        scope = RunScope(store.run(kept), lambda: store.open(kept))
        assert scope.value("answer") == "I ask a colleague."
        assert compile_expression("calls(find_order) == 1", RUN_WORDS).holds(scope)


def test_a_recorded_run_is_given_no_program(desk: Tried) -> None:
    desk.writes("plain.py", "import reenact\n@reenact.record\ndef main(): return 1\nmain()")
    assert desk.run("python", "plain.py").code == 0
    refused = desk.reenact("golden", "add", "@", "--as", "x", "--holds", "result == 1", "--cmd", "python plain.py")
    assert refused.code == 2 and b"--cmd and --entry are for imported runs" in refused.err
    with pytest.raises(UsageError, match="no name for a golden"):
        Golden("..")
