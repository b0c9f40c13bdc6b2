"""The drift report says which goldens today's code has left behind, and why by category, from real requests."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from reenact.facts.reading import Reading
from reenact.facts.record import EvidenceNoted, Record, RunClosed, RunOpened
from reenact.facts.run import Run
from reenact.recording.run_evidence import PROCESS
from reenact.store.bundles import read_bundle, write_bundle
from reenact.testing import ProviderProcess
from reenact.testing.goldens.causes import Cause, requests, runs_on
from reenact.testing.goldens.drift import Drift, drift_of, drifts, in_order
from reenact.testing.goldens.golden_dir import open_golden_dir
from reenact.testing.goldens.golden_trace import ScriptedAnswer
from reenact.triage.scene import Scene

from .reviewed import Reviewed

AGENT = """
import json, os, urllib.request

MODEL = "gpt-4o-mini"
PROMPT = "You are the clerk of a shop. Answer politely, and in one sentence."
PARAMETERS = {"temperature": 0}
SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "search", "description": "Search.", "parameters": SCHEMA}}]

def ask(question):
    messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": question}]
    body = {"model": MODEL, "messages": messages, "tools": TOOLS, **PARAMETERS}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    url = os.environ["SHOP_URL"] + "/v1/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]

print(ask("Refunds?"))
"""
WORLD = """
from reenact.testing.provider import Rule, Script

SCRIPT = Script(rules=(Rule(say="We are closed."),))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Reviewed:
    """A question asked once, as three goldens: ``same``, ``stale`` without another answer, ``scripted`` with one."""
    folder = tmp_path_factory.mktemp("drifted")
    made = Reviewed(folder)
    made.write(AGENT)
    (folder / "world.py").write_text(WORLD, encoding="utf-8")
    with ProviderProcess(folder / "world.py") as world:
        made.environment |= {"SHOP_URL": world.url, "OPENAI_API_KEY": "sk-of-the-shop-1234567890"}
        made.run("record", "--", "python", "agent.py")
    del made.environment["OPENAI_API_KEY"]
    sorry = ScriptedAnswer("model", {"say": "Sorry, we are closed."})
    made.keep("same")
    made.keep("stale", "'Sorry' in answer")
    made.keep("scripted", "'Sorry' in answer", answers=(sorry,))
    return made


@pytest.fixture(autouse=True)
def _as_it_was(project: Reviewed, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(project.folder)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    yield
    project.write(AGENT)


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({"in one sentence": "at length"}, {"prompt": '"…litely, and in one sentence." -> "…litely, and at length."'}),
        ({"gpt-4o-mini": "gpt-5"}, {"model": "gpt-4o-mini -> gpt-5"}),
        (
            {'"temperature": 0': '"temperature": 1, "top_p": 0.5'},
            {"parameters": "temperature: 0 -> 1; top_p: - -> 0.5"},
        ),
        (
            {'"query": {"type": "string"}': '"text": {"type": "string"}'},
            {"tool schema": 'search: schema.properties.query {"type": "string"} -> -'},
        ),
        ({"Refunds?": "Where is it?"}, {"messages": 'message 0.text: "Refunds?" -> "Where is it?"'}),
        (
            {"gpt-4o-mini": "gpt-5", "Answer politely": "Answer"},
            {"model": "gpt-4o-mini -> gpt-5", "prompt": '"…shop. Answer politely, and in'},
        ),
    ],
    ids=["prompt", "model", "parameters", "tool schema", "messages", "two"],
)
def test_a_stale_golden_says_which_call_and_why(
    project: Reviewed, changes: dict[str, str], causes: dict[str, str]
) -> None:
    text = AGENT
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    project.write(text)
    found = drift_of(project.golden_dir, "stale")
    assert (found.standing, found.exit_code) == ("stale", 3)
    assert found.call.startswith("POST 127.0.0.1") and found.call.endswith("completions at agent.py:15"), found.call
    assert found.next_command == "reenact golden run stale --mode missing"
    told = {category: "; ".join(c.text for c in found.why if c.category == category) for category in causes}
    assert {each.category for each in found.why} == causes.keys()
    assert all(told[name].startswith(text) for name, text in causes.items()), told
    assert [each.category for each in found.since] == ["code"] and found.since[0].text.startswith("agent.py")


def test_the_command_tells_worst_first_with_the_next_command_and_the_contracts_exit_codes(project: Reviewed) -> None:
    fresh = project.run("golden", "drift", "same")
    assert fresh.stdout == "fresh    same\n" and "next: reenact golden ls" in fresh.stderr, fresh.stdout
    broken = project.golden_dir.path("broken")
    broken.write_bytes(project.golden_dir.path("same").read_bytes()[:-70])
    project.write(AGENT.replace("gpt-4o-mini", "gpt-5"))
    shown = project.run("golden", "drift", status=4)
    broken.unlink()
    heads = [line.split()[:2] for line in shown.stdout.splitlines() if not line.startswith(" ")]
    assert heads == [["broken", "broken"], ["stale", "same"], ["stale", "stale"], ["drifted", "scripted"]]
    assert "    model        gpt-4o-mini -> gpt-5; gpt-4o-mini is gone  (event 0)" in shown.stdout
    assert "    since: code     agent.py" in shown.stdout
    assert "next: reenact golden run broken" in shown.stderr
    told = [
        json.loads(line) for line in project.run("golden", "drift", "s[ct]*", "--json", status=3).stdout.splitlines()
    ]
    assert [(each["name"], each["exit_code"]) for each in told] == [("stale", 3), ("scripted", 1)]
    assert told[1]["next"] == "reenact golden run scripted --mode review"
    assert told[1]["why"][0] == {"category": "model", "text": "gpt-4o-mini -> gpt-5; gpt-4o-mini is gone", "event": 0}


def test_what_is_not_mended_fails_and_has_not_drifted(project: Reviewed) -> None:
    found = drift_of(project.golden_dir, "stale")
    assert (found.standing, found.why, found.since, found.exit_code) == ("unfixed", (), (), 0)
    assert "expected to contain 'Sorry'" in found.message
    told = project.run("golden", "drift", "stale")
    assert told.stdout.startswith("unfixed  stale\n") and "expected to contain 'Sorry'" in told.stdout, told.stdout
    project.run(*found.next_command.split()[1:])


def test_what_held_and_fails_now_is_a_failure_and_no_waiting_for_a_fix(project: Reviewed) -> None:
    project.run("golden", "add", "@", "--as", "held", "--expect", "'Sorry' in answer", "--holds", "stderr == ''")
    try:
        assert drift_of(project.golden_dir, "held").standing == "unfixed"
        project.write(AGENT + "\nimport sys; print('!', file=sys.stderr)\n")
        found = drift_of(project.golden_dir, "held")
    finally:
        project.run("golden", "rm", "held")
    assert (found.standing, found.exit_code) == ("failed", 1)


def test_a_golden_that_differs_without_asking_otherwise_has_drifted(project: Reviewed) -> None:
    project.write(AGENT.replace('print(ask("Refunds?"))', 'print("Dear customer:", ask("Refunds?"))'))
    (found,) = drifts(project.golden_dir, ["same"])
    assert (found.standing, found.why, found.exit_code) == ("drifted", (), 1)
    assert "stdout differs" in found.message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def main(:", "SyntaxError: invalid syntax at agent.py:2"),
        ("import nothing_there", "ModuleNotFoundError: No module named 'nothing_there' at agent.py:2"),
        ("raise ExceptionGroup('several', [ValueError('one\\nmore')])", "ValueError: one"),
    ],
    ids=["cannot be read", "cannot be imported", "raises"],
)
def test_what_ended_todays_code_is_said_first_with_its_line(project: Reviewed, text: str, line: str) -> None:
    project.write(f"\n{text}\n{AGENT}")
    ran = project.run("golden", "run", "same", "scripted", "--json", "--report", "out", status=1).stdout
    first = [json.loads(each)["message"].splitlines()[0] for each in ran.splitlines()]
    assert first == [f"today's code raised {line}"] * 2
    junit = ElementTree.parse(project.folder / "out" / "junit.xml").iter("failure")
    assert [each.attrib["message"] for each in junit] == first
    drifted = project.run("golden", "drift", "same", status=1).stdout.splitlines()
    assert drifted[1] == f"    today's code raised {line}"
    assert drifted[-3] == "    compared: what it asks with 1 recorded event, what it prints, and how it ends"


def test_a_golden_without_an_opinion_says_which_and_what_was_compared(project: Reviewed) -> None:
    project.keep("judged", "judge('it is polite', 'gpt-judge', 0.7)")
    try:
        told = project.run("golden", "drift", "judged", status=3).stdout
    finally:
        project.run("golden", "rm", "judged")
    assert "stale    judged" in told
    assert "it has not been asked about this answer" in told, told
    assert "    compared: what it asks with 1 recorded event, and the result with 1 expectation" in told


def test_other_packages_and_another_python_explain_and_are_no_drift(project: Reviewed, tmp_path: Path) -> None:
    """The recording of another environment is this one's, with what it says of its packages and Python altered."""
    shutil.copytree(project.folder, tmp_path / "clone", ignore=shutil.ignore_patterns(".reenact"))
    golden_dir = open_golden_dir(tmp_path / "clone")
    path = golden_dir.path("same")
    bundle = read_bundle(path)
    (packed,) = bundle.runs
    write_bundle(path, [replace(packed, records=tuple(map(_elsewhere, packed.records)))], bundle.golden)
    found = drift_of(golden_dir, "same")
    assert (found.standing, found.why, found.exit_code) == ("fresh", (), 0)
    told = {each.category: each.text for each in found.since}
    assert told.keys() == {"packages", "python"} and told["python"].startswith("3.9.1 -> 3.1")
    assert told["packages"].startswith("click 0.0.1 -> ") and told["packages"].endswith(", left-pad is gone")


def _elsewhere(record: Record) -> Record:
    """A record as another environment would have written it."""
    if isinstance(record, (RunOpened, RunClosed)):
        return replace(record, run=replace(record.run, environment={**record.run.environment, "python": "3.9.1"}))
    if isinstance(record, EvidenceNoted) and record.key == PROCESS:
        packages = [[name, "0.0.1" if name == "click" else version] for name, version in record.value["packages"]]
        return replace(record, value={**record.value, "packages": [*packages, ["left-pad", "1.0"]]})
    return record


# --- the categories by themselves ------------------------------------------------------------------------------------

TOOL = {"name": "search", "description": "Search.", "schema": {}}
READING = Reading("openai.chat", "openai", model_asked="gpt-4o", system="Be kind.", tools=(TOOL,), params={"seed": 1})


@pytest.mark.parametrize(
    ("other", "causes"),
    [
        ({}, []),
        ({"provider": "azure"}, [("model", "openai (openai.chat) -> azure (openai.chat)")]),
        ({"params": {"seed": 1, "fingerprint": "fp_1"}}, []),
        ({"params": {}}, [("parameters", "seed: 1 -> -")]),
        ({"tools": ()}, [("tool schema", "search is no longer offered")]),
        ({"tools": (TOOL, {**TOOL, "name": "buy"})}, [("tool schema", "buy is offered now")]),
        ({"tools": ({**TOOL, "description": "Find."},)}, [("tool schema", 'search: description "Search." -> "Find."')]),
        ({"system": ""}, [("prompt", '"Be kind." -> ""')]),
    ],
)
def test_two_requests_differ_by_category(other: dict[str, Any], causes: list[tuple[str, str]]) -> None:
    found = requests(READING, replace(READING, **other), 3)
    assert [(each.category, each.text) for each in found] == causes


def test_code_is_told_by_its_files_and_without_them_by_its_revision() -> None:
    then = _scene({"a.py": "1", "b.py": "1"}, "1" * 40)
    assert runs_on(then, _scene({"a.py": "1", "b.py": "1"}, "2" * 40)) == [], "another commit of the same files"
    (one,) = runs_on(then, _scene({"a.py": "2", "c.py": "1"}, "2" * 40))
    assert one == Cause("code", f"a.py, c.py (new) ({'1' * 12} -> {'2' * 12})")
    (one,) = runs_on(_scene({}, "1" * 40), _scene({}, "2" * 40))
    assert one == Cause("code", f"{'1' * 12} -> {'2' * 12}")
    assert runs_on(_scene({}, ""), _scene({"a.py": "2"}, "2" * 40)) == [], "what is not known is no difference"


def _scene(sources: dict[str, str], commit: str) -> Scene:
    return Scene(Run("x"), {}, {}, {"sources": sources}, {"commit": commit}, (), (), (), (), ())


def test_the_worst_comes_first() -> None:
    found = [Drift(name, "", standing) for name, standing in (("c", "fresh"), ("b", "drifted"), ("a", "drifted"))]  # type: ignore[arg-type]
    found += [Drift("d", "", "stale"), Drift("e", "", "refused"), Drift("f", "", "failed"), Drift("g", "", "broken")]
    found += [Drift("h", "", "unfixed")]
    assert [each.name for each in in_order(found)] == ["e", "g", "d", "f", "a", "b", "h", "c"]
    assert [each.exit_code for each in in_order(found)] == [5, 4, 3, 1, 1, 1, 0, 0]
