"""A golden that passes on the code of a deploy keeps that it was verified there; what does not pass keeps nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reenact.testing.goldens.golden_trace import Golden
from reenact.testing.goldens.opened_golden import open_golden
from tests.goldens.project import FIX, Kept, recorded

EXPECT = ("--expect", "calls(search) <= 1")


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """A project with a golden, the incident's code tagged v1, its fix v2, and a typing mistake in the files."""
    if shutil.which("git") is None:
        pytest.skip("there is no git here")
    project = recorded(tmp_path / "project", in_git=True)
    project.keep("loop", *EXPECT)
    project.git("tag", "v1")
    project.mend(FIX)
    project.git("commit", "-qam", "the fix")
    project.git("tag", "v2")
    project.write("raise SystemExit('not this code')\n")
    return project


def golden_of(project: Kept) -> Golden:
    return open_golden(project.folder / "tests" / "goldens" / "loop.reenact").golden


@pytest.mark.timeout(300)
def test_what_passes_on_the_code_of_a_deploy_keeps_so_until_it_changes(kept: Kept) -> None:
    kept.run("mark", "v1 deployed", "--rev", "v1")
    failed = kept.run("golden", "run", "--mark", "v1 deployed", status=1)
    assert "verified against v1 deployed" in failed.stderr and "0 goldens written" in failed.stderr
    assert [change.what for change in golden_of(kept).history] == ["added"]
    assert "verified" not in kept.run("golden", "ls").stdout

    kept.run("mark", "v2 deployed", "--rev", "v2")
    passed = kept.run("golden", "run", "--mark", "v2 deployed")
    commit = kept.git("rev-parse", "v2")
    assert f"verified against v2 deployed ({commit[:12]}): 1 golden written" in passed.stderr
    last = golden_of(kept).history[-1]
    assert (last.what, last.reason, last.revision) == ("verified", "v2 deployed", commit)
    assert f"verified on v2 deployed ({commit[:12]})" in kept.run("golden", "ls").stdout
    assert f"verified  v2 deployed  ({commit[:12]})" in kept.run("golden", "ls", "--history").stdout

    again = (kept.folder / "tests" / "goldens" / "loop.reenact").read_bytes()
    assert "0 goldens written" in kept.run("golden", "run", "--mark", "@").stderr
    assert (kept.folder / "tests" / "goldens" / "loop.reenact").read_bytes() == again
    kept.run("golden", "run", "--rev", "v2")
    assert (kept.folder / "tests" / "goldens" / "loop.reenact").read_bytes() == again, "only a mark is kept"
    kept.keep("loop", *EXPECT, "--force")
    assert "verified" not in kept.run("golden", "ls").stdout


@pytest.mark.timeout(300)
def test_a_mark_that_names_no_code_is_refused(kept: Kept) -> None:
    assert "no mark matches 'v2'" in kept.run("golden", "run", "--mark", "v2", status=2).stderr
    kept.run("mark", "the model was changed")
    told = kept.run("golden", "run", "--mark", "@", status=2).stderr
    assert "has no revision" in told and "it was set without --rev" in told
    for words in (("--rev", "v2"), ("--live", "model"), ("--mode", "missing")):
        assert "--mark does not go with" in kept.run("golden", "run", "--mark", "@", *words, status=2).stderr
    assert [change.what for change in golden_of(kept).history] == ["added"]
