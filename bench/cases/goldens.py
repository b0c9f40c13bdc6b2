"""What goldens cost a session of pytest: a test with one, a test with a cassette, collection, and the plugin alone."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from bench.absent import Absent
from bench.cases.start import ENVIRONMENT, TRIES
from bench.driver import step
from bench.traffic import url

CLOCKING = """
import json, os, time
import pytest

TOOK = {}

@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    begun, spent = time.perf_counter(), time.process_time()
    result = yield
    now, used = time.perf_counter(), time.process_time()
    TOOK.setdefault(item.originalname, []).append(((now - begun) * 1e3, (used - spent) * 1e3))
    return result

def pytest_sessionfinish():
    with open(os.environ["BENCH_TOOK"], "w") as file:
        json.dump(TOOK, file)
"""
"""A ``conftest.py`` that times each test from outside all other plugins."""

AGENT = """
import os

import httpx

import reenact

CLIENT = httpx.Client(trust_env=False)

@reenact.record(agent="bench")
def ask() -> str:
    return "v1 " + CLIENT.get(os.environ["BENCH_URL"]).text
"""
EMPTY = """
import pytest

@pytest.mark.parametrize("number", range({size}))
def test_empty(number):
    pass
"""
GOLDEN = """
import agent

@pytest.mark.reenact("ask/*")
def test_it():
    pass
"""
CASSETTE = """
import agent

@pytest.mark.vcr
@pytest.mark.parametrize("number", range({size}))
def test_it(number):
    assert agent.CLIENT.get({url!r}).status_code == 200
"""


def golden_test(size: int) -> Mapping[str, float]:
    """Milliseconds of a test over an empty one, and of processor time: its golden has one HTTP call, and a client that
    all tests share."""
    with tempfile.TemporaryDirectory() as place:
        env = _project(place, EMPTY.format(size=size) + GOLDEN)
        _add(place, env)
        kept = Path(place, "tests", "goldens", "ask.reenact")
        (kept.parent / "ask").mkdir()
        for number in range(size):
            shutil.copy(kept, kept.parent / "ask" / f"n{number:04}.reenact")
        return _over_empty(place, env, "reenact")


def cassette_test(size: int) -> Mapping[str, float]:
    """The same with pytest-recording and vcrpy: a cassette for each test."""
    if importlib.util.find_spec("pytest_recording") is None:
        raise Absent("pytest-recording is not installed")
    with tempfile.TemporaryDirectory() as place:
        env = _project(place, EMPTY.format(size=size) + CASSETTE.format(size=size, url=f"{url()}/orders/1"))
        step([*_pytest("recording"), "--record-mode=once"], env, place)
        return _over_empty(place, env, "recording")


def collect_goldens(size: int) -> Mapping[str, float]:
    """Milliseconds that a session takes to collect tests of so many goldens, over as many parametrised ones."""
    took = []
    marks = (f"@pytest.mark.parametrize('n', range({size}))\ndef test_it(n): pass", GOLDEN.replace("import agent", ""))
    for text in marks:
        with tempfile.TemporaryDirectory() as place:
            env = _project(place, "import pytest\n" + text)
            folder = Path(place, "tests", "goldens", "ask")
            folder.mkdir(parents=True)
            for number in range(size):
                (folder / f"n{number:05}.reenact").touch()
            begun = time.perf_counter()
            step([*_pytest("reenact"), "--collect-only"], env, place)
            took.append((time.perf_counter() - begun) * 1e3)
    return {"ms": took[1] - took[0], "all_ms": took[1]}


def import_plugin(size: int) -> Mapping[str, float]:
    """The plugin in a session without goldens: its import and whatever it imports, where pytest is loaded."""
    took = []
    for _ in range(TRIES):
        command = [sys.executable, "-X", "importtime", "-c", "import pytest; import _reenact_pytest"]
        said = subprocess.run(command, check=True, capture_output=True, text=True, env=ENVIRONMENT).stderr
        line = next(line for line in said.splitlines() if line.endswith(" _reenact_pytest"))
        took.append(int(line.split("|")[1]) / 1e3)
    return {"ms": median(took)}


def _project(place: str, tests: str) -> dict[str, str]:
    folder = Path(place)
    (folder / "tests").mkdir()
    (folder / "pyproject.toml").write_text("")
    (folder / "conftest.py").write_text(CLOCKING)
    (folder / "agent.py").write_text(AGENT)
    (folder / "tests" / "test_it.py").write_text(tests)
    kept = {name: value for name, value in os.environ.items() if name != "CI"}
    return {
        **kept,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": place,
        "BENCH_URL": f"{url()}/orders/1",
        "BENCH_TOOK": str(folder / "took.json"),
        "REENACT_STORE": f"sqlite:///{folder}/runs.db",
    }


def _add(place: str, env: dict[str, str]) -> None:
    """Record the first version, make a golden of it, and mend the agent."""
    step([sys.executable, "-c", "import agent; agent.ask()"], env, place)
    step(
        [sys.executable, "-m", "reenact", "golden", "add", "@", "--as", "ask", "--expect", "'v2' in answer"], env, place
    )
    Path(place, "agent.py").write_text(AGENT.replace("v1", "v2"))


def _over_empty(place: str, env: dict[str, str], plugin: str) -> Mapping[str, float]:
    step([*_pytest(plugin), "tests/test_it.py"], env, place)
    took = json.loads(Path(env["BENCH_TOOK"]).read_text())
    (ms, cpu_ms), (empty_ms, empty_cpu_ms) = (
        map(median, zip(*took[name], strict=True)) for name in ("test_it", "test_empty")
    )
    return {"ms": ms - empty_ms, "cpu_ms": cpu_ms - empty_cpu_ms, "empty_ms": empty_ms}


def _pytest(plugin: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", plugin]
