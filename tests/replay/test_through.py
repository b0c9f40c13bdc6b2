"""A replay through a tool runs the tool's own code against the frozen world: at any hour, in any zone, fixed or not."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from reenact.testing import ProviderProcess
from reenact.testing.provider import Route, Script, ScriptedProvider
from tests.kit.recorded import EXAMPLES, Workbench

ZONES = ("Pacific/Auckland", "America/Los_Angeles")


@pytest.fixture
def desk(tmp_path: Path) -> Workbench:
    folder = tmp_path / "project"
    folder.mkdir()
    return Workbench(folder)


def quotes(desk: Workbench, day: int) -> Any:
    """The quoting agent, recorded on a day of its world."""
    desk.copy("price_at_three")
    with ProviderProcess(EXAMPLES / "price_at_three" / "world.py", day=day) as world:
        environ = {**world.environment(), "PRICES_URL": world.url, "TZ": "Europe/Berlin"}
        return desk.record("price_at_three/agent.py", environ=environ)


def test_the_afternoons_half_json_is_parsed_again_and_the_fixed_parser_passes(desk: Workbench) -> None:
    then = quotes(desk, day=1)
    assert then.stdout.startswith("A-100 costs 12.00 EUR (quoted at ") and "CE" in then.stdout

    for zone in ZONES:  # the provider has ended: whoever answers now, it is the recording
        again = desk.run("replay", "@", "--through", "price_of", environ={"TZ": zone})
        assert again.stdout == then.stdout and "verdict: same (exact)" in again.stderr
        assert "matched 3 of 3" in again.stderr and "through: price_of" in again.stderr

    fixed = {"PRICE_AGENT_VERSION": "v2_checked"}
    stopped = desk.run("replay", "@", "--through", "price_of", status=1, environ=fixed)
    assert "tool price_of ended differently" in stopped.stderr and 'recorded  {"value": 12.0}' in stopped.stderr
    assert "PriceUnavailable" in stopped.stderr and "the pricing service answered 429" in stopped.stderr
    assert stopped.stdout == ""

    observed = desk.run("replay", "@", "--through", "price_of", "--on-divergence", "observe", status=1, environ=fixed)
    assert observed.stdout.startswith("I cannot tell the price of A-100 right now")
    assert "matched 3 of 3" in observed.stderr and "live calls made: 0" in observed.stderr

    plain = desk.run("replay", "@", "--through", "half", status=2).stderr
    assert "it has called price_of; other functions run anyway" in plain

    outside = desk.run("replay", "@", environ=fixed)  # the tool's answer is frozen whole: its code does not run
    assert outside.stdout == then.stdout and "matched 2 of 3, 1 inside frozen calls " in outside.stderr


def test_the_mornings_answer_passes_both_parsers(desk: Workbench) -> None:
    then = quotes(desk, day=2)
    assert then.stdout.startswith("A-100 costs 1249.00 EUR")
    for version in ("v1", "v2_checked"):
        again = desk.run("replay", "@", "--through", "price_of", environ={"PRICE_AGENT_VERSION": version})
        assert again.stdout == then.stdout and "verdict: same (exact)" in again.stderr


def test_due_today_is_judged_again_at_the_recorded_moment(desk: Workbench) -> None:
    desk.copy("due_today")
    with ProviderProcess(EXAMPLES / "due_today" / "world.py") as world:
        then = desk.record("due_today/at_midnight.py", environ={"TASKS_URL": world.url})
    assert then.stdout == "Tasks on Friday, 20 November 2026:\n- invoice: 1 days overdue\n"
    for zone in ZONES:
        again = desk.run("replay", "@", "--through", "when_due", environ={"TZ": zone})
        assert again.stdout == then.stdout and "verdict: same (exact)" in again.stderr
    observed = desk.run(
        *("replay", "@", "--through", "when_due", "--on-divergence", "observe"),
        status=1,
        environ={"DUE_AGENT_VERSION": "v2_one_clock"},
    )
    assert observed.stdout == "Tasks on Friday, 20 November 2026:\n- invoice: due today\n"
    assert "recorded  1 days overdue" in observed.stderr and "now       due today" in observed.stderr


LOCAL = "import time\nprint(time.strftime('%H %Z', time.localtime(0)))\n"


@pytest.mark.parametrize(
    ("recorded", "now"), [("Europe/Berlin", "Asia/Tokyo"), ("Asia/Tokyo", None), (None, "Asia/Tokyo")]
)
def test_a_replay_lives_in_the_recorded_time_zone(
    desk: Workbench, monkeypatch: pytest.MonkeyPatch, recorded: str | None, now: str | None
) -> None:
    desk.script(LOCAL)
    monkeypatch.delenv("TZ", raising=False)
    then = desk.record("agent.py", environ={"TZ": recorded} if recorded else {})
    again = desk.run("replay", "@", environ={"TZ": now} if now else {})
    assert again.stdout == then.stdout and "verdict: same (exact)" in again.stderr


ASKS_ON = """
import os, urllib.request
import reenact

URL = "URL"

@reenact.tool(effect="read")
def look(order):
    found = urllib.request.urlopen(f"{URL}/orders/{order}").read().decode()
    for further in os.environ.get("ASKS", "").split():
        found += urllib.request.urlopen(f"{URL}/{further}").read().decode()
    return found

print(look(7))
"""


def test_a_tool_that_asks_something_new_leads_to_the_replay_that_lets_it(desk: Workbench) -> None:
    script = Script(routes=(Route("/orders/7", "a lamp"), Route("/stock", " in stock")))
    with ScriptedProvider(script) as world:
        desk.script(ASKS_ON.replace('"URL"', repr(world.url)))
        desk.record("agent.py")
        now = {"ASKS": "stock"}
        for how in ((), ("--on-divergence", "observe")):
            said = desk.run("replay", "@", "--through", "look", *how, status=1, environ=now).stderr
            assert "/stock was not made in the recording" in said and "the recorded tool look was not made" not in said
            assert ("stopped where the program waits for a call without a recorded answer" in said) is bool(how)
            _, _, line = said.partition("  next: ")
            assert line.splitlines()[0].endswith(" --live look"), said
        live = desk.run(*line.split()[1 : line.split().index("look") + 1], environ=now)
    assert live.stdout == '"a lamp"" in stock"\n', live


LATE = """
import os
import httpx
import reenact

@reenact.tool(effect="read")
def ask():
    return httpx.get(os.environ["WORLD"], timeout=0.2).text

@reenact.tool(effect="read")
def parse(text):
    from xml.etree import ElementTree
    return ElementTree.fromstring(text).tag

if "parse" in os.environ["CASE"]:
    parse("<")
ask()
"""


def test_an_error_of_what_only_the_tools_body_has_loaded_is_raised_again_or_leads_through_the_tool(
    desk: Workbench,
) -> None:
    desk.script(LATE)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        environ = {"WORLD": f"http://127.0.0.1:{silent.getsockname()[1]}/", "CASE": "ask"}
        desk.record("agent.py", status=1, environ=environ)
    assert "verdict: same (exact)" in desk.run("replay", "@").stderr, "httpx is loaded, and its transport is not"
    desk.record("agent.py", status=1, environ=environ | {"CASE": "parse"})
    refused = desk.run("replay", "@", status=3).stderr
    assert "a recorded xml.etree.ElementTree.ParseError cannot be raised again" in refused
    following = next(line for line in refused.splitlines() if "next: " in line).partition("next: reenact ")[2]
    assert following.endswith(" --through parse")
    assert "verdict: same (exact)" in desk.run(*following.split()).stderr
