"""An audit of many runs: what each item that is missing would gain, in which order, and how the share has moved."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.kit import Bucket, Item, ItemState, Kit, Stops
from reenact.facts.run import Run
from reenact.interfaces.cli.audit_text import _text
from reenact.triage.audit import AuditedRun, audit, audited
from tests.desk import Desk


def missing(name: str, stops: Stops = Stops.CODE, *, capture: tuple[str, ...] = ("a line",)) -> Item:
    return Item(Bucket.INPUT, name, ItemState.MISSING, f"no {name}", capture=capture, stops=stops)


def run(number: int, *names: str, code: str = "", agent: str = "shop") -> AuditedRun:
    kit = Kit(f"r{number}", tuple(missing(name) for name in names))
    found = audited(Run(f"r{number}", agent=agent, version=code), kit)
    assert found.needed == set(names)
    return found


def test_what_gains_most_comes_first_and_what_it_makes_possible_behind_it() -> None:
    runs = [run(1, "input"), run(2, "input"), run(3, "payloads", "input"), run(4), run(5, "seams", "order")]
    found = audit(runs)
    assert (found.runs, found.replays) == (5, 1)
    told = [(each.name, each.gains, len(each.runs)) for each in found.helps]
    assert told == [("input", 2, 3), ("payloads", 1, 1), ("order", 0, 1), ("seams", 1, 1)]
    assert found.helps[0].runs == ("r1", "r2", "r3") and found.helps[0].capture == ("a line",)


def test_items_that_gain_nothing_alone_are_told_with_what_they_gain_together() -> None:
    ways = {"history": ("a setting", "a line"), "model_calls": ("a setting",), "payloads": ("fsck",)}
    items = tuple(missing(name, capture=way) for name, way in ways.items())
    found = audit([audited(Run("r1"), Kit("r1", items)), run(2, "input")])
    assert [(each.name, each.gains) for each in found.helps][1:] == [
        ("history", 0),
        ("model_calls", 0),
        ("payloads", 1),
    ]
    told = [line.split(": lacking")[0].split() for line in _text(found)]
    assert told[2:4] == [["+1", "input"], ["capture", "it:", "a", "line"]]
    assert told[4:] == [
        ["+1", "history", "and", "model_calls", "and", "payloads"],
        ["capture", "it:", "a", "setting"],
        ["and:", "fsck"],
    ]


def test_what_stops_nothing_is_told_apart() -> None:
    item = Item(Bucket.ENVIRONMENT, "commit", ItemState.PARTIAL, "half of it")
    (one,) = (audited(Run("r1"), Kit("r1", (item,))),)
    found = audit([one, run(2, "input")])
    assert one.replays and [each.name for each in found.others] == ["commit"]
    assert [each.name for each in found.helps] == ["input"]


@given(st.lists(st.sets(st.sampled_from("abcdef"), max_size=4), max_size=30))
def test_all_that_is_told_makes_all_runs_replayable(needs: list[set[str]]) -> None:
    found = audit([run(number, *sorted(names)) for number, names in enumerate(needs)])
    assert sum(each.gains for each in found.helps) + found.replays == found.runs == len(needs)
    assert {each.name for each in found.helps} == {name for names in needs for name in names}
    if found.helps:
        alone = max(sum(names == {name} for names in needs) for name in "abcdef")
        assert found.helps[0].gains == alone, "the first one gains what any alone would gain at most"


def test_the_share_before_and_since_the_code_changed() -> None:
    runs = [run(1, code="2"), run(2, "input", code="2"), run(3, "input", code="1"), run(4, "input", code="1")]
    (moved,) = audit([*runs, run(5, agent="other", code="7")]).moved
    assert (moved.agent, moved.code, moved.since, moved.before) == ("shop", "2", (1, 2), (0, 2))


PROGRAM = """
import sys, reenact

@reenact.record(agent="shop@2")
def whole(city):
    return city

if sys.argv[1] == "whole":
    whole("Oslo")
else:
    with reenact.record(agent="shop@1"):
        pass
"""


def test_on_the_command_line(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(PROGRAM)
    for how in ("block", "block", "whole"):
        assert desk.run("python", "agent.py", how).code == 0
    said = desk.run("reenact", "kit", "--agent", "shop")
    text = said.out.decode()
    assert said.code == 0, said.err
    assert text.startswith("3 runs: 1 of 3 (33 %) can be replayed\n")
    assert "+2    " in text and "capture it:" in text
    assert "since shop at 2: 1 of 1 (100 %) can be replayed; before: 0 of 2 (0 %)" in text
    assert b"next: reenact kit " in said.err
    lines = [json.loads(line) for line in desk.run("reenact", "--json", "kit", "--since", "1h").out.splitlines()]
    assert lines[0] == {"type": "audit", "runs": 3, "replays": 1}
    assert [each["gains"] for each in lines if each["type"] == "help"] == [2]
    assert desk.run("reenact", "kit", "@", "--agent", "shop").code == 2
    assert b"no matching runs" in desk.run("reenact", "kit", "--agent", "nobody").err
