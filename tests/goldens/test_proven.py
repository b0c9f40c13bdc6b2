"""A new golden is tried against the code of its incident: what that code passes is no test, and is not added."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.goldens.project import AGENT, FIX, Kept, recorded

EXPECT = ("--expect", "'no documents' in answer")
SAYS = json.dumps({"say": "I have no documents."})


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    if shutil.which("git") is None:
        pytest.skip("there is no git here")
    return recorded(tmp_path_factory.mktemp("proven") / "project", in_git=True)


@pytest.mark.timeout(300)
def test_what_the_code_of_the_incident_passes_is_refused(kept: Kept) -> None:
    """The fork has changed an answer, and not the code: nothing of the code would be tested."""
    fork = kept.fork("think#1", "--result", f"think#1={SAYS}")
    for expected in (EXPECT, ()):
        told = kept.keep("answer", "--fixed", fork, *expected, status=2).stderr
        assert "the code of the incident passes on it" in told
        assert "the result of event" in told and "--live model" in told
        assert "--on-miss live-read" in told.rpartition("next: ")[2]
        assert not (kept.folder / "tests" / "goldens" / "answer.reenact").exists()
    assert "--expect 'calls(search) <= 0'" in told.rpartition("next: ")[2], "with nothing expected it keeps the mistake"
    words = told.rpartition("next: reenact ")[2]
    assert kept.incident[-8:] in words or kept.incident in words
    kept.keep("answer", *EXPECT, "--on-miss", "live-read")
    assert kept.proven("answer") is True


@pytest.mark.timeout(300)
def test_a_fix_of_the_code_is_proven_and_runs_the_code_of_today(kept: Kept) -> None:
    """Also where the fork has run the code of a branch: the golden is about the files as they are."""
    kept.git("checkout", "-qb", "fix")
    kept.mend(FIX)
    kept.git("commit", "-qam", "the fix")
    kept.git("checkout", "-q", "main")
    fork = kept.fork("0", "--rev", "fix")
    told = kept.keep("code", "--fixed", fork, *EXPECT).stderr
    assert "fails on today's code, as it should until you fix it: today's code re-enacts the incident" in told
    assert kept.proven("code") is True
    assert kept.outcome("code", status=1)["status"] == "failed"
    kept.mend(FIX)
    assert kept.outcome("code")["status"] == "passed"
    told = kept.keep("late", "--fixed", fork, *EXPECT).stderr
    assert "passes on today's code" in told and kept.proven("late") is True, "on the commit it was recorded at it fails"
    kept.git("checkout", "-q", "agent.py")
    kept.keep("bare", "--fixed", fork)
    assert kept.proven("bare") is True
    assert kept.outcome("bare", status=1)["status"] == "failed"


@pytest.mark.timeout(300)
def test_where_its_code_is_not_at_hand_it_is_kept_and_says_so(tmp_path: Path) -> None:
    """No git has it, and the files are others."""
    project = recorded(tmp_path / "project", in_git=False)
    project.keep("before", *EXPECT)
    assert project.proven("before") is True
    project.mend(FIX)
    fork = project.fork("0")
    told = project.keep("after", "--fixed", fork, *EXPECT).stderr
    assert (
        "not proven on the recorded code: agent.py has changed since it was recorded, and git has no commit of it"
        in told
    )
    assert project.proven("after") is False
    listed = project.run("golden", "ls").stdout.splitlines()
    assert [("not proven on the recorded code" in line) for line in listed] == [True, False], listed
    told = json.loads(project.run("golden", "ls", "after", "--json").stdout)
    assert told["proven"] is False and "agent.py" in told["unproven"]


@pytest.mark.timeout(300)
def test_what_was_not_committed_comes_from_the_recorded_diff_and_what_git_did_not_know_is_named(tmp_path: Path) -> None:
    """A changed file is in the diff that the run keeps; a file that was never added is in no diff."""
    if shutil.which("git") is None:
        pytest.skip("there is no git here")
    project = recorded(tmp_path / "project", in_git=True)
    for name, code in (("changed", AGENT), ("unknown", f"import rules\n{AGENT}")):
        (project.folder / "rules.py").write_text("LIMIT = 5\n", encoding="utf-8")
        project.write(code.replace("gave up", "gave up again"))
        project.record()
        project.incident = str(project.runs()[0]["run"])
        (project.folder / "rules.py").write_text("LIMIT = 4\n", encoding="utf-8")
        project.mend(FIX)
        said = project.keep(name, *EXPECT).stderr
        commit = project.git("rev-parse", "HEAD")[:12]
        if name == "changed":
            assert f"proven on the recorded code, {commit} with its uncommitted changes: it fails there" in said, said
            assert "passes on today's code" in said and project.proven(name) is True
        else:
            assert "not proven on the recorded code: agent.py, rules.py have changed" in said, said
            assert "git does not hold rules.py as it was" in said and project.proven(name) is False
    assert project.git("worktree", "list").count("\n") == 0 and "M agent.py" in project.git("status", "--porcelain")


STOPS = """
from pathlib import Path
import reenact

@reenact.tool(effect="read")
def count(n):
    return n

most = int((Path(__file__).parent / "most.txt").read_text())
for n in range(min(most, 3)):
    count(n)
print("wrong", most)
"""
"""How far it goes is in a file that git ignores, and no call reads."""

STRANDS = """
import threading
import reenact

@reenact.tool(effect="read")
def count(n):
    return n

threads = [threading.Thread(target=count, args=(n,)) for n in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
"""


def _in_git(folder: Path, code: str) -> Kept:
    if shutil.which("git") is None:
        pytest.skip("there is no git here")
    folder.mkdir()
    project = Kept(folder)
    project.write(code)
    (folder / "most.txt").write_text("3", encoding="utf-8")
    (folder / ".gitignore").write_text(".reenact\n__pycache__\nhome\n*.txt\n", encoding="utf-8")
    project.git("init", "-q", "-b", "main")
    project.git("add", "-A")
    project.git("commit", "-qm", "the agent")
    project.run("record", "--", "python", "agent.py")
    project.incident = str(project.runs()[0]["run"])
    return project


@pytest.mark.timeout(300)
def test_a_replay_that_was_stopped_early_or_ended_otherwise_proves_nothing(tmp_path: Path) -> None:
    """What is expected fails all the same: the code never came to the mistake."""
    project = _in_git(tmp_path / "project", STOPS)
    expect = ("--expect", "'right' in stdout")
    for text, seen in (("3", ""), ("1", "not made any more"), ("4", "its end differs: printed")):
        (project.folder / "most.txt").write_text(text, encoding="utf-8")
        said = project.keep(f"most{text}", *expect).stderr
        assert "fails on today's code" in said, said
        assert project.proven(f"most{text}") is (not seen), said
        told = [each for each in said.splitlines() if "not proven on the recorded code" in each]
        assert bool(told) is bool(seen) and all(seen in each for each in told), said


@pytest.mark.timeout(300)
def test_strands_in_another_order_are_the_recorded_run_all_the_same(tmp_path: Path) -> None:
    project = _in_git(tmp_path / "project", STRANDS)
    project.keep("strands", "--expect", "calls(count) < 4")
    assert project.proven("strands") is True


@pytest.mark.timeout(300)
def test_an_incident_that_ends_in_an_exception_is_proven_also_where_a_fork_answers(kept: Kept) -> None:
    """The recorded code raises on what the fork's code does not: that is the incident, and no reason for doubt."""
    kept.write(AGENT.replace("# FIX", 'print(found["docs"][0])'))
    kept.git("commit", "-qam", "look for documents")
    kept.record()
    kept.incident = str(kept.runs()[0]["run"])
    kept.mend(FIX)
    kept.git("commit", "-qam", "none is no mistake")
    said = kept.keep("raises", "--fixed", kept.fork("0"), "--expect", "status == 'ok'").stderr
    assert "proven on the recorded code" in said and "not proven" not in said, said
    assert "passes on today's code" in said and kept.proven("raises") is True
    kept.keep("plain", "--expect", "status == 'ok'")
    kept.git("checkout", "-q", "HEAD~1", "--", "agent.py")
    failed = kept.outcome("plain", status=1)["message"].splitlines()
    assert failed[0].startswith("status = 'failed'") and "ended as the recorded run did: IndexError" in failed[1], (
        failed
    )
    assert "today's code raised IndexError" in kept.outcome("raises", status=1)["message"]
