"""Cold cases are listed with what each lacks and how the next one is not cold; all other runs are not."""

from __future__ import annotations

import json

from reenact.facts.kit import Bucket, Item, Kit, Standing, Stops
from reenact.triage.cold import reasons
from tests.interop.spans import chat, text, tool
from tests.interop.test_traces import agent
from tests.kit.recorded import Desk

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY in the agent's environment"


def brought(desk: Desk, name: str, *spans: object) -> str:
    (desk.folder / name).write_text(text(*spans))  # type: ignore[arg-type]
    desk.run("import", "otlp", name)
    return str(json.loads(desk.run("--json", "ls", "-n", "1").stdout)["run"])


def test_only_what_stops_the_walk_over_the_events_is_a_reason() -> None:
    items = (
        Item(Bucket.INPUT, "history", Standing.MISSING, "no messages", capture=("keep them",), stops=Stops.EVENTS),
        Item(Bucket.INPUT, "entry", Standing.MISSING, "no program", stops=Stops.CODE),
        Item(Bucket.INPUT, "user", Standing.MISSING, "nobody says it"),
        Item(Bucket.EFFECTS, "payloads", Standing.CAPTURED, "all there", stops=Stops.EVENTS),
    )
    (why,) = reasons(Kit("r", items))
    assert (why.item, why.about, why.capture) == ("history", "no messages", ("keep them",))
    assert reasons(Kit("r", items[1:])) == ()


def test_cold_cases_are_listed_with_their_reasons_and_the_fix_for_next_time(desk: Desk) -> None:
    bare = {"gen_ai.input.messages": None, "gen_ai.output.messages": None}
    cold = brought(desk, "bare.json", agent(), chat(2, 1, says=bare))
    brought(desk, "whole.json", agent(), chat(2, 1), tool(3, 1))
    assert len(desk.run("--json", "ls").stdout.splitlines()) == 2

    (line,) = map(json.loads, desk.run("--json", "ls", "--cold").stdout.splitlines())
    assert line["run"] == cold
    said = {each["item"]: each for each in line["cold"]}
    assert said["history"]["capture"][0] == CAPTURE

    shown = desk.run("ls", "--cold")
    assert "history: " in shown.stdout and "next time: OTEL_INSTRUMENTATION_GENAI" in shown.stdout
    assert len([row for row in shown.stdout.splitlines() if not row.startswith("   ")]) == 2, "its head and one run"
    command = shown.stderr.splitlines()[-1].removeprefix("next: reenact ")
    assert "cold case" in desk.run(*command.split()).stdout


def test_without_a_cold_case_the_list_says_so(desk: Desk) -> None:
    brought(desk, "whole.json", agent(), chat(2, 1), tool(3, 1))
    shown = desk.run("ls", "--cold")
    assert shown.stdout == "" and "no cold cases" in shown.stderr


def test_cold_cases_are_no_graph(desk: Desk) -> None:
    brought(desk, "whole.json", agent(), chat(2, 1))
    assert "--cold and --tree" in desk.run("ls", "--cold", "--tree", status=2).stderr
