"""Cold cases are listed with what each lacks and how the next one is not cold; all other runs are not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import UTC

import pytest

from reenact.facts.kit import Bucket, Item, ItemState, Kit, Stops
from reenact.facts.run import Run
from reenact.interfaces.cli.charts import by_hour, curve
from reenact.interfaces.cli.cold_case_lines import tell_alike
from reenact.interfaces.cli.reasons import with_fixes
from reenact.store.back_ends import open_store
from reenact.store.sqlite_store import SqliteStore
from reenact.triage.cold_cases import ColdCase
from reenact.triage.cold_reasons import Reason, reasons
from reenact.triage.kit_of_run import kit_of
from reenact.triage.run_features import features_of
from tests.interop.spans import chat, text, tool
from tests.interop.test_traces import agent
from tests.kit.recorded import Workbench
from tests.programs import read_program

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY in the agent's environment"


def brought(desk: Workbench, name: str, *spans: object) -> str:
    (desk.folder / name).write_text(text(*spans))  # type: ignore[arg-type]
    desk.run("import", "otlp", name)
    return str(json.loads(desk.run("--json", "ls", "-n", "1").stdout)["run"])


def test_only_what_stops_the_walk_over_the_events_is_a_reason() -> None:
    items = (
        Item(Bucket.INPUT, "history", ItemState.MISSING, "no messages", capture=("keep them",), stops=Stops.EVENTS),
        Item(Bucket.INPUT, "entry", ItemState.MISSING, "no program", stops=Stops.CODE),
        Item(Bucket.INPUT, "user", ItemState.MISSING, "nobody says it"),
        Item(Bucket.EFFECTS, "payloads", ItemState.CAPTURED, "all there", stops=Stops.EVENTS),
    )
    (why,) = reasons(Kit("r", items))
    assert (why.item, why.about, why.capture) == ("history", "no messages", ("keep them",))
    assert reasons(Kit("r", items[1:])) == ()


def test_cold_cases_are_listed_with_their_reasons_and_the_fix_for_next_time(desk: Workbench) -> None:
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
    narrow = desk.run("ls", "--cold", environ={"COLUMNS": "70"}).stdout
    assert f"          next time: {CAPTURE}\n" in narrow, "what mends it stays whole, and can be copied"
    rows, alike = shown.stdout.split("\n\n")
    assert len([row for row in rows.splitlines() if not row.startswith("   ")]) == 2, "its head and one run"
    assert alike.startswith("1 cold case, alike in 1 group") and "1 run  history, model_calls  20" in alike
    command = shown.stderr.splitlines()[-1].removeprefix("next: reenact ")
    assert "cold case" in desk.run(*command.split()).stdout
    story = desk.run("show", cold).stdout
    assert "gpt-4o" in story and re.search(r"\(\d+(\.\d+)? m?s\)", story), "what the trace tells is shown: model, times"


def test_without_a_cold_case_the_list_says_so(desk: Workbench) -> None:
    brought(desk, "whole.json", agent(), chat(2, 1), tool(3, 1))
    shown = desk.run("ls", "--cold")
    assert shown.stdout == "" and "no cold cases" in shown.stderr


def test_cold_cases_are_no_graph(desk: Workbench) -> None:
    brought(desk, "whole.json", agent(), chat(2, 1))
    assert "--cold and --tree" in desk.run("ls", "--cold", "--tree", status=2).stderr


LIVE = read_program("kit/results_that_are_not_kept.py")
LACKING = {
    "connect": ("1 of 1 returned what cannot be stored", "let connect return data"),
    "fetch": ("1 of 1 are withheld", "a larger largest_value_mb in the settings"),
}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """Runs whose tools answered with what cannot be stored, and with what is too long, and healthy ones."""
    desk = Workbench(tmp_path_factory.mktemp("live"))
    desk.script(LIVE)
    environ = {**os.environ, "REENACT_STORE": str(desk.folder / ".reenact")}
    for name in ("fine", "within", "connect", "connect", "fetch"):
        subprocess.run([sys.executable, "agent.py", name], cwd=desk.folder, env=environ, check=True, timeout=60)
    return desk


def test_a_live_run_whose_answers_could_not_be_stored_is_cold_with_the_setting_or_line_that_mends_it(
    live: Workbench,
) -> None:
    lines = [json.loads(line) for line in live.run("--json", "ls", "--cold").stdout.splitlines()]
    assert len(lines) == 3, "what a replay answers as a whole misses nothing inside of it"
    for name, line in zip(("fetch", "connect", "connect"), lines, strict=True):
        (why,) = line["cold"]
        about, fix = LACKING[name]
        assert (
            why["item"] == "tool_calls"
            and why["about"].startswith(about)
            and why["capture"][0] == fix + (": JSON, dataclasses, pydantic models" if name == "connect" else "")
        )
        assert re.fullmatch("[0-9a-f]{32}", line["fingerprint"])


def test_what_a_store_has_when_a_run_closes_is_what_its_kit_says(live: Workbench) -> None:
    with open_store(str(live.folder / ".reenact")) as store:
        assert isinstance(store, SqliteStore)
        rows = list(store.features().all())
        assert len(rows) == 5
        for row in rows:
            run = store.run(row.id)
            assert row.features is not None and row.features.lacks is None
            assert row.features.cold == tuple(each.item for each in reasons(kit_of(store, run)))
            assert features_of(store.open(run)) == row.features


def test_every_visible_detail_of_a_cold_run_is_kept(live: Workbench) -> None:
    shown = live.run("show", "@").stdout
    assert "tool   fetch(page=20000) -> <20.0 kB, withheld>  (" in shown
    event = json.loads(live.run("--json", "show", "@:fetch").stdout.splitlines()[0])
    assert event["ended_us"] >= event["issued_us"] > 0
    opaque = live.run("show", "@~1").stdout
    assert 'connect(host="db") -> "<opaque _thread.lock>"' in opaque


def test_the_like_of_each_is_counted_over_time(live: Workbench) -> None:
    shown = live.run("ls", "--cold").stdout
    head, *groups = shown[shown.index("\n\n") :].strip().splitlines()
    assert head == "3 cold cases, alike in 1 group"
    (line,) = groups
    name, count, *_ = line.split()
    assert (count, "tool_calls" in line) == ("3", True)
    assert "3 runs" in live.run("triage", "--group", name).stdout, "a group has one name everywhere"


def test_cold_and_missing_choose_runs(live: Workbench) -> None:
    def chosen(where: str) -> int:
        return len(live.run("--json", "ls", "--where", where).stdout.splitlines())

    assert (chosen("cold"), chosen("not cold"), chosen("cold and 'tool_calls' in missing")) == (3, 2, 3)
    assert chosen("'tool_calls' in missing") == 4, "one of them inside a call that is answered as a whole"
    assert chosen("cold and 'history' in missing") == 0
    assert chosen("len(missing) >= 0") == 5
    refused = live.run("golden", "add", "@", "--as", "x", "--expect", "not cold", status=2)
    assert "unknown name cold" in refused.stderr


def test_the_curve_of_the_like_has_a_bar_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    day = 86_400_000_000
    why = (Reason("history", "no messages", ()),)
    runs = [Run(id=f"r{n}", started_us=n * day, origin_us=0) for n in (9, 9, 9, 7, 1)]
    cases = [ColdCase(run, why, "ab" * 16) for run in runs]
    cases.append(ColdCase(runs[0], why, "cd" * 16))
    _, head, first, second = tell_alike(cases)
    assert "6 cold cases, alike in 2 groups" in head
    assert first.startswith("abababab  5 runs  history  1970-01-02 00:00 to 1970-01-10 00:00  by day ")
    assert len(first.split("by day ")[1]) == 9 and second.startswith("cdcdcdcd  1 run  history  1970-01-10 00:00")


def test_the_curve_of_two_days_has_a_bar_an_hour() -> None:
    hour = 3_600_000_000
    moments = [hour * n + 7 for n in (100, 100, 100, 103)]
    assert by_hour(moments) == [(100 * hour, 3), (101 * hour, 0), (102 * hour, 0), (103 * hour, 1)]
    assert re.fullmatch(r"by hour \S  \S", curve(moments, UTC))
    assert curve(moments[:3], UTC) == "", "one bar is no curve"
    assert by_hour([hour, 49 * hour]) == [] and re.fullmatch(r"by day \S \S", curve([hour, 49 * hour], UTC))


def test_what_mends_several_reasons_is_said_once_behind_the_last_of_them() -> None:
    one, two, other = (
        Reason(item, "absent", capture) for item, capture in (("a", ("x",)), ("b", ("x", "y")), ("c", ()))
    )
    assert [(each.item, fix) for each, fix in with_fixes([one, two, other, one])] == [
        ("a", ""), ("b", "x"), ("c", ""), ("a", "x"),
    ]  # fmt: skip
    assert list(with_fixes([])) == []
