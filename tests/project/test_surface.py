"""The public door is exactly the contract's list, light to open, and every name works after all else is loaded."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import reenact

FACADE = Path(reenact.__file__)

CONTRACT = {
    "record": "(fn=None, *, agent=None, user=None, tenant=None, session=None, tags=None, store=None, policy=None)",
    "replay": "(run, *, mode='code', entry=None, store=None, policy=None, through=(), live=(), order='exact')",
    "fork": "(run, at, *, change=None, live='reads', allow_writes=(), entry=None, store=None, dry_run=False)",
    "resume": "(run, *, entry=None, store=None, settle='', result=None)",
    "compare": "(left, right, *, store=None)",
    "step": "(name, state=None, *, grows=())",
    "tool": "(fn=None, *, effect='write', name=None, key=None, state=())",
    "model": "(fn=None, *, name=None)",
    "retriever": "(fn=None, *, embedding_model=None)",
    "note": "(key, value)",
    "current_run": "()",
    "open_store": "(url=None)",
}
TYPES = [
    *("Store", "Run", "Event", "Checkpoint", "Comparison", "Change", "Effect", "Policy"),
    *("ReenactError", "Divergence"),
]


def test_the_list_is_the_contracts_and_no_longer() -> None:
    assert sorted(reenact.__all__) == sorted([*CONTRACT, *TYPES])
    assert [name for name in dir(reenact) if not name.startswith("_")] == sorted(reenact.__all__)


def test_type_checkers_see_the_same_list_from_the_same_homes() -> None:
    tree = ast.parse(FACADE.read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == {name: f"reenact.{home}" for name, home in reenact._HOMES.items()}
    assert sorted(seen) == sorted(reenact.__all__)


@pytest.mark.parametrize("name", CONTRACT)
def test_each_function_takes_what_the_contract_says(name: str) -> None:
    found = inspect.signature(getattr(reenact, name))
    plain = [
        parameter.replace(
            annotation=inspect.Parameter.empty,
            default=parameter.default.value if hasattr(parameter.default, "value") else parameter.default,
        )
        for parameter in found.parameters.values()
    ]
    assert str(inspect.Signature(plain)) == CONTRACT[name]


@pytest.mark.parametrize("name", TYPES)
def test_each_type_is_a_class(name: str) -> None:
    assert inspect.isclass(getattr(reenact, name))


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Replay'"):
        reenact.Replay


def run_python(code: str) -> Any:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_importing_the_package_loads_one_module_of_ours_and_no_dependency() -> None:
    loaded = run_python(
        "import json, sys; before = set(sys.modules); import reenact\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    ours = [name for name in loaded if name.split(".")[0] == "reenact"]
    foreign = [name for name in loaded if name.split(".")[0] not in {*sys.stdlib_module_names, "reenact"}]
    assert ours == ["reenact"]
    assert foreign == []


LIGHT = {
    "reenact.interfaces.cli.commands.record": (
        *("asyncio", "ssl", "socket", "logging", "concurrent", "tomllib", "difflib", "zipfile", "importlib.metadata"),
        *("wrapt", "time_machine", "reenact.replaying", "reenact.testing", "reenact.interop", "reenact.seams.http"),
        *("reenact.seams.strands", "reenact.seams.databases", "reenact.seams.lanes", "reenact.seams.wiring"),
        *(
            "reenact.store.bundles",
            "reenact.store.memory_store",
            "reenact.timetravel.bundling",
            "reenact.timetravel.story",
        ),
        *("reenact.timetravel.cost", "reenact.facts.expressions", "reenact.interfaces.cli.commands.ls"),
    ),
    "reenact.interfaces.cli.commands.replay": (
        *("asyncio", "ssl", "logging", "concurrent", "difflib", "importlib.metadata", "email", "wrapt", "time_machine"),
        *("reenact.replaying.replay_session", "reenact.seams.http", "reenact.seams.strands", "reenact.seams.lanes"),
        *("reenact.timetravel.forks", "reenact.recording.recording_session", "reenact.privacy.redactor"),
    ),
    "reenact.recording.recording_process": (
        *("click", "wrapt", "time_machine", "importlib.metadata", "importlib.resources", "zipfile", "difflib"),
        *("tomllib", "http", "email", "xml", "unittest", "multiprocessing", "argparse", "ctypes"),
        *("reenact.replaying", "reenact.testing", "reenact.interop", "reenact.interfaces", "reenact.timetravel"),
        *("reenact.triage", "reenact.store.bundles", "reenact.store.memory_store"),
    ),
}
"""What a recording and a replay may not load: each costs a short program more than it is recorded for."""


@pytest.mark.parametrize("module", LIGHT)
def test_a_recording_and_a_replay_load_no_more_than_it_uses(module: str) -> None:
    """The command stands beside the program that it runs, and takes the processor from it where there is little."""
    loaded = run_python(
        f"import json, sys; before = set(sys.modules); import {module}\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    heavy = [name for name in loaded if any(f"{name}.".startswith(f"{each}.") for each in LIGHT[module])]
    assert heavy == []


def test_after_importing_every_submodule_every_public_name_still_is_what_it_was() -> None:
    code = """
import importlib, json, pkgutil, sys
import reenact
before = {name: id(getattr(reenact, name)) for name in reenact.__all__}
for found in pkgutil.walk_packages(reenact.__path__, "reenact."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
after = {name: id(getattr(reenact, name)) for name in reenact.__all__}
sdks = {"openai", "anthropic", "httpx", "httpx2", "requests", "urllib3", "aiohttp", "langchain_core", "pytest"}
modules = len([name for name in sys.modules if name.startswith("reenact.")])
print(json.dumps({"same": before == after, "sdks": sorted(sdks & set(sys.modules)), "modules": modules}))
"""
    answer = run_python(code)
    assert answer["same"]
    assert answer["sdks"] == [], "loading our modules must not load what they patch"
    assert answer["modules"] > 20


def test_after_all_that_every_name_does_its_work(tmp_path: Path) -> None:
    """One short recording that calls every function of the list, and then looks at what it left."""
    store = reenact.open_store(f"sqlite:///{tmp_path}/runs.db")

    @reenact.tool(effect="read")
    def weigh(thing: str) -> dict[str, int]:
        return {thing: len(thing)}

    @reenact.model(name="echo")
    def echo(prompt: str) -> str:
        return prompt.upper()

    @reenact.retriever(embedding_model="letters")
    def find(query: str) -> list[dict[str, object]]:
        return [{"id": "c1", "score": 0.5, "content": query}]

    with reenact.record(agent="surface@1", user="u", tags={"k": "v"}, store=store, policy=reenact.Policy()) as run:
        now = reenact.current_run()
        assert now is not None and now.id == run.id
        with reenact.step("look", state={"n": 1}):
            reenact.note("why", "because")
            assert (weigh("pear"), echo("hi"), find("q")[0]["id"]) == ({"pear": 4}, "HI", "c1")

    assert reenact.current_run() is None
    kept = store.run(run.id)
    assert isinstance(kept, reenact.Run) and kept.agent == "surface"
    events = list(store.events(kept))
    assert all(isinstance(event, reenact.Event) for event in events)
    assert {"step", "tool", "model", "retrieval"} <= {event.kind for event in events}
    weighed = next(event for event in events if event.name == "weigh")
    assert weighed.call.effect is reenact.Effect.READ
    assert isinstance(store.checkpoint(kept, weighed.number), reenact.Checkpoint)
    walked = reenact.replay(kept, mode="events", store=store)
    assert walked.live_calls == 0
    store.close()


def test_errors_are_of_one_family() -> None:
    assert issubclass(reenact.Divergence, reenact.ReenactError)
