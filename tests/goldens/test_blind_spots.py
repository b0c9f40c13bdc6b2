"""What a golden cannot judge, a fix inside a tool or a longer time-out, it says, with the command that can."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.goldens.project import Project
from tests.programs import read_program

SHOP = read_program("goldens/shop_with_a_wrong_price.py")
INSIDE = SHOP.replace('"7,50"', '"7.50"')
AROUND = SHOP.replace("        total +=", "        if item != 'cup': total +=")
EXPECT = ("--expect", "status == 'ok'")
UNSEEN = "price_of raised when it was recorded, and its body does not run in a golden: a fix inside it is not seen here"


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.write(SHOP)
    project.run("record", "--", "python", "agent.py", "tea", "cup", status=1)
    return project


def test_a_golden_says_that_a_fix_inside_the_tool_is_not_seen_and_what_shows_it(shop: Project) -> None:
    added = shop.add("comma", *EXPECT).stderr
    assert UNSEEN in added and "next: reenact replay @golden/comma --through price_of" in added
    shop.write(INSIDE)
    failed = shop.run("golden", "run", "comma", status=1)
    assert UNSEEN in failed.stdout and "next: reenact replay @golden/comma --through price_of" in failed.stderr
    shown = shop.run("replay", "@golden/comma", "--through", "price_of", status=1).stderr
    assert 'now       {"value": 7.5}' in shown and "ValueError" in shown
    assert "the code of price_of now gives another result, as expected after a fix" in shown
    shop.write(AROUND)
    passed = shop.run("golden", "run", "comma")
    assert UNSEEN not in passed.stdout


def test_a_replay_from_which_mended_code_parts_leads_to_a_test_of_the_failed_run(shop: Project) -> None:
    shop.write(SHOP.replace("price_of(item)\n    print", "price_of(item.upper())\n    print"))
    said = shop.run("replay", "@", status=1).stderr
    assert "next: reenact golden add " in said and "--as mended --expect \"status == 'ok'\"" in said, said


def test_a_fork_of_the_mended_tool_gives_every_code_its_answer_and_that_is_said(shop: Project) -> None:
    shop.write(INSIDE)
    shop.run("fork", "@:0", "--live", "all")
    said = "price_of raised in run"
    added = shop.run("golden", "add", "@~1", "--as", "comma", *EXPECT, "--fixed", "@").stderr
    assert "not proven on the recorded code" in added and said in added, "git does not hold the recorded code here"
    shop.write(SHOP)
    refused = shop.run("golden", "add", "@~1", "--as", "again", *EXPECT, "--fixed", "@", status=2).stderr
    assert said in refused and "Without --fixed the golden tests the code around it" in refused
    assert refused.rstrip().endswith("--through price_of")


@pytest.mark.parametrize(
    ("instead", "expect", "named"),
    [("raise SystemExit('no price')", "status == 'ok'", ""), ("print('sorry')", "'sorry' not in stdout", "stock_of")],
)
def test_an_error_that_the_agent_caught_is_named_where_the_run_went_on_to_its_end(
    shop: Project, instead: str, expect: str, named: str
) -> None:
    shop.write(SHOP.replace('"7,50"', '"7.50"').replace("print(total)", instead))
    shop.run("record", "--", "python", "agent.py", "tea", status=0 if named else 1)
    added = shop.add("end", "--expect", expect).stderr
    assert "fails on today's code" in added
    assert (f"{named} raised when it was recorded" in added) is bool(named), added


def test_a_call_too_many_is_not_blamed_on_a_tool_that_raised(shop: Project) -> None:
    shop.write(SHOP.replace('"7,50"', '"7.50"'))
    shop.run("record", "--", "python", "agent.py", "tea", "cup")
    assert "does not run in a golden" not in shop.add("calls", "--expect", "calls(price_of) <= 1").stderr


LATE = """
import time
import reenact

LIMIT = 1

@reenact.tool(effect="read")
def ask(question):
    return "an answer"

@reenact.tool(effect="read")
def wait(limit):
    if limit < 9:
        raise TimeoutError(f"nothing came within {limit} s")
    return "it came"

ask("first")
print(wait(LIMIT))
"""


def test_a_longer_time_out_is_for_a_fork_to_show(shop: Project) -> None:
    shop.write(LATE)
    shop.run("record", "--", "python", "agent.py", status=1)
    late = "no answer came in time, so none was recorded: a longer time-out proves nothing here; a fork waits for it"
    added = shop.add("late", *EXPECT).stderr
    assert late in added and added.rstrip().endswith("next: reenact fork @golden/late:1 --live all")
    shop.write(LATE + "# longer, and in vain\n")
    failed = shop.run("golden", "run", "late", status=1).stdout
    assert late in failed and "did, though the code has changed since the recording (agent.py): Timeout" in failed
    shop.write(LATE.replace('return "it came"', "return 'it came'").replace("limit < 9", "False"))
    assert "it came" in shop.run("fork", "@golden/late:1", "--live", "all").stdout


ORDERS = """
import re
import sys
import reenact

def units_in(text):
    return int(re.match(r"\\d+", text)[0])

@reenact.tool(name="stock_level", effect="read")
def level(item):
    return units_in({"tea": "1,200 units"}[item])

def main():
    left = level(sys.argv[1])
    print("order more" if left < 10 else "enough")

main()
"""
COUNTED = ORDERS.replace('re.match(r"\\d+", text)[0]', 're.match(r"[\\d,]+", text)[0].replace(",", "")')
CHANGED = "stock_level is answered as recorded: its code has changed since (agent.py), and no golden runs it"


def test_a_tool_whose_code_was_mended_is_named_where_the_golden_stays_red(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write(ORDERS)
    project.run("record", "--", "python", "agent.py", "tea")
    project.write(COUNTED)
    added = project.run("golden", "add", "@", "--as", "units", "--expect", "'enough' in stdout").stderr
    assert CHANGED in added and "next: reenact replay @golden/units --through stock_level" in added
    failed = project.run("golden", "run", "units", status=1)
    assert CHANGED in failed.stdout and "next: reenact replay @golden/units --through stock_level" in failed.stderr
    assert "now       1200" in project.run("replay", "@golden/units", "--through", "stock_level", status=1).stderr


def test_a_new_fault_in_a_tool_is_named_where_the_golden_stays_green(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write(COUNTED)
    project.run("record", "--", "python", "agent.py", "tea")
    project.run("golden", "add", "@", "--as", "enough", "--holds", "'enough' in stdout")
    project.run("golden", "add", "@", "--as", "same")
    assert "code has changed" not in project.run("golden", "run").stdout
    project.write(ORDERS)
    passed = project.run("golden", "run").stdout
    assert passed.count(f"{CHANGED}; `reenact replay @golden/") == 2
    project.run("golden", "run", "--report", "out")
    assert CHANGED in (tmp_path / "out" / "summary.md").read_text()
    assert "fresh    enough" in (drifted := project.run("golden", "drift", "enough").stdout) and CHANGED in drifted
    project.write(COUNTED.replace("def main", "# the rest\ndef main"))
    assert "code has changed" not in project.run("golden", "run").stdout, "the tool says the same"


def test_a_replay_that_is_the_same_names_a_tool_whose_code_it_did_not_run(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write(COUNTED)
    project.run("record", "--", "python", "agent.py", "tea")
    assert "code has changed" not in project.run("replay").stderr
    project.write(ORDERS)
    said = project.run("replay").stderr
    assert f"{CHANGED.partition(', and')[0]}, and this replay did not run it; `reenact replay " in said, said
    onward = said.partition("did not run it; `")[2].partition("`")[0]
    assert "now       1\n" in project.run(*onward.split()[1:], status=1).stderr, "it is the new fault's"
    (remark,) = json.loads(project.run("replay", "--json").stdout)["remarks"]
    assert remark in said
    project.write(COUNTED.replace("def main", "# the rest\ndef main"))
    assert "code has changed" not in project.run("replay").stderr, "the tool says the same"
    project.write(ORDERS)
    told = project.run("replay", "--through", "stock_level", status=1).stderr
    assert "did not run it" not in told, "it has run"


def test_a_tool_that_only_computes_now_runs_and_is_judged(tmp_path: Path) -> None:
    look = '@reenact.tool(effect="read")\ndef look(item):\n    return 1\n\ndef main():\n    look("tea")\n'
    counted, orders = (each.replace("def main():\n", look) for each in (COUNTED, ORDERS))
    computes = 'name="stock_level", effect="none"'
    project = Project(tmp_path)
    project.write(counted)
    project.run("record", "--", "python", "agent.py", "tea")
    project.run("golden", "add", "@", "--as", "enough", "--holds", "'enough' in stdout")
    project.write(counted.replace('name="stock_level", effect="read"', computes))
    assert "code has changed" not in project.run("golden", "run").stdout
    project.write(orders.replace('name="stock_level", effect="read"', computes))
    assert "code has changed" not in project.run("golden", "run", status=1).stdout


def test_a_tool_with_a_credential_in_its_text_has_not_changed(tmp_path: Path) -> None:
    key = "ghp_" + "a8Kd03LmPq7RsTu5VwXy2Zb4Cd6EfGh1JkMn"
    project = Project(tmp_path)
    project.write(COUNTED.replace("    return units_in(", f'    key = "{key}"\n    return units_in('))
    project.run("record", "--", "python", "agent.py", "tea")
    project.run("golden", "add", "@", "--as", "enough", "--holds", "'enough' in stdout")
    assert "code has changed" not in project.run("golden", "run").stdout
