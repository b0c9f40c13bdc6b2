"""The example of the how-to page: 300 runs of three weeks with two planted causes, both named first."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.desk import Desk
from tests.project.transcript import blocks

CUT_OFF, NEW_FORM = "json.decoder.JSONDecodeError", "KeyError"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> Desk:
    desk = Desk(tmp_path_factory.mktemp("cold cases"))
    for name in ("agent.py", "traffic.py"):
        shutil.copy(checkout / "examples" / "cold_cases" / name, desk.folder)
    done = desk.run("python", "traffic.py")
    assert done.code == 0, done.err
    return desk


def test_the_page_tells_the_files_of_the_example(checkout: Path) -> None:
    page = checkout / "docs" / "how-to" / "from-alert-to-golden.md"
    told = {block.title: block.text for block in blocks(page) if block.title}
    folder = checkout / "examples" / "cold_cases"
    assert told == {
        name: (folder / name).read_text(encoding="utf-8") for name in ("alert.json", "agent.py", "traffic.py")
    }


def groups(desk: Desk, *more: str) -> list[dict[str, Any]]:
    done = desk.run("reenact", "triage", "--json", *more)
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert lines[0]["type"] == "triage"
    return lines[1:]


def first(group: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in group["shares"][0]["traits"]}


def test_both_causes_are_named_first(desk: Desk) -> None:
    one, two, *rest = groups(desk)
    assert (one["error"], two["error"]) == (CUT_OFF, NEW_FORM) and one["runs"] >= 20 and two["runs"] >= 8
    assert first(one) == {"model asked": "fast-2", "hour": "02:00"}
    assert list(first(two)) == ["tool's answer"] and "{links: [], order: {" in first(two)["tool's answer"]
    assert {"name": "tenant", "value": "acme"} in [trait for share in two["shares"] for trait in share["traits"]]
    assert all(group["runs"] < 5 and not group["shares"] for group in rest)
    assert sum(count for _, count in one["by_day"]) == one["runs"] and one["by_day"][0][0] == "2026-11-02"


def test_a_group_has_one_name_in_every_call(desk: Desk) -> None:
    one = groups(desk)[0]
    (again,) = groups(desk, "--group", one["group"])
    assert again["fingerprint"] == one["fingerprint"] and again["shares"] == one["shares"]
    (acme,) = [each for each in groups(desk, "--tenant", "acme") if each["error"] == NEW_FORM]
    assert acme["fingerprint"] == groups(desk)[1]["fingerprint"] and acme["runs"] == groups(desk)[1]["runs"]
    assert desk.run("reenact", "triage", "--group", "zz").code == 2


def test_the_representative_replays(desk: Desk) -> None:
    for group in groups(desk)[:2]:
        done = desk.run("reenact", "replay", group["representative"])
        assert done.code == 0 and b"same" in done.err, done.err


def test_a_mark_parts_what_is_new_from_what_is_gone(desk: Desk) -> None:
    assert desk.run("reenact", "mark", "orders v3", "--at", "2026-11-16T00:00:00Z").code == 0
    try:
        one, two, *_ = groups(desk)
        assert (one["novelty"], two["novelty"]) == ("", "new")
        said = desk.run("reenact", "triage").out.decode()
        assert "(new since orders v3)" in said
        assert (
            "  since orders v3: more often, 12/100 (7-20 %) of the runs after 0/200 (0-2 %); difference +7 to +20 "
            in said
        )
        assert "  since orders v3: no difference is shown, " in said
        sides = two["mark"]
        assert (sides["before"]["runs"], sides["before"]["of"]) == (0, 200) and sides["since"]["runs"] == two["runs"]
        assert sides["difference"][0] > 0 > one["mark"]["difference"][0]
        assert "- since `orders v3`: more often, 12/100" in desk.run("reenact", "triage", "--markdown").out.decode()
    finally:
        desk.run("reenact", "mark", "--rm", "orders v3")


def test_for_a_person_and_for_a_ticket(desk: Desk) -> None:
    said = desk.run("reenact", "triage", "-n", "1")
    assert "hour 02:00 and model asked fast-2: " in said.out.decode() and "further" not in said.out.decode()
    narrow = desk.run("reenact", "triage", more={"COLUMNS": "60"}).out.decode().splitlines()
    assert max(map(len, narrow)) <= 60 and any(line.startswith("  by day ") for line in narrow)
    assert "12 of 12, healthy 0 of 259, lift" in " ".join(map(str.strip, narrow)), "no figure is cut off"
    assert b"more groups of" in said.out and b"next: reenact triage --group " in said.err
    paper = desk.run("reenact", "triage", "--markdown").out.decode()
    assert paper.startswith("# Triage\n") and "| `tenant acme` | " in paper and "more group" not in paper
    assert "\n  last steps: model\n" in said.out.decode() and "\n- `last steps: model, lookup_order`\n" in paper
    assert "- by day: `" in paper and "`hour 02:00` and `model asked fast-2`" in paper
    assert "and 2 more groups of " in desk.run("reenact", "triage", "--markdown", "-n", "1").out.decode()
    assert desk.run("reenact", "triage", "--agent", "nobody").code == 0
    assert desk.run("reenact", "triage", "--zone", "Mars/Olympus").code == 2
