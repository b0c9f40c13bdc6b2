"""The pictures of the pages are drawn from their texts, and these name code that is there."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.once
ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "pictures.py"


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pictures", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_they_are_current() -> None:
    ran = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_each_stands_on_a_page() -> None:
    pages = "".join(path.read_text() for path in (ROOT / "docs" / "explanation").glob("*.md"))
    drawn = sorted(path.name for path in (ROOT / "docs" / "explanation" / "pictures").glob("*.svg"))
    assert len(drawn) >= 3
    assert [name for name in drawn if f"(pictures/{name})" not in pages] == []


def test_a_name_that_is_gone_is_told(pictures: ModuleType) -> None:
    assert pictures.missing("A | B\n= `seams/gate.take_async` and `seams/gate.take_never`") == ["seams/gate.take_never"]


def test_a_column_that_is_not_there_is_refused(pictures: ModuleType) -> None:
    with pytest.raises(ValueError, match="no column"):
        pictures.draw("A | B\nA > C: words", "title")


def test_words_are_text(pictures: ModuleType) -> None:
    assert "&lt;b&gt;" in pictures.draw("A | B\nA > B: <b>", "title")
