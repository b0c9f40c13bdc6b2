"""A run that is not in the sample may keep its events alone: every command says truthfully what it can still do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import reenact
from reenact.facts.thinned_runs import why_thinned
from reenact.testing import ScriptedProvider
from reenact.testing.provider import Rule, Script

PROGRAM = """
import reenact

@reenact.tool(effect="read")
def look(city):
    return {"sky": "fog over " + city}

with reenact.step("plan", {"city": "Oslo"}):
    print(look("Oslo"))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(PROGRAM)
    (tmp_path / "reenact.toml").write_text('sample = 0\nunsampled = "events"\n')
    return tmp_path


def typed(folder: Path, *words: str, status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "reenact", *words], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_what_was_thinned_is_listed_shown_counted_and_not_replayed(folder: Path) -> None:
    said = typed(folder, "record", "--", sys.executable, "agent.py")
    assert "2 events" in said and "thinned: sample 0  -> reenact show" in said
    assert "agent.py" in typed(folder, "ls")
    shown = typed(folder, "show", "@")
    assert "look(<" in shown and "withheld" in shown and "thinned   sample 0" in shown and "reenact kit" in shown
    kit = typed(folder, "--json", "kit", "@")
    (item,) = [each for each in map(json.loads, kit.splitlines()) if each.get("item") == "payloads"]
    assert item["standing"] == "missing" and "thinned (sample 0)" in item["about"]
    assert item["capture"][0].startswith("a larger sample in the settings") and "record --tag" in item["capture"][1]
    needing = [
        "replay @",
        "replay @ --events",
        "fork @:1 --set city=X",
        "pack @ -o left.reenact",
        "golden add @ --as g",
    ]
    for words in map(str.split, needing):
        refused = typed(folder, *words, status=3)
        assert "was thinned: its events are kept" in refused and "next: reenact show" in refused
    assert "is sound" in typed(folder, "fsck")
    told = json.loads(typed(folder, "--json", "stats").splitlines()[0])
    assert (told["runs"], told["thinned"]) == (1, 1)
    assert "the same" in typed(folder, "diff", "@", "@")


def test_a_day_is_brought_within_its_limit_and_a_failure_stays(folder: Path) -> None:
    (folder / "reenact.toml").write_text("gc = false\nday_mb = 0.000001\n")
    (folder / "fails.py").write_text(PROGRAM + "raise SystemExit(2)\n")
    typed(folder, "record", "--", sys.executable, "fails.py", status=2)
    typed(folder, "record", "--", sys.executable, "agent.py")
    assert "1 run that ended well would be thinned to their events" in typed(folder, "gc", "--dry-run")
    typed(folder, "replay", "@")
    assert "1 run that ended well were thinned to their events" in typed(folder, "gc")
    assert "thinned to" not in typed(folder, "gc")
    assert "next time: a larger day_mb in the settings" in typed(folder, "ls", "--cold")
    with reenact.open_store(str(folder / ".reenact")) as store:
        assert sorted((run.status.value, why_thinned(run)) for run in store.runs()) == [
            ("failed", ""),
            ("ok", "day_mb = 1e-06"),
        ]


MODEL = """
import openai, reenact, sys

@reenact.tool(effect="read")
def look(city):
    return "CANARY fog"

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="scripted-key", max_retries=0)
for stream in (False, True):
    said = client.chat.completions.create(model="m", messages=[dict(role="user", content="CANARY?")], stream=stream)
    print(list(said) if stream else said.choices[0].message.content, look("Oslo"))
"""


def test_nothing_that_a_model_said_is_left(folder: Path) -> None:
    (folder / "agent.py").write_text(MODEL)
    with ScriptedProvider(Script(rules=(Rule(say="CANARY " * 300),))) as provider:
        typed(folder, "record", "--", sys.executable, "agent.py", provider.url)
    for words in ("show @", "show @:0", "show @ --all", "diff @ @", "kit @", "stats --by agent", "fsck", "ls -k Oslo"):
        assert "CANARY" not in typed(folder, *words.split(), status=0)
    with reenact.open_store(str(folder / ".reenact")) as store:
        readings = [each.attributes["reading"] for each in store.events("@") if "reading" in each.attributes]
    assert len(readings) == 2 and readings[0]["usage"]["tokens_out"] > 0, "tokens are counted still"
    typed(folder, "gc")
    for path in (folder / ".reenact").iterdir():
        if path.is_file():
            # the sources of the program are evidence, and hold it once for each place
            assert b"CANARY CANARY" not in path.read_bytes(), path.name


def test_a_word_that_is_none_is_refused(folder: Path) -> None:
    with pytest.raises(reenact.ReenactError, match="says nothing of the runs that are left out"):
        reenact.Policy(unsampled="some")
    (folder / "reenact.toml").write_text('unsampled = "event"\n')
    assert "nothing, events" in typed(folder, "config", status=2)


def test_a_block_is_thinned_too(folder: Path) -> None:
    url = f"sqlite:///{folder}/runs.db"
    with reenact.record(store=url, policy=reenact.Policy(sample=0, unsampled="events")):
        reenact.note("evidence", "stays")
    with reenact.open_store(url) as store:
        (run,) = store.runs()
        assert why_thinned(run) == "sample 0" and store.open(run).notes(None)["evidence"] == "stays"
