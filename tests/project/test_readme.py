"""The README can be typed as it stands, in a fresh copy of the project with an empty home directory; the tour that it
begins with checks what it says."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.project.transcript import blocks, first_missing, type_out

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.once


def copy_of_the_project(target: Path) -> None:
    """What git would give to somebody who clones it now, and what is about to be added."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: what belongs to the project cannot be told from what lies beside it")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_readme_can_be_typed_as_it_stands(tmp_path: Path, reader: Callable[[bool], dict[str, str]]) -> None:
    clone = tmp_path / "a fresh copy"
    clone.mkdir()
    copy_of_the_project(clone)
    printed: dict[str, str] = {}
    assert type_out(ROOT / "README.md", clone, reader(False), printed=printed) >= 5
    tour = printed["make demo"]
    assert "NOT " not in tour and tour.count("ok  live calls made: 0") == 5, tour
    assert "#4421" in tour and "#5093" in tour


def test_what_is_left_out_says_why() -> None:
    skipped = [block for block in blocks(ROOT / "README.md") if block.skipped]
    assert all(len(block.skipped) > 10 for block in skipped)
    assert len(skipped) <= 1


def write(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```console\n$ echo one\ntwo\n```\n", "did not print: two"),
        ("```console\n$ exit 3\n```\n", "ended with 3"),
        ("```console\n$ true  # exit status 1\n```\n", "ended with 0"),
        ("```python\nraise SystemExit(1)\n```\n", "the example fails"),
    ],
)
def test_the_typing_itself_can_fail(
    tmp_path: Path, text: str, complaint: str, reader: Callable[[bool], dict[str, str]]
) -> None:
    with pytest.raises(AssertionError, match=complaint):
        type_out(write(tmp_path, text), tmp_path, reader(True))


def test_typing_keeps_the_place_and_the_environment(tmp_path: Path, reader: Callable[[bool], dict[str, str]]) -> None:
    text = "```sh title=say.sh\necho $WORD and more\n```\n```console\n$ export WORD=so\n$ sh say.sh\nso … more\n```\n"
    assert type_out(write(tmp_path, text), tmp_path, reader(True)) == 2


def test_expected_lines_are_looked_for_in_order() -> None:
    assert first_missing(["a", "c…"], ["a", "b", "cd"]) is None
    assert first_missing(["b", "a"], ["a", "b"]) == "a"
