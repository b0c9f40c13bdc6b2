"""A run gathers packages, revision and sources cheaply, without a process of its own, and without a credential."""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.facts.conventions import conventional, is_traceparent
from reenact.facts.kit import ItemState
from reenact.recording import run_evidence
from reenact.recording.head_commit import read_commit
from reenact.recording.packages import packages
from reenact.recording.process_facts import traceparent
from reenact.recording.source_files import LARGEST, loaded_sources
from reenact.triage.kit_of_run import kit_of
from tests.kit.recorded import Workbench

SECRET = "sk-proj-Ki7tKi7tKi7tKi7tKi7tKi7tKi7tKi7tKi7t"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_the_names_of_folders_say_what_the_metadata_say() -> None:
    truth = {
        (one.metadata["Name"].lower().replace("_", "-").replace(".", "-"), one.version)
        for one in importlib.metadata.distributions()
    }
    assert truth and {tuple(pair) for pair in packages()} == truth


def test_a_folder_that_is_no_metadata_is_no_package(tmp_path: Path) -> None:
    for name in ("a_b-1.2.dist-info", "c.d-3-py3.11.egg-info", "e.egg-info", "f", "g.py", ".dist-info"):
        (tmp_path / name).mkdir()
    found = packages([str(tmp_path), str(tmp_path / "nowhere")])
    assert [pair for pair in found if pair[0]] == [["a-b", "1.2"], ["c-d", "3"], ["e", ""]]


def test_only_the_programs_own_sources_are_kept(tmp_path: Path) -> None:
    class Module:
        def __init__(self, path: Path, text: str) -> None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            self.__file__ = str(path)

    class Lazy:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError("a lazy module was woken up")

    modules: Any = {
        "own": Module(tmp_path / "own.py", "x = 1"),
        "package": Module(tmp_path / "site-packages" / "p.py", "x"),
        "large": Module(tmp_path / "large.py", "#" * (LARGEST + 1)),
        "elsewhere": Module(tmp_path.parent / f"{tmp_path.name}-elsewhere" / "e.py", "x"),
        "json": json,
        "reenact": reenact,
        "lazy": Lazy(),
        "none": None,
    }
    (tmp_path / "main.py").write_text("import own")
    found = loaded_sources([str(tmp_path)], str(tmp_path / "main.py"), modules)
    assert set(found.digests) == {"own.py", "large.py", "main.py"}
    assert dict(found.texts) == {"own.py": "x = 1", "main.py": "import own"}


def test_a_dirty_diff_and_untracked_sources_are_kept_without_their_credentials(repository: Workbench) -> None:
    desk = repository
    desk.script("import helper\nprint(helper.x)\n")
    desk.commit()
    desk.script(f"import helper\nprint(helper.x)  # changed\nKEY = '{SECRET}'\n")
    desk.script(f"x = 1\npassword = '{SECRET}1'\n", "helper.py")
    desk.record("agent.py", options="--tag a=b")
    items = desk.kit().items
    sources = items["sources"]
    assert sources["standing"] == "captured" and sources["value"]["untracked"] == ["helper.py"]
    assert "+print(helper.x)  # changed" in sources["value"]["diff"]
    assert sources["value"]["files"] == ["agent.py", "helper.py"] and "with changes" in items["commit"]["about"]
    kept = b"".join(path.read_bytes() for path in (desk.folder / ".reenact").rglob("*") if path.is_file())
    assert SECRET.encode() not in kept
    said = desk.run("--json", "kit", "@").stdout
    assert SECRET not in said and "KEY = '" in said
    with reenact.open_store(str(desk.folder / ".reenact")) as store:
        process = store.open(store.run("@")).notes(None)[run_evidence.PROCESS]
    assert process["texts"]["helper.py"].startswith("x = 1\npassword = '") and SECRET not in str(process)


def test_without_git_the_sources_that_ran_are_kept_and_the_environment_names_the_commit(desk: Workbench) -> None:
    desk.script("print(1)\n")
    desk.record("agent.py", environ={"GITHUB_SHA": "c0ffee" * 6, "TRACEPARENT": TRACE})
    kit = desk.kit()
    assert kit.standing("commit") == "pinned" and kit.items["commit"]["value"] == "c0ffee" * 6
    assert kit.standing("sources") == "captured" and kit.items["sources"]["value"]["files"] == ["agent.py"]
    assert kit.items["traceparent"]["value"] == TRACE


def test_where_no_git_program_is_installed_the_commit_is_read_from_its_files(repository: Workbench) -> None:
    desk = repository
    desk.script("print(1)\n")
    desk.commit()
    desk.record("agent.py", environ={"PATH": str(desk.folder)})
    kit = desk.kit()
    head = (desk.folder / ".git" / "refs" / "heads" / "trunk").read_text().strip()
    assert kit.standing("commit") == "captured" and kit.items["commit"]["value"] == head
    worktree = ["git", "-C", str(desk.folder), "worktree", "add", "-q", "-b", "side", str(desk.folder / "side")]
    subprocess.run(worktree, check=True, capture_output=True)
    assert {**read_commit(str(desk.folder / "side")), "root": ""} == {"commit": head, "branch": "side", "root": ""}
    packed = ["git", "-C", str(desk.folder), "pack-refs", "--all"]
    subprocess.run(packed, check=True, capture_output=True)
    desk.record("agent.py", environ={"PATH": str(desk.folder)})
    assert desk.kit().items["commit"]["value"] == head


IN_PROCESS = """
import os, sys
import reenact
started = []
sys.addaudithook(lambda event, args: started.append(event) if event in ("subprocess.Popen", "os.fork") else None)

def answer(n):
    if n == 2:
        raise ValueError("no")
    return n

for n in range(4):
    try:
        with reenact.record(agent=f"run{n}", store=os.environ["REENACT_STORE"]):
            answer(n)
    except ValueError:
        pass
print(started)
"""


def test_runs_of_one_process_share_what_is_the_same_and_start_no_process(repository: Workbench) -> None:
    desk = repository
    desk.script(IN_PROCESS)
    desk.commit()
    url = str(desk.folder / ".reenact")
    done = subprocess.run(
        [sys.executable, "agent.py"],
        cwd=desk.folder,
        env={**os.environ, "REENACT_STORE": url},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "[]\n", done.stderr
    with reenact.open_store(url) as store:
        runs = {run.agent: run for run in store.runs()}
        notes = {name: store.open(run).notes(None) for name, run in runs.items()}
        held = {name: each[run_evidence.PROCESS].get("held_by") for name, each in notes.items()}
        assert held == {"run0": None, "run1": runs["run0"].id, "run2": None, "run3": runs["run0"].id}
        for run in runs.values():
            kit = kit_of(store, run)
            for name in ("commit", "sources", "packages"):
                item = kit.item(name)
                assert item is not None and item.standing is ItemState.CAPTURED, (run.agent, name)
        store.delete(runs["run0"])
        orphan = kit_of(store, runs["run3"]).item("sources")
        assert orphan is not None and orphan.standing is ItemState.PARTIAL and runs["run0"].id in orphan.about
        failed = kit_of(store, runs["run2"]).item("sources")
        assert failed is not None and failed.standing is ItemState.CAPTURED


def test_a_fault_in_it_costs_the_evidence_and_never_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("the disk is odd")

    monkeypatch.setattr(run_evidence, "_installed", broken)
    with reenact.open_store("memory:broken-evidence") as store:
        with reenact.record(store=store) as run:
            pass
        kept = store.run(run.id)
        assert kept.status == "ok" and "the disk is odd" in str(kept.degraded)
        item = kit_of(store, kept).item("packages")
        assert item is not None and item.standing is ItemState.MISSING


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing kills so suddenly here")
def test_a_process_that_is_killed_leaves_its_evidence(desk: Workbench) -> None:
    desk.script(
        "import os, signal, sqlite3, sys, time\n"
        "def written():\n"
        "    with sqlite3.connect(os.environ['REENACT_STORE'] + '/store.db') as store:\n"
        "        return store.execute('SELECT count(*) FROM note').fetchone()[0]\n"
        "end = time.monotonic() + 20\n"
        "while not written() and time.monotonic() < end:\n"
        "    time.sleep(0.02)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    desk.record("agent.py", status=None)
    kit = desk.kit()
    assert kit.standing("packages") == "captured" and kit.items["sources"]["value"]["files"] == ["agent.py"]
    assert kit.standing("end") == "partial"


def test_the_settings_say_what_is_required(desk: Workbench) -> None:
    (desk.folder / "reenact.toml").write_text('require = ["user_id", "ticket"]\n')
    desk.script(
        "import reenact\n@reenact.tool(effect='read')\ndef find(q):\n    return q\nfind('x')\n"
        "policy = reenact.Policy(require=('user_id',))\n"
        "with reenact.record(agent='inner', user='u_2', policy=policy):\n    find('u_2')\n"
    )
    desk.record("agent.py", options="--user u_1")
    outer, inner = desk.kit(), None
    assert outer.standing("user_id") == "missing" and outer.standing("ticket") == "missing"
    assert "tenant_id" not in outer.items
    with reenact.open_store(str(desk.folder / ".reenact")) as store:
        inner = next(iter(store.runs(agent="inner")))
    child = desk.kit(inner.id)
    assert child.standing("user_id") == "captured" and "ticket" not in child.items
    for name in ("packages", "python", "sources", "hash_seed", "order"):
        assert child.standing(name) == "captured", name


def test_conventions_take_the_first_that_is_set_and_no_credential() -> None:
    found = conventional(
        {
            "CI_COMMIT_SHA": "b",
            "GITHUB_SHA": "a",
            "AWS_REGION": "eu-1",
            "GITHUB_TOKEN": "t",
            "IMAGE_TAG": "x" * 9999,
            "OTEL_RESOURCE_ATTRIBUTES": "service.version=1.2,cloud.region=us-9,x",
        }
    )
    assert found == {
        "commit": {"value": "a", "variable": "GITHUB_SHA"},
        "region": {"value": "eu-1", "variable": "AWS_REGION"},
        "version": {"value": "1.2", "variable": "OTEL_RESOURCE_ATTRIBUTES"},
    }


def test_a_run_continues_the_span_that_is_current_when_it_begins() -> None:
    trace = pytest.importorskip("opentelemetry.trace")
    context = trace.SpanContext(int(TRACE[3:35], 16), int(TRACE[36:52], 16), True, trace.TraceFlags(1))
    assert traceparent({"TRACEPARENT": TRACE.replace("b7", "c7")}) == TRACE.replace("b7", "c7")
    with trace.use_span(trace.NonRecordingSpan(context)):
        assert traceparent({"TRACEPARENT": TRACE.replace("b7", "c7")}) == TRACE
        with reenact.open_store("memory:span") as store, reenact.record(store=store) as run:
            pass
    with reenact.open_store("memory:span") as store:
        assert store.run(run.id).environment["traceparent"] == TRACE
    assert traceparent({}) == "" and traceparent({"TRACEPARENT": "junk"}) == ""


@pytest.mark.parametrize(
    ("text", "holds"),
    [(TRACE, True), (TRACE.upper(), False), ("00-" + "0" * 32 + TRACE[35:], False), ("", False), (None, False)],
)
def test_a_traceparent_names_a_trace(text: Any, holds: bool) -> None:
    assert is_traceparent(text) is holds
