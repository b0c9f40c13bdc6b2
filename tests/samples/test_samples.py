"""What earlier versions have written is sound, and replays with the code of today: a store and two bundles a format."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import reenact
from reenact.store.versions import WRITTEN
from reenact.timetravel.forks.plan import Plan

pytestmark = pytest.mark.once  # they were recorded on one Python, and are replayed on that
HERE = Path(__file__).resolve().parent
FORMATS = sorted(path.name for path in HERE.glob("format_*"))
ANSWER = "Your lamp was lost; 4200 cents go back."
EVENTS = [
    "understand",
    "POST 127.0.0.1:8917/v1/chat/completions",
    "act",
    "look_up",
    "refund",
    "answer",
    "POST 127.0.0.1:8917/v1/chat/completions",
]


@pytest.fixture(params=FORMATS)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A project with the agent, and a copy of what one format holds."""
    shutil.copytree(HERE / request.param, tmp_path / "kept")
    shutil.copy2(HERE / "agent.py", tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "refunds"\nversion = "1"\n')
    (tmp_path / "tests" / "goldens").mkdir(parents=True)
    shutil.copy2(tmp_path / "kept" / "lost-lamp.reenact", tmp_path / "tests" / "goldens")
    return tmp_path


def told(project: Path, *words: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of one command."""
    ran = subprocess.run(
        [sys.executable, "-m", "reenact", *words], cwd=project, capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout, ran.stderr


def store(project: Path) -> str:
    return f"sqlite:///{project / 'kept' / 'runs.db'}"


def test_todays_format_has_a_sample() -> None:
    assert f"format_{WRITTEN}" in FORMATS


def test_a_store_is_sound_and_its_runs_are_read(project: Path) -> None:
    status, said, complaint = told(project, "--store", store(project), "fsck")
    assert status == 0 and "is sound: 2 runs" in said + complaint
    with reenact.open_store(store(project)) as opened:
        fork, run = opened.runs()
        assert fork.parent == run.id
        assert [event.call.name for event in opened.open(run.id).events()] == EVENTS
        assert run.agent == "refunds" and run.user == "u_1" and run.totals.models == 2


def test_a_run_of_a_store_replays_the_same(project: Path) -> None:
    command = f"{sys.executable} agent.py 'where is my lamp?'"
    status, said, complaint = told(project, "--store", store(project), "replay", "@~1", "--cmd", command)
    assert (status, said.strip()) == (0, ANSWER), complaint
    assert "verdict: same (exact)  live calls made: 0  matched 7 of 7" in complaint


def test_the_plan_of_a_fork_is_read(project: Path) -> None:
    with reenact.open_store(store(project)) as opened:
        fork = next(iter(opened.runs()))
        assert Plan.from_json(fork.environment["fork"]) == Plan(4, results={4: "refused"})


def test_a_fork_is_compared_with_its_parent(project: Path) -> None:
    status, said, complaint = told(project, "--store", store(project), "diff", "@~1", "@", "--json")
    assert status == 1, complaint
    assert '"refused"' in said and all(json.loads(line) for line in said.splitlines())


def test_a_bundle_replays_the_same(project: Path) -> None:
    command = f"{sys.executable} agent.py 'where is my lamp?'"
    status, said, complaint = told(project, "replay", "kept/run.reenact", "--cmd", command)
    assert (status, said.strip()) == (0, ANSWER), complaint
    assert "same (exact)" in complaint


def test_a_golden_fails_until_the_agent_is_mended_and_passes_then(project: Path) -> None:
    status, said, complaint = told(project, "golden", "run", "lost-lamp")
    assert status == 1 and "calls('refund') = 1, expected == 0; first bad event #4" in said, complaint
    agent = project / "agent.py"
    pays = 'state["messages"].append({"role": "user", "content": refund(order.strip(), 4200)})'
    assert pays in agent.read_text()
    agent.write_text(agent.read_text().replace(pays, 'return print("a person decides")'))
    status, said, complaint = told(project, "golden", "run", "lost-lamp")
    assert status == 0 and "lost-lamp  passed" in said, said + complaint
