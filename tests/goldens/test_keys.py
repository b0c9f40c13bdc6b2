"""A golden of a run whose requests carried credentials runs with other ones, and with none, also where no store is."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from reenact.testing import ScriptedProvider
from reenact.testing.provider import Rule, Script
from tests.goldens.project import Project
from tests.programs import read_program

AGENT = read_program("goldens/key_in_every_place.py")
KEYS = ("sk-proj-" + "Zq9x" * 12, "sk-proj-" + "Rt4w" * 12)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    folder = tmp_path / "project"
    folder.mkdir()
    with ScriptedProvider(Script(rules=(Rule(say="Good day."),))) as provider:
        found = Project(folder)
        found.write(AGENT)
        found.environment |= {"OPENAI_BASE_URL": f"{provider.url}/v1", "OPENAI_API_KEY": KEYS[0]}
        found.run("record", "--", "python", "agent.py")
        yield found


@pytest.mark.timeout(900)
def test_it_runs_with_any_key_and_none(project: Project, tmp_path: Path) -> None:
    said = project.add("polite", "--holds", "'Good day' in stdout").stderr
    assert "passes on today's code: 4 calls replayed" in said and "not proven" not in said, said
    project.add("same")
    for each in (project.folder / "tests" / "goldens").iterdir():
        assert KEYS[0].encode() not in each.read_bytes()
    elsewhere = tmp_path / "checkout"
    shutil.copytree(project.folder, elsewhere, ignore=shutil.ignore_patterns(".reenact", "home"))
    (elsewhere / "home").mkdir()
    project.folder = elsewhere
    project.environment |= {"HOME": str(elsewhere / "home"), "OPENAI_API_KEY": KEYS[1]}
    assert "2 of 2 goldens passed" in project.run("golden", "run").stderr
    del project.environment["OPENAI_API_KEY"], project.environment["OPENAI_BASE_URL"]
    assert "2 of 2 goldens passed" in project.run("golden", "run").stderr
    assert "nothing to review" in project.run("golden", "run", "polite", "--mode", "review").stdout
