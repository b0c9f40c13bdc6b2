"""Where no golden is in play the plugin is not there: nothing of the package is loaded, nothing is said."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.plugin.desk import Project

WATCHING = """
import sys

def pytest_sessionfinish():
    loaded = sorted(name for name in sys.modules if name.split(".")[0] == "reenact")
    print("loaded:", loaded)
"""
OTHERS = [
    part
    for name in (
        "anyio",
        "hypothesispytest",
        "inline_snapshot",
        "langsmith_plugin",
        "recording",
        "syrupy",
        "time_machine",
    )
    for part in ("-p", f"no:{name}")
]
"""Plugins of others, which pytest finds as it finds ours, and which take long to load."""


def test_a_session_without_goldens_loads_nothing_of_the_package_and_says_nothing(tmp_path: Path) -> None:
    desk = Project.new(tmp_path / "plain")
    desk.write("conftest.py", WATCHING)
    desk.write("tests/test_it.py", "def test_it():\n    pass\n")
    ended = desk.run(sys.executable, "-m", "pytest", "-s", "--strict-markers", *OTHERS)
    assert ended.counts == {"passed": 1} and "loaded: []\n" in ended.out, ended.out
    assert "reenact:" not in ended.out and "reenact-0" in ended.out  # pytest has found it by itself


def test_pytest_does_not_instrument_the_package(tmp_path: Path) -> None:
    """``-p reenact`` marks it, as finding an installed plugin does; 300 modules would be compiled anew."""
    desk = Project.new(tmp_path / "plain")
    loaders = "{type(m.__loader__).__name__ for n, m in sys.modules.items() if n.startswith('reenact.')}"
    desk.write("tests/test_it.py", f"import sys, reenact.errors\n\ndef test_it():\n    print({loaders})\n")
    ended = desk.pytest("-s")
    assert "{'SourceFileLoader'}" in ended.out, ended.out


def test_the_plugin_alone_imports_pytest_and_nothing_more(tmp_path: Path) -> None:
    text = "import sys, json, pytest; known = set(sys.modules); import _reenact_pytest; print(set(sys.modules) - known)"
    ended = Project.new(tmp_path / "plain").run(sys.executable, "-c", text)
    assert ended.out == "{'_reenact_pytest'}\n"


def test_collecting_a_thousand_goldens_opens_none_of_them(tmp_path: Path) -> None:
    desk = Project.new(tmp_path / "many")
    for number in range(1000):
        desk.write(f"tests/goldens/shop/n{number:03}.reenact", "this is no bundle, and nobody looks")
    desk.write("tests/test_it.py", "import pytest\n\n@pytest.mark.reenact('shop/*')\ndef test_it():\n    pass\n")
    desk.write("conftest.py", WATCHING)
    ended = desk.pytest("--collect-only", "-q")
    assert "reenact.testing.goldens.golden_dir" in ended.out and "reenact.recording" not in ended.out
    assert ended.out.count("tests/test_it.py::test_it[shop/n") == 1000 and "1000 tests collected" in ended.out
