"""A candidate against a group: whether it collapses, what breaks beside it, what is not tried, and what it may cost."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from reenact.store.back_ends import open_store
from reenact.store.sqlite_store import SqliteStore
from reenact.testing import ScriptedProvider
from reenact.testing.provider.script import Rule, Script, When
from tests.interop.spans import chat, text
from tests.interop.test_traces import agent as root_span
from tests.kit.recorded import Workbench
from tests.programs import read_program

AGENT = read_program("triage/order_told_as_json.py")

BLOCK = """
import reenact

with reenact.record(agent="orders"):
    exec(compile(open("agent.py").read(), "agent.py", "exec"))
"""

CATCHING = (
    "wanted = json.loads(ask(sys.argv[1]))",
    """said = ask(sys.argv[1])
try:
    wanted = json.loads(said)
except ValueError:
    wanted = {"order": None}""",
)
"""A fix that touches nothing else."""

STRICT = "Answer in JSON."
ORDERS = {"A1": '{"order": "A1"}', "B2": '{"order": "B2"}'}
SCRIPT = Script(
    rules=(
        Rule(say='{"orders": ["B2"]}', when=When(system=STRICT, last_user="B2")),
        *(Rule(say=said, when=When(last_user=name)) for name, said in ORDERS.items()),
        Rule(say="Well, you know,", when=When(last_user="stubborn")),
        Rule(say='{"order": null}', when=When(system=STRICT)),
        Rule(say="Sure! Which one do you mean?"),
    )
)
ASKED = "/v1/chat/completions"
FAILING = ("Where is mine?", "Where is my stubborn parcel?")
HEALTHY = ("Where is A1?", "Where is B2?")


@dataclass
class Shop:
    """A project with two failing runs in one group and two healthy ones, and the commands in it."""

    desk: Workbench
    provider: ScriptedProvider

    @property
    def requests(self) -> int:
        """How often a model was asked."""
        return self.provider.counts.get(ASKED, 0)

    def mend(self, *changes: tuple[str, str]) -> None:
        """Today's code: what was recorded, with some pieces replaced."""
        code = AGENT
        for old, new in changes:
            assert old in code
            code = code.replace(old, new)
        self.desk.script(code)

    def triage(self, *words: str, status: int = 0) -> list[dict[str, Any]]:
        """``reenact triage WORDS --json``."""
        return [
            json.loads(line) for line in self.desk.run("triage", *words, "--json", status=status).stdout.splitlines()
        ]

    @property
    def group(self) -> dict[str, Any]:
        """The largest group."""
        return self.triage()[1]

    def tries(self, *words: str, status: int) -> Trial:
        """``reenact triage --group G WORDS --json`` on the largest group."""
        return Trial(self.triage("--group", self.group["group"], *words, status=status))


class Trial:
    """What a trial has printed.

    Args:
        lines: Its JSON lines.
    """

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self.plan = next(line for line in lines if line["type"] == "plan")
        self.members = [line["fate"] for line in lines if line["type"] == "member"]
        self.healthy = [line["fate"] for line in lines if line["type"] == "healthy"]
        self.lines = lines
        self.verdicts = {line.get("candidate"): line for line in lines if line["type"] == "trial"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Recorded once; from then on the real tool fails."""
    folder = tmp_path_factory.mktemp("trying") / "a shop"
    folder.mkdir()
    with ScriptedProvider(SCRIPT) as provider:
        shop = Shop(Workbench(folder, provider.environment()), provider)
        shop.mend()
        shop.desk.commit()
        for question in HEALTHY:
            shop.desk.record("agent.py", question, options="--agent orders")
        for question in FAILING:
            shop.desk.record("agent.py", question, options="--agent orders", status=1)
        (folder / "shut").touch()
        (folder / "strict.txt").write_text(STRICT)
        yield shop


@pytest.fixture
def shop(recorded: Shop, tmp_path: Path) -> Iterator[Shop]:
    """A copy of its own, whose code is as it was recorded."""
    recorded.mend()
    shutil.copytree(recorded.desk.folder / ".reenact", tmp_path / "kept")
    yield recorded
    shutil.rmtree(recorded.desk.folder / ".reenact")
    shutil.copytree(tmp_path / "kept", recorded.desk.folder / ".reenact")


def test_a_fix_that_breaks_nothing_makes_the_group_collapse(shop: Shop) -> None:
    """And what was recorded, tried beside it, does not."""
    shop.mend(CATCHING)
    asked, name = shop.requests, shop.group["group"]
    found = shop.tries("--candidate", "now:", "--candidate", "then:rev=HEAD", status=1)
    now, then = found.verdicts["now"], found.verdicts["then"]
    assert (now["verdict"], now["exit_code"], now["runs"], now["cold"]) == ("collapses", 0, 2, 0)
    assert (now["fixed"], now["unbroken"], now["broken"], now["broken_interval"][1] < 0.7) == (2, 2, 0, True)
    assert (then["verdict"], then["exit_code"], then["alike"]) == ("does not collapse", 1, 2)
    assert found.plan["healthy_of"] == 2 and found.plan["candidates"][0]["to_do"] == 4
    assert found.plan["candidates"][0]["live"] == {"calls": 0, "cost": 0.0, "open": False, "only_missing": False}
    said = shop.desk.run("triage", "--group", name, "--candidate", "now:")
    assert "now: group " in said.stdout and "collapses; breaks none that was healthy" in said.stdout
    assert "candidate now (nothing changed): 0 to run" in said.stderr, "what is done is not done again"
    assert "next: reenact golden add " in said.stderr
    assert shop.requests == asked, "no model was asked"


def test_a_fix_that_breaks_a_healthy_run_is_not_accepted(shop: Shop) -> None:
    """And what is expected must hold, too."""
    shop.mend(CATCHING, ("order = wanted", 'assert "B2" not in said\norder = wanted'))
    found = shop.tries("--candidate", "now:", status=1)
    assert found.members == ["fixed"] * 2 and sorted(found.healthy) == ["broken", "unbroken"]
    assert found.verdicts["now"]["verdict"] == "collapses"
    (bad,) = [line for line in found.lines if line.get("fate") == "broken"]
    assert bad["why"].startswith("AssertionError")
    alone = shop.tries("--candidate", "now:", "--healthy", "0", status=0)
    assert alone.healthy == [], "without a healthy run it is not seen"
    meant = shop.tries("--candidate", "now:", "--healthy", "0", "--expect", "calls(lookup_order) == 1", status=1)
    assert meant.members == ["fails differently"] * 2


def test_a_prompt_is_tried_live_and_priced_before(shop: Shop) -> None:
    asked = shop.requests
    words = ("--candidate", "strict:prompt=@strict.txt")
    plan = shop.tries(*words, "--dry-run", status=0).plan
    assert shop.requests == asked, "a dry run asks nobody"
    live = plan["candidates"][0]["live"]
    assert live == {"calls": 4, "cost": None, "open": True, "only_missing": False}, "what answers at home has no price"
    name = shop.group["group"]
    said = shop.desk.run("triage", "--group", name, *words, "--dry-run")
    assert "strict (another system prompt): 4 to run; about 4 model calls live, cost unknown: no price" in said.stderr
    rest = shop.desk.run("triage", "--group", name, "--candidate", "gaps:live=missing", "--dry-run").stderr
    assert "is recorded; if that is every call, about 4 model calls live, cost unknown: no price" in rest
    found = shop.tries(*words, status=1)
    assert sorted(found.members) == ["fails alike", "fixed"] and sorted(found.healthy) == [
        "broken",
        "unbroken",
    ]
    assert (found.verdicts["strict"]["verdict"], found.verdicts["strict"]["broken"]) == ("collapses in part", 1)
    assert shop.requests == asked + 4
    again = shop.tries(*words, status=1)
    assert again.plan["candidates"][0]["to_do"] == 0 and shop.requests == asked + 4
    said = shop.desk.run("triage", "--group", name, *words, status=1)
    assert "collapses in part; breaks 1 healthy run of 2" in said.stdout and "KeyError: 'order'" in said.stdout


def test_a_candidate_that_calls_what_was_not_recorded_says_nothing(shop: Shop) -> None:
    shop.mend((CATCHING[0], CATCHING[1].replace("None", '"A1"')))
    found = shop.tries("--candidate", "now:", "--healthy", "0", status=3)
    assert set(found.members) == {"not tried"} and found.verdicts["now"]["verdict"] == "was not tried"
    assert any(line.get("why", "").startswith("stale: lookup_order at ") for line in found.lines)


def test_a_fix_that_goes_on_to_ask_a_model_leads_to_the_price_of_asking_it(shop: Shop) -> None:
    """The run failed before its next call, so that call has no recorded answer: the usual case."""
    shop.mend(("wanted = json.loads(ask(sys.argv[1]))", """wanted = {"order": ask("Name one in words.") and None}"""))
    words = ("triage", "--group", shop.group["group"], "--candidate", "now:", "--healthy", "0")
    said = shop.desk.run(*words, status=3, environ={"COLUMNS": "80"})
    assert max(map(len, said.stdout.splitlines())) <= 80
    whole = "".join(said.stdout.split())  # the reason stands on several lines, and none of it is cut
    assert "stale:amodelcallwithoutananswer:POST127.0.0.1" in whole and "differsfromevent0" in whole
    wanted = f"next: reenact triage --group {shop.group['group']} --candidate now:live=missing --dry-run"
    assert wanted in said.stderr
    assert "live, cost unknown" in shop.desk.run(*words[:-3], "now:live=missing", "--dry-run").stderr


def test_cold_members_are_not_tried_and_never_fixed(shop: Shop) -> None:
    shop.mend(CATCHING)
    name = shop.group["group"]
    store = open_store(str(shop.desk.folder / ".reenact"))
    assert isinstance(store, SqliteStore)

    def chill(most: int) -> None:
        rows = [row for row in store.features().all() if row.status.value == "failed" and row.features is not None]
        store.features().put(
            [(store.run(row.id), replace(row.features, cold=("payloads",))) for row in rows[:most] if row.features]
        )

    with store:
        chill(1)
        found = shop.tries("--candidate", "now:", "--all", "--healthy", "0", status=0)
        assert found.members == ["fixed"] and found.verdicts["now"]["cold"] == found.verdicts["now"]["fixed"] == 1
        said = shop.desk.run("triage", "--group", name, "--candidate", "now:", "--healthy", "0")
        assert "(1 of 2 runs cannot be replayed: not tried)" in said.stdout
        chill(2)
    found = shop.tries("--candidate", "now:", status=3)
    assert found.members == [] and found.verdicts[None]["verdict"] == "was not tried"
    said = shop.desk.run("triage", "--group", name, "--candidate", "now:", status=3)
    assert f"group {name} was not tried: 2 of 2 runs cannot be replayed" in said.stdout
    paper = shop.desk.run("triage", "--group", name, "--candidate", "now:", "--markdown", status=3).stdout
    assert paper.startswith(f"# group {name} was not tried: 2 of 2 runs cannot be replayed\n")


def test_a_member_that_was_deleted_is_left_out(shop: Shop) -> None:
    shop.mend(CATCHING)
    name = shop.group["group"]
    newest = shop.desk.run("ls", "--json", "-n", "1").stdout
    with open_store(str(shop.desk.folder / ".reenact")) as store:
        store.delete(store.run(json.loads(newest)["run"]))
    found = shop.tries("--candidate", "now:", "--healthy", "0", status=0)
    assert found.plan["runs"] == 1 and found.members == ["fixed"] and shop.group["group"] == name


def test_members_that_are_left_out_are_counted_wherever_the_trial_is_told(shop: Shop) -> None:
    """A run that was recorded as a block of code can be replayed, but not begun again from outside of it."""
    (shop.desk.folder / "block.py").write_text(BLOCK)
    asks = [sys.executable, "block.py", FAILING[0]]
    kept = {"REENACT_STORE": str(shop.desk.folder / ".reenact")}
    done = subprocess.run(asks, cwd=shop.desk.folder, env={**os.environ, **shop.desk.environ, **kept}, check=False)
    assert done.returncode == 1
    shop.mend(CATCHING)
    assert shop.group["runs"] == 3
    found = shop.tries("--candidate", "now:", "--healthy", "0", status=0)
    (left,) = found.verdicts["now"]["left_out"]
    assert found.members == ["fixed"] * 2 and left in found.plan["left_out"] and "block" in left["why"]
    words = ("--group", shop.group["group"], "--candidate", "now:", "--healthy", "0")
    said = shop.desk.run("triage", *words).stdout
    assert "collapses (1 left out: not tried)" in said
    assert re.search(rf"\n    left out  +{left['run'][-8:]}  \S.*block", said)
    paper = shop.desk.run("triage", *words, "--markdown").stdout
    assert paper.startswith("# `now`: group ") and f"- left out: `{left['run'][-8:]}` `" in paper
    assert paper.count("| fixed | ") == 2


def test_what_is_asked_wrongly_is_refused(shop: Shop) -> None:
    said = shop.desk.run("triage", "--candidate", "now:", status=2).stderr
    assert "a candidate is tried on one group, and no group is named" in said
    assert "no candidate is named" in shop.desk.run("triage", "--all", status=2).stderr
    name = shop.group["group"]
    assert "cannot have modle=" in shop.desk.run("triage", "--group", name, "--candidate", "x:modle=a", status=2).stderr
    shop.desk.run("flag", "@~3", "wrong tone")
    (flagged,) = [line for line in shop.triage()[1:] if line["case"] == "flagged"]
    said = shop.desk.run("triage", "--group", flagged["group"], "--candidate", "now:", status=2).stderr
    assert "was flagged by a person, and nothing in its runs shows what is wrong" in said


def test_a_group_of_cold_runs_alone_is_not_tried(tmp_path: Path) -> None:
    folder = tmp_path / "imports"
    folder.mkdir()
    desk = Workbench(folder)
    bare = {"gen_ai.input.messages": None, "gen_ai.output.messages": None}
    (folder / "bare.json").write_text(text(root_span(), chat(2, 1, says=bare)))
    desk.run("import", "otlp", "bare.json")
    groups = [json.loads(line) for line in desk.run("triage", "--json").stdout.splitlines()][1:]
    assert [group["case"] for group in groups] == ["cold"]
    said = desk.run("triage", "--group", groups[0]["group"], "--candidate", "now:", status=3)
    assert "was not tried: 1 of 1 run cannot be replayed" in said.stdout and "next: reenact kit " in said.stderr
