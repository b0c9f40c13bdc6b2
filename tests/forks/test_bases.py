"""What goes live goes to today's base address, the plan says where, and the last line says what came of the change."""

from __future__ import annotations

import pytest

from reenact.facts.bases import Bases, moved_bases
from reenact.testing import ScriptedProvider
from reenact.testing.provider import Rule, Script
from tests.forks.conftest import Forks

AGENT = """
import asyncio, openai, reenact

@reenact.tool(effect="read")
def look(city):
    return "fog"

def ask(text):
    messages = [dict(role="user", content=text)]
    return openai.OpenAI(max_retries=0).chat.completions.create(model="m", messages=messages).choices[0].message.content

async def ask_async(text):
    messages = [dict(role="user", content=text)]
    said = await openai.AsyncOpenAI(max_retries=0).chat.completions.create(model="m", messages=messages)
    return said.choices[0].message.content

print(ask("weather?"))
sky = look("Oslo")
print(ask(sky))
print(asyncio.run(ask_async(sky)))
"""


def says(text: str) -> Script:
    return Script(rules=(Rule(say=text),))


def test_a_fork_goes_live_where_today_says(forks: Forks) -> None:
    with ScriptedProvider(says("then")) as before:
        forks.desk.environ = {"OPENAI_BASE_URL": f"{before.url}/v1", "OPENAI_API_KEY": "scripted-key"}
        assert forks.record(AGENT) == "then\nthen\nthen\n"
    with ScriptedProvider(says("now")) as today:
        forks.desk.environ["OPENAI_BASE_URL"] = f"{today.url}/v1"
        plan = forks.desk.run("fork", f"{forks.parent}:look#1", "--result", 'look#1="sun"', "--dry-run").stdout
        assert f"may be sent to  {today.url[7:]} with OPENAI_API_KEY" in plan
        assert f"today's address instead of {before.url[7:]}" in plan
        report = forks.fork("look#1", "--result", 'look#1="sun"')
        assert report["printed"] == "then\nnow\nnow\n", "the prefix is as it was, the rest is asked today"
        assert report["live"] == 2
    assert "change: the result of event" in report["last_line"] and "set to 'sun'" in report["last_line"]
    number = next(event.number for event in forks.events(forks.parent) if event.name == "look")
    assert report["last_line"].endswith(f"parts at event {number} (look)")
    forks.replays_exactly(report["run"])


def test_a_fork_that_does_not_part_says_no_place(forks: Forks) -> None:
    with ScriptedProvider(says("then")) as before:
        forks.desk.environ = {"OPENAI_BASE_URL": f"{before.url}/v1", "OPENAI_API_KEY": "scripted-key"}
        forks.record(AGENT)
    last = forks.fork("look#1", "--result", 'look#1="fog"', "--live", "none")["last_line"]
    assert "change: the result of event" in last and "parts at" not in last


@pytest.mark.parametrize(
    ("url", "there"),
    [
        ("http://old:1/v1/chat", "https://new/api/chat"),
        ("http://old:1/v1", "https://new/api"),
        ("http://old:1/v1beta/chat", "http://old:1/v1beta/chat"),
        ("http://old:10/v1/chat", "http://old:10/v1/chat"),
    ],
)
def test_an_address_moves_with_its_base(url: str, there: str) -> None:
    names = ["OPENAI_BASE_URL", "HTTP_PROXY", "OTHER", "SAME"]
    then = {"OPENAI_BASE_URL": "http://old:1/v1/", "HTTP_PROXY": "http://old:1", "OTHER": "x", "SAME": "http://same"}
    now = {**then, "OPENAI_BASE_URL": "https://new/api", "HTTP_PROXY": "http://elsewhere", "OTHER": "http://y"}
    pairs = moved_bases(then, now, names)
    assert pairs == [["http://old:1/v1", "https://new/api"]]
    assert Bases(tuple((before, after) for before, after in pairs)).today(url) == there


def test_a_candidate_that_asks_models_asks_today_s(forks: Forks) -> None:
    with ScriptedProvider(says("then")) as before:
        forks.desk.environ = {"OPENAI_BASE_URL": f"{before.url}/v1", "OPENAI_API_KEY": "scripted-key"}
        forks.record(AGENT)
    with ScriptedProvider(says("now")) as today:
        forks.desk.environ["OPENAI_BASE_URL"] = f"{today.url}/v1"
        forks.desk.run("experiment", "--where", "status == 'ok'", "--candidate", "other:model=m2", status=None)
        assert today.counts == {"/v1/chat/completions": 3}
