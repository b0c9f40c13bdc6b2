"""Proves that a model which judges the rows of an experiment is asked once for each answer, also when it goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from reenact.facts.answers.asks import Ask
from reenact.store.bundles import members_of, read_bundle
from reenact.testing import ScriptedProvider
from reenact.testing.provider.script import Rule, Script, When
from tests.experiments.conftest import HASTY, SCRIPT, Bench

EXPECTED = ("--where", "models > 0", "--expect", "judge('it has looked', 'anthropic/claude-judge')")
BASE, HASTILY = ("--candidate", "base:"), ("--candidate", f"hasty:prompt={HASTY}")
KEY = "sk-ant-api03-" + "Zk3vX9wqL1" * 5


def verdict(ask: Ask) -> str:
    """A score by what stands in the answer."""
    looked = "not looked" not in json.loads(ask.last_user)["answer"]
    return json.dumps({"score": 0.9 if looked else 0.1, "reason": "so it is"})


JUDGE = Rule(say=verdict, when=When(system="You judge whether a claim"))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A project with one run, beside a provider that judges too."""
    folder = tmp_path / "a project"
    folder.mkdir()
    with ScriptedProvider(Script(rules=(JUDGE, *SCRIPT.rules))) as provider:
        bench = Bench(folder, provider)
        bench.desk.environ["ANTHROPIC_API_KEY"] = KEY
        bench.record()
        bench.shut()
        yield bench


def judged(bench: Bench) -> int:
    """How often the judge was asked."""
    return bench.provider.counts.get("/v1/messages", 0)


def test_each_answer_is_judged_once_whoever_gave_it_and_however_often(bench: Bench) -> None:
    told = bench.experiment(*EXPECTED, *BASE, *HASTILY, "--repeat", "2")
    assert {(cell["candidate"], cell["status"]) for cell in told.cells} == {("base", "passed"), ("hasty", "failed")}
    assert "anthropic/claude-judge gives 0.1, 0.5 is enough: so it is" in told.of("hasty")[0]["message"]
    assert judged(bench) == 2, "two answers, two opinions"
    assert told.candidates["base"]["opinions"] == {"judged": 2, "kept": 1, "asked": 1}

    asked = bench.requests
    more = bench.experiment(*EXPECTED, *BASE, *HASTILY, "--candidate", "same:flag.new=true", "--repeat", "3")
    assert [cell["status"] for cell in more.of("same")] == ["passed"] * 3
    assert more.candidates["same"]["opinions"] == {"judged": 3, "kept": 3, "asked": 0}
    assert (judged(bench), bench.requests) == (2, asked + 1), "what is judged already is not judged again"
    table = bench.desk.run("experiment", *EXPECTED, *BASE).stdout
    assert "judged by 1 opinions of models: " in table

    bench.experiment(*EXPECTED, *BASE, "--fresh")
    assert judged(bench) == 3, "--fresh asks anew"
    kept = sorted(bench.folder.glob(".reenact/experiments/opinions/*"))
    assert [path.suffix for path in kept] == [".reenact", ".reenact"]
    for path in kept:
        runs = read_bundle(path).runs
        assert runs[0].run.agent == "judge"
        assert KEY.encode() not in b"".join(members_of(runs, None).values())
    assert "claude-judge" in bench.desk.run("textconv", str(kept[0])).stdout


def test_a_judge_that_cannot_be_asked_breaks_its_cell_and_is_asked_when_the_experiment_goes_on(bench: Bench) -> None:
    here = bench.desk.environ["ANTHROPIC_BASE_URL"]
    bench.desk.environ["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"
    told = bench.experiment(*EXPECTED, *BASE, status=4)
    assert told.cells[0]["status"] == "broken"
    assert "the judge anthropic/claude-judge could not be asked" in told.cells[0]["message"]
    bench.desk.environ["ANTHROPIC_BASE_URL"] = here
    told = bench.experiment(*EXPECTED, *BASE)
    assert (told.cells[0]["status"], judged(bench)) == ("passed", 1)


def test_nobody_is_asked_about_a_run_that_was_stopped(bench: Bench) -> None:
    told = bench.experiment(*EXPECTED, "--candidate", "bare:model=gpt-tiny", status=3)
    assert told.cells[0]["status"] == "stale" and "look at" in told.cells[0]["message"]
    assert judged(bench) == 0


def test_a_golden_brings_along_what_was_said_of_it(bench: Bench) -> None:
    bench.shut()
    done = bench.desk.run("golden", "add", "@", "--as", "looked", "--expect", "not " + EXPECTED[3])
    assert "kept beside it: 1" in done.stderr and judged(bench) == 1
    told = bench.experiment("looked", *BASE)
    assert told.cells[0]["opinions"] == {"judged": 1, "kept": 1, "asked": 0} and judged(bench) == 1
