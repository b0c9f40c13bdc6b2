"""What a fork may write is named by patterns that mean something; a model request that is only stored says so."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

import pytest

from reenact.facts.call import Call, Effect, Kind
from reenact.facts.ids import tail
from reenact.facts.tool_sources import plain_in, tools_in
from reenact.testing import ScriptedProvider
from reenact.testing.provider import Rule, Script, ToolUse, When
from reenact.timetravel.forks.permits import commits, meant, only_kept
from tests.forks.conftest import Forks
from tests.programs import read_program

WORLD = Script(
    rules=(
        Rule(uses=(ToolUse("weather", {"city": "Oslo"}),), when=When(results=False)),
        Rule(say=lambda ask: f"It is {ask.results[-1].text}."),
    )
)
AGENT = read_program("forks/weather_of_a_declared_tool.py")


@pytest.fixture
def agent(forks: Forks) -> Iterator[Forks]:
    """An agent whose model requests are stored by their provider, as OpenAI's responses are."""
    with ScriptedProvider(WORLD) as provider:
        forks.desk.environ = {"WORLD": provider.url}
        assert forks.record(AGENT).strip() == "It is foggy."
        yield forks


SUNNY = ("weather#1", "--result", 'weather#1="sunny"')


def test_a_request_that_is_only_stored_says_so_and_names_what_lets_it_go(agent: Forks) -> None:
    name = f"POST {agent.desk.environ['WORLD'][7:]}/v1/responses"
    refused = agent.fork(*SUNNY, status=5)
    assert f"{name} is not sent: it does not say store=false" in refused["message"]
    assert f"--allow-write '{name}' lets it be made" in refused["message"]
    assert "models_may_store = true in [tool.reenact]" in refused["message"]
    assert "ModelSettings(store=False)" in refused["message"]
    for sky, word in (("sunny", name), ("windy", "POST */v1/responses")):
        report = agent.fork("weather#1", "--result", f'weather#1="{sky}"', "--allow-write", word)
        assert (report["printed"].strip(), report["live"]) == (f"It is {sky}.", 1)
    agent.replays_exactly()


def test_a_refusal_also_names_the_key_that_is_missing(forks: Forks) -> None:
    with ScriptedProvider(WORLD) as provider:
        forks.desk.environ = {"WORLD": provider.url, "OPENAI_API_KEY": "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3}
        forks.record(AGENT.replace('api_key="k"', 'api_key=os.environ["OPENAI_API_KEY"]'))
        forks.desk.environ["OPENAI_API_KEY"] = ""
        refused = forks.fork(*SUNNY, status=5)["message"]
    assert "lets it be made" in refused and "; OPENAI_API_KEY is not set, which it needs too" in refused


def test_a_setting_says_once_that_they_may_go(agent: Forks) -> None:
    asked = agent.fork(0, "--live", "model")
    stored = [each for each in asked["remarks"] if "is answered as recorded, because its provider stores it" in each]
    assert (asked["live"], len(stored)) == (0, 1), "it is said once that no model was asked, and which setting asks"
    (agent.desk.folder / "reenact.toml").write_text("models_may_store = true\n")
    report = agent.fork(*SUNNY)
    assert (report["printed"].strip(), report["live"]) == ("It is sunny.", 1)
    asked = agent.fork(0, "--live", "model")
    assert (asked["live"], asked["remarks"]) == (2, []), "what is only stored is sampled again as a read is"
    agent.replays_exactly()


@pytest.mark.parametrize(
    ("word", "near"), [("send_mial", "send_mail"), ("cancel_ordr", "cancel_order"), ("wire_*", ""), ("refund", "")]
)
def test_a_pattern_that_means_nothing_is_refused_with_the_list(agent: Forks, word: str, near: str) -> None:
    refused = agent.fork(*SUNNY, "--allow-write", word, status=2)["said"]
    assert f"--allow-write {word} matches no call of run" in refused
    assert (f"did you mean {near}?" in refused) == bool(near)
    assert "cancel_order, send_mail, weather" in refused.replace("\n", " ")
    assert len(agent.runs()) == 1


def test_what_the_code_declares_and_models_are_offered_can_be_allowed(agent: Forks) -> None:
    plan = agent.desk.run(
        "fork", f"{agent.parent}:0", "--dry-run", "--allow-write", "cancel_*", "--allow-write", "send_*"
    )
    assert "writes: cancel_*, send_*" in plan.stdout


def test_the_name_of_a_plain_function_allows_nothing(agent: Forks) -> None:
    program = agent.desk.folder / "agent.py"
    code = program.read_text().replace("asked = [", "def send_mail(city):\n    return 'sent'\n\nasked = [", 1)
    agent.record(code)
    made = len(agent.runs())
    said = agent.fork(0, "--allow-write", "send_mail", "--allow-write", "weather", status=2)["said"]
    assert "--allow-write send_mail allows nothing: send_mail is a function without @reenact.tool" in said
    assert json.loads(said)["next"] == f"reenact fork {tail(agent.parent)}:0 --allow-write weather"
    assert agent.fork(0, "--allow-write", "send_*", "--dry-run", status=2)
    refused = agent.fork(0, "--allow-write", "nothing", status=2)["said"].replace("\n", " ")
    write = f"POST {agent.desk.environ['WORLD'][7:]}/v1/responses"
    assert f"it may name {write}, cancel_order, weather" in " ".join(refused.split()), refused
    assert len(agent.runs()) == made


def responses(more: str, effect: Effect = Effect.WRITE) -> Call:
    head = {"method": "POST", "url": "https://api.openai.com/v1/responses", "transport": "httpx"}
    body = f'{{"model": "gpt-x", "input": "hi"{more}}}'.encode()
    return Call(Kind.HTTP, "POST api.openai.com/v1/responses", effect, "http/1", head, body)


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ("", True),
        (', "store": true', True),
        (', "previous_response_id": "resp_1"', True),
        (', "conversation": "conv_1"', False),
        (', "background": true', False),
        (', "tools": [{"type": "web_search"}]', False),
        (', "tools": [{"type": "function", "name": "look"}]', True),
    ],
)
def test_only_what_the_provider_keeps_is_kept(more: str, kept: bool) -> None:
    assert only_kept(responses(more)) is kept
    assert not only_kept(responses(more, Effect.READ))


def test_patterns_mean_names() -> None:
    assert meant(("send", "send_*"), "send_mail") == "send_*"
    assert not meant(("send",), "send_mail")
    commit = Call(Kind.DB, "commit r.db", Effect.WRITE, "db/1", {"what": "commit", "database": "r.db"}, b"")
    assert commits(("insert r.db",), commit) and commits(("insert *",), commit)
    assert not commits(("insert s.db",), commit) and not commits(("insert",), commit)


def test_tools_are_found_in_source_code() -> None:
    code = """
@tool
def one(): ...
@agents.function_tool(name_override="two")
async def three(): ...
Tool(name="four", func=five)
StructuredTool(func=print, name="six")
def seven(): ...
"""
    assert {"one", "three", "two", "four", "six"} == set(tools_in(ast.parse(code)))
    assert plain_in(ast.parse(code)) == {"seven"}
    assert plain_in(ast.parse(code + "tool(seven)")) == {"seven"}, "what is a tool too is taken out later"
    assert plain_in(ast.parse(code + "run_tool(name)")) == {"seven"}
    assert plain_in(ast.parse(code + "[tool(each) for each in (seven,)]")) == set()


PAYS = """
import reenact

@reenact.tool(effect="read")
def look():
    return 1

@reenact.tool
def pay(amount):
    raise ValueError("no money")

if look() == 2:
    pay(1)
"""


MAILS = """
    import reenact
    @reenact.tool(effect="read")
    def look(): return 1
    @reenact.tool
    def mail(text): return text
    @reenact.tool
    def mails(text): return text
    mail(look())
"""


def test_a_name_that_was_given_too_is_not_proposed(forks: Forks) -> None:
    forks.record(MAILS)
    change = ("look#1", "--result", "look#1=2", "--allow-write", "mails")
    idle = "mails was allowed to write, and was not called from event 0 on"
    assert forks.fork(*change, "--allow-write", "mail")["remarks"] == [idle]


def test_a_write_that_failed_in_an_earlier_fork_is_said_to_have_failed(forks: Forks) -> None:
    assert forks.record(PAYS) == ""
    told = []
    for _ in range(2):
        report = forks.fork("look#1", "--result", "look#1=2", "--allow-write", "pay")
        told += [(report["run"], each["why"]) for each in report["answers"] if each["name"] == "pay"]
    (first, _), (_, why) = told
    assert why.startswith(f"it was made as event 1 of run {tail(first)}, and failed there"), why
    assert f"`reenact resume {tail(first)} --settle retry` makes it again" in why


def test_a_write_that_failed_in_an_earlier_fork_is_made_again_where_the_user_says_so(forks: Forks) -> None:
    forks.record(PAYS.replace('raise ValueError("no money")', 'open("made", "a").write("x"); raise ValueError("no")'))
    for settled in ([], [], ["--settle", "retry"]):
        forks.fork("look#1", "--result", "look#1=2", "--allow-write", "pay", *settled)
    assert (forks.desk.folder / "made").read_text() == "xx", "by the first fork and by the last"


PUTS = """
import pathlib
import reenact

@reenact.tool(effect="read")
def choose():
    return "large"

@reenact.tool
def put(plan):
    pathlib.Path("plan").write_text(plan)

@reenact.tool(effect="read")
def get():
    return pathlib.Path("plan").read_text()

put(choose())
print(get())
"""


def test_what_is_read_after_a_write_of_an_earlier_fork_is_read_again(forks: Forks) -> None:
    """The recording does not hold that write, so its answers are from before it."""
    assert forks.record(PUTS) == "large\n"
    for made in ("live", "frozen"):
        report = forks.fork("choose#1", "--result", "choose#1=small", "--allow-write", "put")
        how = {each["name"]: each["how"] for each in report["answers"]}
        assert (how["put"], how["get"], report["printed"]) == (made, "live", "small\n")
        forks.replays_exactly()
    same = forks.fork("choose#1", "--result", "choose#1=large")
    assert {each["how"] for each in same["answers"]} == {"frozen"}, "a write of the recording makes no answer old"
