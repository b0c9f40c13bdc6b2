"""Recorded and imported runs are marked by the rules in force, in show, expressions, reports and spans alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.desk import Desk
from tests.programs import read_program

AGENT = read_program("suspicions/answers_that_nothing_supports.py")

SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "My user id is mia_3668. Which order is mine?"},
    {"role": "assistant", "content": None, "tool_calls": [("c1", "orders", {"user_id": "mia_3668"})]},
    {"role": "tool", "tool_call_id": "c1", "content": "[]"},
    {"role": "assistant", "content": None, "tool_calls": [("c1", "orders", {"user_id": "mia_3668"})]},
    {"role": "tool", "tool_call_id": "c1", "content": '["W-2231"]'},
    {"role": "assistant", "content": None, "tool_calls": [("c2", "cancel", {"order_id": "W-9931"})]},
    {"role": "tool", "tool_call_id": "c2", "content": "Error: no such order"},
    {"role": "assistant", "content": "Order W-7777 is cancelled."},
]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk with the agent on it."""
    found = Desk(tmp_path)
    (found.folder / "agent.py").write_text(AGENT)
    assert found.run("python", "agent.py").code == 0
    return found


def events(desk: Desk, ref: str = "@") -> dict[str, list[str]]:
    """The marks of a run as ``show --json`` has them: number and name of each marked event, to names of rules."""
    lines = [json.loads(line) for line in desk.run("reenact", "--json", "show", ref).out.splitlines()]
    rows: list[dict[str, Any]] = [line for line in lines if line.get("type") == "event"]
    return {
        f"{row['event']} {row['name']}": [each["rule"] for each in row["suspicious"]] for row in rows if row["mark"]
    }


def test_show_marks_what_the_rules_find(desk: Desk) -> None:
    found = events(desk)
    assert found == {
        "0 orders": ["foreign-id"],
        "1 orders": ["empty-repeat", "foreign-id"],
        "4 price": ["failure", "ignored-error"],
        "5 model": ["unsupported-answer"],
    }
    text = desk.run("reenact", "show", "@", more={"COLUMNS": "160"}).out.decode()
    assert "<- user_id is u-18, the input says u-17" in text
    assert "<- hint: no result holds 999" in text and "holds 120" not in text
    assert "the same as #0, whose result was empty" in desk.run("reenact", "show", "@:1").out.decode()
    assert desk.run("reenact", "show", "@:2").out.decode().count("<-") == 0


def test_expressions_reports_and_spans_carry_the_marks(desk: Desk) -> None:
    for expression, holds in (
        ("suspicious", True),
        ("'foreign-id' in suspicious", True),
        ("'loop' in suspicious", False),
        ('suspicious("foreign-id") == 2', True),
    ):
        listed = desk.run("reenact", "--json", "ls", "--where", expression)
        assert (listed.code, bool(listed.out)) == (0, holds), expression
    assert b"user\\_id is u-18, the input says" in desk.run("reenact", "export", "markdown", "@").out.replace(
        b"user_id", b"user\\_id"
    )
    for content in ("reference", "inline"):
        assert desk.run("reenact", "export", "otel", "@", "--content", content, "-o", "trace.json").code == 0
        text = (desk.folder / "trace.json").read_text()
        (scope,) = json.loads(text)["resourceSpans"][0]["scopeSpans"]
        rules = {
            span["name"]: [each["stringValue"] for each in attribute["value"]["arrayValue"]["values"]]
            for span in scope["spans"]
            for attribute in span["attributes"]
            if attribute["key"] == "reenact.suspicions"
        }
        assert rules["execute_tool price"] == ["failure", "ignored-error"]
        assert set(rules["invoke_agent shop"]) == {
            *("foreign-id", "empty-repeat", "failure", "ignored-error", "unsupported-answer")
        }
    assert "the input says" not in text, "why a rule marks an event may hold content"


def test_a_project_turns_rules_off_and_adds_its_own(desk: Desk) -> None:
    (desk.folder / "house.py").write_text(
        "def dear(course):\n"
        '    """Prices above a hundred."""\n'
        "    for act in course.acts:\n"
        "        if act.name == 'price' and isinstance(act.result, dict) and act.result['price'] > 100:\n"
        "            yield act.event, f\"dear: {act.result['price']}\"\n"
        "def broken(course):\n"
        "    raise KeyError('no')\n"
    )
    (desk.folder / "reenact.toml").write_text(
        '[suspicions]\nforeign-id = "off"\nempty-repeat = false\ndear = "house:dear"\n'
    )
    assert events(desk) == {
        "2 price": ["dear"],
        "4 price": ["failure", "ignored-error"],
        "5 model": ["unsupported-answer"],
    }
    assert "<- dear: 120" in desk.run("reenact", "show", "@").out.decode()
    (desk.folder / "reenact.toml").write_text('[suspicions]\nbroken = "house:broken"\n')
    shown = desk.run("reenact", "show", "@", more={"COLUMNS": "160"})
    assert shown.code == 0 and "the rule broken raised KeyError: 'no'" in shown.out.decode()


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('lop = "off"', "did you mean loop?"),
        ('mine = "os:system"', "no file of this project"),
        ('mine = "house"', "MODULE:FUNCTION"),
    ],
)
def test_a_rule_that_is_none_of_this_project_is_refused(desk: Desk, table: str, words: str) -> None:
    (desk.folder / "reenact.toml").write_text(f"[suspicions]\n{table}\n")
    shown = desk.run("reenact", "show", "@")
    assert shown.code == 2 and words in shown.err.decode(), shown.err


def test_calls_that_only_a_conversation_tells_are_seen(desk: Desk) -> None:
    told = [
        {
            **message,
            "tool_calls": [
                {"id": number, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                for number, name, arguments in message["tool_calls"]
            ],
        }
        if "tool_calls" in message
        else message
        for message in SAID
    ]
    (desk.folder / "said.jsonl").write_text(json.dumps({"messages": told}) + "\n")
    assert desk.run("reenact", "import", "messages", "said.jsonl").code == 0
    found = events(desk)
    assert list(found.values()) == [["empty-repeat"], ["ignored-error", "foreign-id"], ["unsupported-answer"]]
