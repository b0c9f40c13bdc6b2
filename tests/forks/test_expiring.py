"""``reenact gc`` over a recorded program, its fork and its golden: what they need stays, and the rest goes."""

from __future__ import annotations

import json

import reenact
from reenact.facts.ids import tail
from tests.forks.conftest import Forks

AGENT = """
    import reenact

    @reenact.tool(effect="read")
    def look(what):
        return {"found": what}

    def agent():
        for what in ("hat", "coat"):
            with reenact.step("ask", {"what": what}) as state:
                print(look(state["what"]))

    agent()
"""


def settings(forks: Forks, text: str) -> None:
    """What the project sets. A run of these tests is one of a test."""
    (forks.desk.folder / "reenact.toml").write_text(f"gc = false\n{text}")


def test_a_fork_keeps_its_parent_and_everything_reads_as_before(forks: Forks) -> None:
    settings(forks, '[keep]\ntest = "0d"\n')
    forks.record(AGENT)
    done = forks.desk.run("fork", f"{forks.parent}:look#2", "--result", 'look#2={"found": "shoe"}', "--json")
    fork = json.loads(done.stdout)["run"]
    alone = forks.desk.record("agent.py").stdout
    assert alone
    last = forks.runs()[0]["run"]
    forks.desk.run("tag", fork, "keep=always")
    before = [forks.desk.run("show", ref, "--all").stdout for ref in (forks.parent, fork)]
    plan = forks.desk.run("gc", "--dry-run")
    assert "would remove 1 run, " in plan.stdout
    assert plan.stdout.splitlines()[1] == f"  {tail(last)}  -: test runs are kept 0 days"
    assert "next: reenact gc" in plan.stderr
    planned = [json.loads(line) for line in forks.desk.run("gc", "--dry-run", "--json").stdout.splitlines()]
    assert [each["run"] for each in planned[:-1]] == [last] and planned[-1]["runs"] == 1
    assert planned[-1]["bytes"] > 0 and planned[-1]["seconds"] > 0
    done = forks.desk.run("gc")
    assert "removed 1 run; the file is " in done.stdout and "next: reenact ls" in done.stderr
    assert [forks.desk.run("show", ref, "--all").stdout for ref in (forks.parent, fork)] == before
    forks.replays_exactly(forks.parent)
    forks.replays_exactly(fork)
    gone = forks.desk.run("show", last, status=2).stderr
    assert f"run {tail(last)} expired on 20" in gone and "test runs are kept 0 days" in gone
    assert "next: reenact ls" in gone
    assert "nothing has expired" in forks.desk.run("gc").stdout


def test_a_golden_keeps_what_it_was_made_of_until_it_is_removed(forks: Forks) -> None:
    settings(forks, '[keep]\ntest = "0d"\n')
    forks.record(AGENT)
    for name in ("one", "two"):
        forks.desk.run("golden", "add", "@", "--as", name, "--holds", "calls(look) == 2", "--no-test")
    assert "nothing has expired" in forks.desk.run("gc").stdout
    forks.desk.run("golden", "rm", "one")
    assert "nothing has expired" in forks.desk.run("gc").stdout
    with reenact.open_store(str(forks.desk.folder / ".reenact")) as store:
        assert store.run("@").tags == {"golden": "two"}
    forks.desk.run("golden", "rm", "two")
    assert "removed 1 run" in forks.desk.run("gc").stdout


def test_what_is_said_of_a_run_is_not_said_of_its_fork(forks: Forks) -> None:
    forks.record(AGENT)
    forks.desk.run("tag", "@", "keep=always", "owner=ann")
    fork = forks.fork("look#2", "--result", 'look#2={"found": "shoe"}')["run"]
    with reenact.open_store(str(forks.desk.folder / ".reenact")) as store:
        assert store.run(fork).tags == {"owner": "ann"}


def test_it_is_said_when_a_run_expires(forks: Forks) -> None:
    forks.record(AGENT)
    assert "\n  expires   in 23 h: test runs are kept 1 day\n" in forks.desk.run("show", "@").stdout
    assert " left)" not in forks.desk.run("ls").stdout
    (run,) = forks.runs()
    assert run["expires_us"] == run["ended_us"] + 86_400_000_000 and run["kept_for"] == "test runs are kept 1 day"
    shown = json.loads(forks.desk.run("show", "@", "--json").stdout.splitlines()[0])
    assert shown["expires_us"] == run["expires_us"]
    settings(forks, '[keep]\ntest = "0d"\n')
    assert "  ok (expired)  " in forks.desk.run("ls").stdout
    assert "  expires   with the next `reenact gc`: test runs are kept 0 days\n" in forks.desk.run("show", "@").stdout
    fork = forks.fork("look#2", "--result", 'look#2={"found": "shoe"}')["run"]
    forks.desk.run("tag", fork, "keep=always")
    assert "(expired)" not in forks.desk.run("ls").stdout, "the fork needs it"
    assert f"  expires   never: run {tail(fork)} needs it" in forks.desk.run("show", forks.parent).stdout
    assert "  expires   never: it is labelled keep=always\n" in forks.desk.run("show", fork).stdout
    forks.desk.run("pack", "@", "-o", "run.reenact")
    assert "expires" not in forks.desk.run("show", "run.reenact").stdout


def test_where_nothing_expires(forks: Forks) -> None:
    forks.record(AGENT)
    forks.desk.run("pack", "@", "-o", "run.reenact")
    refused = forks.desk.run("--store", "run.reenact", "gc", status=2).stderr
    assert "runs do not expire in" in refused and "next: reenact" in refused
    assert "next: " in forks.desk.run("--store", "nothing-here", "gc", status=2).stderr
