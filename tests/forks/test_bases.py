"""What goes live goes to today's base address, the plan says where, and the last line says what came of the change."""

from __future__ import annotations

import pytest

from reenact.facts.bases import Bases, moved_bases
from reenact.testing import ScriptedProvider
from reenact.testing.provider import Rule, Script
from tests.forks.conftest import Forks
from tests.programs import read_program

AGENT = read_program("forks/three_model_calls_and_a_tool.py")


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
        assert [each["why"].partition("; sent to ")[2] for each in report["answers"]] == ["", *[today.url[7:]] * 2]
    assert "change: the result of event" in report["last_line"] and 'set to "sun"' in report["last_line"]
    number = next(event.number for event in forks.events(forks.parent) if event.name == "look")
    assert report["last_line"].endswith(f"parts at event {number} (look)")
    forks.replays_exactly(report["run"])


def test_a_fork_that_does_not_part_says_no_place(forks: Forks) -> None:
    with ScriptedProvider(says("then")) as before:
        forks.desk.environ = {"OPENAI_BASE_URL": f"{before.url}/v1", "OPENAI_API_KEY": "scripted-key"}
        forks.record(AGENT)
    last = forks.fork("look#1", "--result", 'look#1="fog"', "--live", "none")["last_line"]
    assert "change: the result of event" in last and "parts at" not in last


OTHERS = read_program("forks/model_asked_without_an_sdk.py")


@pytest.mark.parametrize("client", ["requests", "session", "urllib3", "aiohttp"])
def test_so_does_what_other_clients_send(forks: Forks, client: str) -> None:
    pytest.importorskip(client.replace("session", "requests"))
    with ScriptedProvider(says("then")) as before:
        forks.desk.environ = {"OPENAI_BASE_URL": f"{before.url}/v1", "OPENAI_API_KEY": "scripted-key"}
        assert forks.record(OTHERS.replace("client = requests", f"client = {client}")) == "then\nthen\n"
    with ScriptedProvider(says("now")) as today:
        forks.desk.environ["OPENAI_BASE_URL"] = f"{today.url}/v1"
        report = forks.fork("look#1", "--result", 'look#1="sun"')
        assert report["printed"] == "then\nnow\n"
        assert (report["live"], today.counts) == (1, {"/v1/chat/completions": 1})
        assert not [remark for remark in report["remarks"] if "goes to its recorded address" in remark]
    forks.replays_exactly(report["run"])


def test_a_connection_that_the_program_made_leads_where_it_led_and_is_refused(forks: Forks) -> None:
    program = """
        import http.client, json, os, reenact
        from urllib.parse import urlsplit

        @reenact.tool(effect="read")
        def look(city):
            return "fog"

        def ask(text):
            parts = urlsplit(os.environ["OPENAI_BASE_URL"])
            body = json.dumps(dict(model="m", messages=[dict(role="user", content=text)]))
            connection = http.client.HTTPConnection(parts.netloc)
            headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
            connection.request("POST", parts.path + "/chat/completions", body, headers)
            return json.load(connection.getresponse())["choices"][0]["message"]["content"]

        print(ask("weather?"))
        print(ask(look("Oslo")))
    """
    with ScriptedProvider(says("then")) as before, ScriptedProvider(says("now")) as today:
        forks.desk.environ = {"OPENAI_BASE_URL": f"{before.url}/v1", "OPENAI_API_KEY": "scripted-key"}
        assert forks.record(program) == "then\nthen\n"
        forks.desk.environ["OPENAI_BASE_URL"] = f"{today.url}/v1"
        report = forks.fork("look#1", "--result", 'look#1="sun"', status=5)
        assert [remark for remark in report["remarks"] if "goes to its recorded address" in remark]
        assert "OPENAI_API_KEY is not sent to" in report["message"], "today's key never goes to yesterday's host"
        assert today.counts == {}


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


def test_a_golden_that_lacks_answers_asks_at_todays_address(forks: Forks) -> None:
    with ScriptedProvider(says("then")) as before:
        forks.desk.environ = {"OPENAI_BASE_URL": f"{before.url}/v1", "OPENAI_API_KEY": "scripted-key"}
        forks.record(AGENT)
    forks.desk.run("golden", "add", "@", "--as", "sky", "--expect", "'now' in stdout")
    agent = forks.desk.folder / "agent.py"
    agent.write_text(agent.read_text().replace("weather?", "what weather?"))
    with ScriptedProvider(says("now")) as today:
        forks.desk.environ["OPENAI_BASE_URL"] = f"{today.url}/v1"
        said = forks.desk.run("golden", "run", "sky", "--mode", "missing").stdout
        assert "1 answer recorded" in said, said
        assert today.counts == {"/v1/chat/completions": 1}
    del forks.desk.environ["OPENAI_API_KEY"]
    agent.write_text(agent.read_text().replace("what weather?", "which weather?"))
    said = forks.desk.run("golden", "run", "sky", "--mode", "missing", status=None).stderr
    assert "OPENAI_API_KEY is not set" in said and "nothing was kept" in said
    assert said.splitlines()[-1].strip() == "next: export OPENAI_API_KEY=…", "one command, which helps"
