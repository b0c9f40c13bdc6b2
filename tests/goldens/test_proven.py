"""A new golden is tried against the code of its incident: what that code passes is no test, and is not added."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reenact.testing.goldens.opened import open_golden
from tests.goldens.project import AGENT, FIX, Project

EXPECT = ("--expect", "'no documents' in answer")
SAYS = json.dumps({"say": "I have no documents."})


class Kept(Project):
    """A project that git keeps, with one recorded incident."""

    incident = ""

    def git(self, *words: str) -> str:
        named = ("-c", "user.name=you", "-c", "user.email=you@localhost", "-c", "core.hooksPath=")
        done = subprocess.run(
            ["git", *named, *words], cwd=self.folder, env=self.environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def runs(self) -> list[dict[str, Any]]:
        """Every run, newest first."""
        return [json.loads(line) for line in self.run("ls", "--json").stdout.splitlines()]

    def fork(self, event: str, *options: str) -> str:
        """A fork of the incident; gives its id."""
        self.run("fork", f"{self.incident}:{event}", "--live", "none", *options)
        return str(self.runs()[0]["run"])

    def keep(self, name: str, *options: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        """``golden add`` of the incident."""
        return self.run("golden", "add", self.incident, "--as", name, *options, status=status)

    def proven(self, name: str) -> bool | None:
        """What the bundle says of it."""
        return open_golden(self.folder / "tests" / "goldens" / f"{name}.reenact").golden.proven


def recorded(folder: Path, *, in_git: bool) -> Kept:
    folder.mkdir()
    project = Kept(folder)
    (folder / ".gitignore").write_text(".reenact\n__pycache__\nhome\n*.txt\n", encoding="utf-8")
    if in_git:
        project.git("init", "-q", "-b", "main")
        project.git("add", "-A")
        project.git("commit", "-qm", "the agent")
    project.record()
    project.incident = str(project.runs()[0]["run"])
    return project


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
    assert "--expect EXPR" in told.rpartition("next: ")[2], "with nothing expected it would keep the mistake"
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
    assert "it fails now: today's code re-enacts the incident" in told
    assert kept.proven("code") is True
    assert kept.outcome("code", status=1)["status"] == "failed"
    kept.mend(FIX)
    assert kept.outcome("code")["status"] == "passed"
    told = kept.keep("late", "--fixed", fork, *EXPECT).stderr
    assert "it passes now" in told and kept.proven("late") is True, "on the commit it was recorded at it fails"
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
    assert "not proven to fail: agent.py has changed since it was recorded, and git has no commit of it" in told
    assert project.proven("after") is False
    listed = project.run("golden", "ls").stdout.splitlines()
    assert [("not proven to fail" in line) for line in listed] == [True, False], listed
    told = json.loads(project.run("golden", "ls", "after", "--json").stdout)
    assert told["proven"] is False and "agent.py" in told["unproven"]


@pytest.mark.timeout(300)
def test_what_git_does_not_hold_is_not_proven(tmp_path: Path) -> None:
    """The run had a change that was never committed."""
    if shutil.which("git") is None:
        pytest.skip("there is no git here")
    project = recorded(tmp_path / "project", in_git=True)
    project.write(AGENT.replace("gave up", "gave up again"))
    project.record()
    project.incident = str(project.runs()[0]["run"])
    project.mend(FIX)
    fork = project.fork("0")
    told = project.keep("uncommitted", "--fixed", fork, *EXPECT).stderr
    assert "git does not hold agent.py" in told and project.proven("uncommitted") is False
