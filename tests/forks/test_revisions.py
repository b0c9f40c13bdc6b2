"""Proves that ``fork --rev`` goes on with the code of another revision, under which its prefix must re-enact."""

from __future__ import annotations

import re
import subprocess

import pytest

import reenact
from tests.forks.conftest import Forks
from tests.programs import read_program

AGENT = """
    import sys, reenact
    from rules import LIMIT

    @reenact.tool(effect="read")
    def look(query):
        return {"found": 0, "query": query}

    with reenact.step("plan", {"limit": LIMIT}) as state:
        pass
    tried = 0
    while tried < LIMIT:
        tried += 1
        look("refunds")
    print("tried", tried, __file__)
"""


@pytest.fixture
def repository(forks: Forks) -> Forks:
    """A run of the first of two revisions; the second one tries once."""
    (forks.desk.folder / ".gitignore").write_text(".reenact\n__pycache__\n")
    (forks.desk.folder / "rules.py").write_text("LIMIT = 3\n")
    (forks.desk.folder / "agent.py").write_text("")
    forks.desk.commit()
    forks.record(AGENT)
    for limit, name in ((3, "v1"), (1, "v2")):
        (forks.desk.folder / "rules.py").write_text(f"LIMIT = {limit}\n")
        git(forks, "add", "-A")
        git(forks, "commit", "-q", "-m", name)
        git(forks, "tag", name)
    git(forks, "checkout", "-q", "v1")
    return forks


def git(forks: Forks, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
    ran = subprocess.run(command, cwd=forks.desk.folder, check=True, capture_output=True, text=True)
    return ran.stdout


def test_an_entry_point_that_is_not_there_is_named(repository: Forks) -> None:
    report = repository.fork(0, "--entry", "nowhere:main", status=3)
    assert "the entry point nowhere:main is not there" in report["message"]
    assert "Traceback" not in report["said"] and report["live"] == 0


def test_a_dry_run_says_that_there_is_no_such_revision(repository: Forks) -> None:
    refused = repository.fork("plan#1", "--rev", "v3", "--dry-run", status=2)
    assert "there is no revision v3" in refused["said"]
    planned = repository.desk.run("fork", f"{repository.parent}:plan#1", "--rev", "v2", "--dry-run")
    assert "code of v2" in planned.stdout
    assert not git(repository, "worktree", "list").strip().count("\n"), "nothing has been checked out"


def test_the_rest_runs_the_other_code_and_so_does_its_replay(repository: Forks) -> None:
    report = repository.fork("plan#1", "--rev", "v2", "--live", "none")
    assert re.fullmatch(r"tried 1 \S*reenact-rev-\S*agent.py\n", report["printed"])
    assert "change: code of v2" in report["first_line"]
    events = repository.events(report["run"])
    assert [event.name for event in events] == ["plan", "look"]
    assert {(event.call.source or "").rpartition(":")[0] for event in events} == {
        f"{repository.desk.folder.resolve()}/agent.py"
    }
    repository.replays_exactly(report["run"])
    kept = repository.runs()[0]
    assert (kept["run"], kept["parent"]) == (report["run"], repository.parent)
    git(repository, "checkout", "-q", "v2")
    git(repository, "tag", "-d", "v2")  # the fork keeps the commit, not its name
    git(repository, "checkout", "-q", "v1")
    repository.replays_exactly(report["run"])
    assert git(repository, "worktree", "list").count("\n") == 1


def test_a_fork_of_it_keeps_its_code(repository: Forks) -> None:
    repository.parent = repository.fork("plan#1", "--rev", "v2", "--live", "none")["run"]
    again = repository.fork("look#1", "--live", "none")
    assert again["printed"].startswith("tried 1 ")
    repository.replays_exactly(again["run"])


def test_a_prefix_that_does_not_re_enact_is_a_divergence_and_the_end_of_its_replay_too(repository: Forks) -> None:
    report = repository.fork("look#2", "--rev", "v2", "--live", "none", status=1)
    assert "no longer reproduces the events before the fork point: diverged at event 0: step plan" in report["message"]
    assert repository.events(report["run"]) == []
    repository.replays_exactly(report["run"])


OTHERWISE = {
    "a call": ("await look(number)", "await look(-number)"),
    "what a step begins with": ('{"number": number}', '{"number": -number}'),
    "what a step comes to": ('state["found"] = ', 'state["found"] = 1 + '),
}
WAYS = [("ALONE", name) for name in OTHERWISE] + [("GATHERED", name) for name in OTHERWISE if "step" in name]
PLANS = read_program("forks/gathered_plans.py")


@pytest.mark.parametrize(("way", "name"), WAYS)
def test_whatever_parts_from_the_prefix_is_the_end_of_the_replay(forks: Forks, way: str, name: str) -> None:
    """Nothing runs in the replay that did not run in the fork. Beside a coroutine that waits for ever for its call,
    others run on to their next one."""
    agent = PLANS.replace("run(main())", "run(alone())") if way == "ALONE" else PLANS
    (forks.desk.folder / ".gitignore").write_text(".reenact\n__pycache__\n")
    (forks.desk.folder / "agent.py").write_text(agent)
    forks.desk.commit()
    forks.record(agent)
    (forks.desk.folder / "agent.py").write_text(agent.replace(*OTHERWISE[name]))
    git(forks, "commit", "-q", "-a", "-m", "otherwise")
    report = forks.fork("look#6", "--rev", "HEAD", "--live", "none", status=1)
    assert "the code no longer reproduces the events before the fork point" in report["message"]
    forks.replays_exactly(report["run"])


def test_a_revision_that_is_not_there(repository: Forks) -> None:
    for rev, says in (("nowhere", "there is no revision nowhere"), ("", "--rev names no revision")):
        assert says in repository.fork("plan#1", "--rev", rev, status=2)["said"]


def test_in_code(repository: Forks) -> None:
    with reenact.open_store(str(repository.desk.folder / ".reenact")) as store:
        fork = reenact.fork(repository.parent, 0, change=reenact.Change(rev="v2"), live="none", store=store)
        assert [event.name for event in store.events(fork)] == ["plan", "look"]
        with pytest.raises(reenact.ReenactError, match="cannot run as the code of v2"):
            reenact.fork(repository.parent, 0, change=reenact.Change(rev="v2"), entry=lambda: None, store=store)
