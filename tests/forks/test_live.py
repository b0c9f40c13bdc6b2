"""After the branching event calls go live where that is allowed: with their settings pinned, in the recorded order."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import reenact
from reenact.testing import ProviderProcess
from tests.forks.conftest import Forks
from tests.forks.counting import counting
from tests.kit.recorded import EXAMPLES

LOOP = "refund_loop/agent.py"


@pytest.fixture
def refund(forks: Forks) -> Iterator[Forks]:
    """The refund loop, recorded; its world stays there for what goes live."""
    shutil.copytree(EXAMPLES / "refund_loop", forks.desk.folder / "refund_loop")
    with ProviderProcess(EXAMPLES / "refund_loop" / "world.py") as world:
        forks.desk.environ = world.environment()
        forks.desk.record(LOOP, "What is your refund policy?", status=1)
        forks.parent = forks.runs()[0]["run"]
        yield forks


def test_the_loop_is_fixed_by_a_fork_at_its_first_step(refund: Forks) -> None:
    report = refund.fork("decide#1", "--set", 'agent_version="v2_with_empty_check"', "--live", "none")
    assert report["printed"].endswith("I don't have any documents about refund policy. Please check with support.\n")
    assert [event.name for event in refund.events(report["run"]) if event.kind == "step"] == ["decide", "search"]
    refund.replays_exactly(report["run"])


def test_the_loop_is_fixed_by_the_code_of_another_revision(refund: Forks) -> None:
    agent = refund.desk.folder / LOOP
    (refund.desk.folder / ".gitignore").write_text(".reenact\n__pycache__\n")
    old = agent.read_text()
    agent.write_text(old.replace(', "v1")', ', "v2_with_empty_check")'))
    refund.desk.commit()
    agent.write_text(old)
    report = refund.fork(0, "--rev", "HEAD", "--live", "none")
    assert report["printed"].endswith("I don't have any documents about refund policy. Please check with support.\n")
    assert [event.name for event in refund.events(report["run"]) if event.kind == "step"] == ["decide", "search"]
    assert (report["live"], agent.read_text()) == (0, old)
    refund.replays_exactly(report["run"])


def test_another_result_is_answered_by_the_live_model(refund: Forks) -> None:
    found = {"docs": [{"title": "refunds", "text": "All refunds within 30 days."}], "count": 1}
    report = refund.fork("search_docs#2", "--result", f"search_docs#2={json.dumps(found)}")
    assert report["printed"].endswith("All refunds within 30 days.\n")
    assert (report["live"], report["status"]) == (1, "ok")
    refund.replays_exactly(report["run"])


def _stats(refund: Forks) -> dict[str, int]:
    """Model calls by how their run came about."""
    told = [json.loads(line) for line in refund.desk.run("stats", "--json", "--by", "status").stdout.splitlines()]
    return {each["status"]: each["models"] for each in told if each["type"] == "group"}


def test_what_a_fork_costs_is_what_it_asked_anew(refund: Forks) -> None:
    before = _stats(refund)
    found = {"docs": [{"title": "refunds", "text": "All refunds within 30 days."}], "count": 1}
    report = refund.fork("search_docs#2", "--result", f"search_docs#2={json.dumps(found)}")
    assert (report["live"], report["status"]) == (1, "ok")
    (run,) = [run for run in refund.runs() if run["run"] == report["run"]]
    assert run["totals"]["models"] > 1 and len(run["environment"]["asked"]) == 1
    assert _stats(refund) == {**before, "ok": 1}
    refund.desk.run("replay", report["run"], "--save")
    assert _stats(refund) == {**before, "ok": 1}
    frozen = refund.fork("decide#1", "--set", 'agent_version="v2_with_empty_check"', "--live", "none")
    assert frozen["status"] == "ok" and _stats(refund) == {**before, "ok": 1}


def test_models_are_sampled_anew_with_their_settings_pinned(refund: Forks) -> None:
    (before,) = refund.bodies(refund.parent, 1)
    report = refund.fork(
        0, "--live", "model", "--param", "temperature=0", "--param", "seed=42", "--model", "gpt-5.4-nano"
    )
    assert report["live"] == 20
    assert {answer["how"] for answer in report["answers"] if answer["name"] == "search_docs"} == {"frozen"}
    attributes = refund.events(report["run"])[1].attributes
    assert attributes["rewritten"] == {"model": "gpt-5.4-nano", "params": {"temperature": 0, "seed": 42}}
    assert refund.bodies(report["run"], 1) == [before], "a replay compares what the code asks"
    assert attributes["reading"]["model_answered"].startswith("gpt-5.4-nano")
    refund.replays_exactly(report["run"])


def test_a_model_of_another_protocol_is_refused_before_anything_is_sent(refund: Forks) -> None:
    report = refund.fork(0, "--model", "claude-haiku-5-5", status=5)
    assert "a model of another protocol cannot answer this request" in report["message"]
    assert report["live"] == 0


def test_in_code(refund: Forks) -> None:
    with reenact.open_store(str(refund.desk.folder / ".reenact")) as store:
        change = reenact.Change(state={"agent_version": "v2_with_empty_check"})
        fork = reenact.fork(refund.parent, "decide#1", change=change, live="none", store=store)
        assert (fork.relation, fork.parent, fork.totals.tools) == ("fork", refund.parent, 1)
        with pytest.raises(reenact.ReenactError, match="nothing may go live"):
            change = reenact.Change(results={"3": {"docs": [], "count": 9}})
            reenact.fork(refund.parent, 0, change=change, live="none", store=store)


def test_an_entry_point_in_this_process(tmp_path: Path) -> None:
    asked = tmp_path / "asked"

    @reenact.tool(effect="read")
    def look(query: str) -> str:
        with asked.open("a") as file:
            file.write(query)
        return query.upper()

    @reenact.record(store=f"sqlite:///{tmp_path}/runs.db")
    def agent(query: str) -> list[str]:
        return [look(query), look(look(query) + "!")]

    agent("a")
    with reenact.open_store(f"sqlite:///{tmp_path}/runs.db") as store:
        [parent] = store.runs()
        fork = reenact.fork(parent, "look#2", change=reenact.Change(results={"look#2": "z"}), entry=agent, store=store)
        assert asked.read_text() == "aaA!z!"
        assert [event.name for event in store.events(fork)] == ["arguments", "look", "look", "look", "return"]


PAYER = """
    import os, urllib.request, reenact

    def post(path, words):
        with urllib.request.urlopen(f"{os.environ['WORLD_URL']}/{path}", data=f'"{words}"'.encode()) as answer:
            return answer.read().decode()

    @reenact.tool(effect="read")
    def find(words): return post("search", words)
    @reenact.tool
    def mail(words): return post("mail", words)
    @reenact.tool
    def pay(words):
        with reenact.step("sending", {"words": words}):
            return [post("pay", words), mail(words)]

    with reenact.step("plan", {"words": "first"}) as state: pass
    find(state["words"])
    pay(state["words"])
"""


def test_what_a_tool_that_goes_live_sends_is_part_of_it(forks: Forks) -> None:
    """A read may be a POST below, and an allowed write sends what it sends; a tool in it must be allowed by itself."""
    with counting() as world:
        forks.desk.environ = {"WORLD_URL": world.url}
        forks.record(PAYER)
        assert world.seen() == ["first"] * 3
        change = ("plan#1", "--set", "words=second")
        refused = forks.fork(*change, status=5)["message"]
        assert "this call: pay may change the world" in refused
        assert world.seen()[3:] == ["second"]
        misspelled = forks.fork(*change, "--allow-write", "pai", status=2)
        assert "--allow-write pai matches no call" in misspelled["said"] and "did you mean pay?" in misspelled["said"]
        assert len(world.seen()) == 4, "it is refused before anything runs"
        refused = forks.fork(*change, "--allow-write", "pay", status=5)["message"]
        assert "this call: mail may change the world" in refused
        assert world.seen()[4:] == ["second"] * 2
        allowed = (*change, "--allow-write", "pay", "--allow-write", "mail")
        doubted = forks.fork(*allowed, status=3)["message"]
        assert "pay may have changed the world already" in doubted, "it was stopped in the middle of it"
        assert world.seen()[6:] == ["second"]
        report = forks.fork(*allowed, "--settle", "retry")
        assert world.seen()[7:] == ["second"] * 2, "what it had sent is not sent again; its search and its mail are"
    forks.replays_exactly(report["run"])


def test_a_command_that_keeps_us_out_is_refused_before_it_runs(forks: Forks) -> None:
    """It would run live, writes and all."""
    with counting() as world:
        forks.desk.environ = {"WORLD_URL": world.url}
        forks.record(PAYER)
        before = world.seen()
        for option in ("-I", "-E", "-S"):
            command = shlex.join([sys.executable, option, "agent.py"])
            done = forks.desk.run("fork", f"{forks.parent}:0", "--cmd", command, status=3)
            assert f"starts Python with {option}" in done.stderr
        assert world.seen() == before
