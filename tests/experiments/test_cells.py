"""Proves that candidates come to rows of their own: tools frozen, what changes live or scripted, nothing run twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from reenact.testing import ScriptedProvider
from tests.experiments.conftest import HASTY, SCRIPT, Bench

BASE, HASTILY = ("--candidate", "base:"), ("--candidate", "hasty:prompt=@hasty.txt")
TINY = ("--candidate", "tiny:model=gpt-tiny,temperature=0,answers=@small.json")
FLAG = ("--candidate", "flag:flag.new=true")
BARE = ("--candidate", "bare:model=gpt-tiny")
EXPECTED = ("--where", "models > 0", "--expect", "calls(look) <= 1")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A project with one run, of a session, in which the real tool fails from now on."""
    folder = tmp_path_factory.mktemp("experiments") / "a project"
    folder.mkdir()
    with ScriptedProvider(SCRIPT) as provider:
        bench = Bench(folder, provider)
        bench.record(options="--session s1")
        bench.shut()
        (folder / "hasty.txt").write_text(HASTY)
        answer = {"call": "look", "value": {"found": "three days"}, "arguments": {"query": "the small book"}}
        (folder / "small.json").write_text(json.dumps([answer]))
        yield bench


def test_each_candidate_comes_to_a_row_of_its_own(recorded: Bench) -> None:
    asked = recorded.requests
    threshold = "passed(hasty) == 1 and surely(hasty) > 0.2 and passed(base) == 0 and stale(tiny) == 0"
    told = recorded.experiment(*EXPECTED, *BASE, *HASTILY, *TINY, *BARE, *FLAG, "--threshold", threshold)
    (base,), (hasty,), (tiny,) = told.of("base"), told.of("hasty"), told.of("tiny")
    assert (base["status"], base["live"], base["first"], base["changed"]) == ("failed", 0, "", [])
    assert base["message"].startswith("calls(look) = 2, expected <= 1")
    assert (hasty["status"], hasty["output"], hasty["live"]) == ("passed", "I have not looked.", 1)
    assert hasty["changed"] == ['- look(query="the book")', '- look(query="the wall")']
    assert hasty["first"].startswith("#0 changed answer: model gpt-large")
    assert (tiny["status"], tiny["output"], tiny["live"]) == ("passed", "three days", 2)
    assert tiny["used"] == {"live": 2, "scripted": 1}
    assert tiny["changed"] == ['~ look(query="the small book")', '- look(query="the wall")']
    (flag,) = told.of("flag")
    assert (flag["status"], flag["live"], flag["note"]) == ("failed", 0, "flag new is not evaluated here")
    (bare,) = told.of("bare")
    assert (bare["status"], bare["live"], told.candidates["bare"]["stale"]) == ("stale", 1, 1)
    assert "look at" in bare["message"] and "differs from event 1" in bare["message"]
    assert told.rows[0]["recorded"]["answer"] == "It takes three days."
    assert tiny["tokens"] > 0 and base["tokens"] > hasty["tokens"]
    assert told.threshold == {"type": "threshold", "text": threshold, "holds": True}
    assert recorded.requests - asked == 4, "only what a candidate changes is asked"
    again = recorded.experiment(
        "--session", "s1", *EXPECTED[2:], *TINY, *BASE, "--threshold", "passed(base) > 0", status=1
    )
    assert [again.of("tiny"), again.of("base")] == [[tiny], [base]]
    assert recorded.requests - asked == 4, "what is done is not asked again"
    listed = recorded.desk.run("ls", "--json").stdout.splitlines()
    assert len(listed) == 1, "runs of cells are no runs of the store"


def test_goldens_are_rows_with_their_own_expectations(bench: Bench) -> None:
    """And a model that cannot be asked says nothing of the candidate: it is asked again when the experiment goes on."""
    bench.record()
    bench.golden("slow", "calls(look) <= 1")
    bench.shut()
    bench.provider.refuse()
    hasty = ("slow", "--candidate", f"hasty:prompt={HASTY}")
    told = bench.experiment(*hasty, status=4)
    assert told.cells[0]["status"] == "broken" and "could not be asked" in told.cells[0]["message"]
    bench.provider.listen()
    done = bench.desk.run("experiment", *hasty, "--candidate", "base:")
    assert "  hasty  passed 1/1 (21-100 %)" in done.stdout and "  base  passed 0/1 (0-79 %)" in done.stdout
    assert "first difference #0 changed answer" in done.stdout and 'tool - look(query="the book")' in done.stdout
    assert not list(Path(bench.folder, ".reenact", "experiments", "underway").iterdir())


def test_rows_are_compared_before_and_after_a_mark(bench: Bench) -> None:
    bench.record("How long?")
    bench.desk.run("mark", "v2 deployed")
    bench.record("How long now?")
    bench.record("How long then?")
    bench.shut()
    (bench.folder / "hasty.txt").write_text(HASTY)
    told = bench.desk.run("experiment", *EXPECTED, *BASE, *HASTILY, "--mark", "@").stdout
    told = told.partition("rows recorded before v2 deployed: 1\n")[2]
    halves = told.partition("rows recorded since v2 deployed: 2\n")
    for half, cells in ((halves[0], "1"), (halves[2], "2")):
        rows = {line.split()[0]: line.split()[1:3] for line in half.splitlines()[:3]}
        assert rows["base"] == [cells, "0.0"] and rows["hasty"] == [cells, "100.0"]
    assert "hasty  passed 2/2 (34-100 %) after 1/1 (21-100 %); difference -66 to +79 points" in halves[2]
    assert halves[2].count("no difference is shown") == 2

    lines = bench.desk.run("experiment", *EXPECTED, *HASTILY, "--mark", "v2 deployed", "--json").stdout.splitlines()
    found = [line for line in map(json.loads, lines) if line["type"] == "period"]
    assert [(each["period"], each["rows"], each["passed"]) for each in found] == [
        ("before v2 deployed", 1, 1), ("since v2 deployed", 2, 2),
    ]  # fmt: skip
    for words, count in ((("--since", "@"), 2), (("--before", "v2 deployed"), 1), (("--since", "1h"), 3)):
        assert len(bench.experiment(*words, *HASTILY).rows) == count
    assert "no mark matches 'v3'" in bench.desk.run("experiment", *EXPECTED, *BASE, "--mark", "v3", status=2).stderr
