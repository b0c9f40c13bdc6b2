"""Proves that code whose functions have other names passes its goldens, and re-enacts the prefix of its forks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests import commands
from tests.goldens.yard import Yard
from tests.programs import read_program
from tests.servers.conftest import Upstream
from tests.servers.conftest import upstream as upstream  # a fixture

AGENT = read_program("goldens/requests_of_tasks_and_threads.py")
NEW_NAMES = {"one": "ask", "job": "look", "work": "think"}
CALLS = 6


def _renamed(code: str, *names: str) -> str:
    wanted = "|".join(names or NEW_NAMES)
    return re.sub(rf"\b({wanted})\b", lambda name: NEW_NAMES[name[1]], code)


@pytest.fixture
def yard(tmp_path: Path, upstream: Upstream) -> Yard:
    """A project with a recorded run; its functions have other names since."""
    yard = Yard(tmp_path / "yard", {"UPSTREAM": upstream.url, **commands.only_our_plugin()})
    agent = yard.project / "agent.py"
    agent.write_text(AGENT)
    assert yard.reenact("record", "--", "python", "agent.py").returncode == 3
    added = yard.reenact("golden", "add", "@", "--as", "same")
    assert added.returncode == 0, added.stderr
    added = yard.reenact("golden", "add", "@", "--as", "mended", "--expect", 'status == "ok"')
    assert added.returncode == 0, added.stderr
    agent.write_text(_renamed(AGENT))
    return yard


def _replayed(yard: Yard, run: str, *more: str) -> tuple[str, int, str]:
    """What a replay of a run comes to: its verdict, how many strands were renamed, and the run that was kept.

    What is not proven of the order was not proven when it was recorded: a busy machine."""
    done = yard.reenact("--json", "replay", run, *more)
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["matched"] == CALLS, report
    assert not any("were not recorded" in each for each in report["unproven"]), report
    return report["verdict"], report["renamed"], report.get("saved") or ""


def test_goldens(yard: Yard, upstream: Upstream) -> None:
    asked = len(upstream.asked)
    assert _replayed(yard, "@")[:2] == ("same", 4)
    ran = yard.reenact("golden", "run", "same")
    assert ran.returncode == 0 and "same  passed  same, renamed 4  " in ran.stdout, ran.stdout
    assert "not proven" not in ran.stdout
    agent = yard.project / "agent.py"
    agent.write_text(_renamed(AGENT).replace("raise SystemExit(3)", ""))
    ran = yard.reenact("golden", "run", "mended")
    assert ran.returncode == 0, ran.stdout
    tests = yard.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "mended", "tests")
    assert tests.returncode == 0, tests.stdout
    agent.write_text(_renamed(AGENT))
    tests = yard.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "same", "tests")
    assert tests.returncode == 0, tests.stdout
    assert len(upstream.asked) == asked


def test_a_replay_that_is_kept(yard: Yard) -> None:
    saved = _replayed(yard, "@", "--save")[2]
    assert _replayed(yard, saved)[:2] == ("same", 4)
    assert yard.reenact("diff", "@", saved).returncode == 0


def test_a_fork(yard: Yard, upstream: Upstream) -> None:
    (yard.project / "agent.py").write_text(_renamed(AGENT, "one"))
    parent = json.loads(yard.reenact("ls", "--json").stdout.splitlines()[0])["run"]
    asked = len(upstream.asked)
    forked = yard.reenact("fork", f"{parent}:3", "--live", "none")
    assert f"live calls made: 0  frozen: {CALLS}, renamed 2  refused: 0" in forked.stderr, forked.stderr
    assert len(upstream.asked) == asked
    assert yard.reenact("diff", parent, "@").returncode == 0
    assert _replayed(yard, "@")[:2] == ("same", 2)
    forked = yard.reenact("fork", f"{parent}:3", "--live", "all")
    assert "frozen: 3, renamed 2  refused: 0" in forked.stderr, forked.stderr
    assert len(upstream.asked) == asked + CALLS - 3
    assert _replayed(yard, "@")[:2] == ("same", 2)


def test_a_run_that_goes_on(yard: Yard, upstream: Upstream) -> None:
    (yard.project / "agent.py").write_text(_renamed(AGENT).replace("raise SystemExit(3)", ""))
    asked = len(upstream.asked)
    resumed = yard.reenact("resume", "@")
    assert resumed.returncode == 0, resumed.stderr
    assert f"frozen: {CALLS}" in resumed.stderr
    assert len(upstream.asked) == asked


SIBLINGS = read_program("goldens/sibling_threads.py")


def test_a_fork_in_which_renamed_siblings_read_the_clock_before_their_first_calls(
    tmp_path: Path, upstream: Upstream
) -> None:
    """Which of them each is, is not known before it asks: what it has read until then is kept under the name it has by
    then."""
    yard = Yard(tmp_path / "yard", {"UPSTREAM": upstream.url, **commands.only_our_plugin()})
    agent = yard.project / "agent.py"
    agent.write_text(SIBLINGS)
    assert yard.reenact("record", "--", "python", "agent.py").returncode == 0
    parent = json.loads(yard.reenact("ls", "--json").stdout.splitlines()[0])["run"]
    agent.write_text(re.sub(r"\b(look|seek|rest)\b", r"re\1", SIBLINGS))
    forked = yard.reenact("fork", f"{parent}:3", "--live", "none")
    assert "frozen: 4, renamed 2  refused: 0" in forked.stderr, forked.stderr
    assert yard.reenact("diff", parent, "@").returncode == 0
    done = yard.reenact("replay", "@")
    assert done.returncode == 0 and "verdict: same" in done.stderr, done.stderr
    saved = yard.reenact("--json", "replay", parent, "--save")
    kept = json.loads(saved.stdout.splitlines()[-1])["saved"]
    done = yard.reenact("replay", kept)
    assert done.returncode == 0 and "verdict: same" in done.stderr, done.stderr
