"""The suite has two parts, each test is in exactly one, and each name in the list of the long part is a test's."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.parts import LIST, names, split, within

ROOT = Path(__file__).resolve().parents[2]
LISTED = names(LIST.read_text(encoding="utf-8"))
OWN = "tests/project/test_parts.py"
pytestmark = pytest.mark.once


@cache
def collected(part: str, *places: str) -> tuple[str, ...]:
    """The tests that pytest finds in one part of some files."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", f"--part={part}"]
    listing = subprocess.run([*command, *places], cwd=ROOT, capture_output=True, text=True, check=False)
    assert listing.returncode == 0, listing.stdout[-2000:] + listing.stderr[-2000:]
    return tuple(line for line in listing.stdout.splitlines() if line.startswith("tests/") and "::" in line)


def goal(name: str) -> str:
    """The commands of one goal of the Makefile."""
    found = re.search(rf"^{name}:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert found, f"the Makefile has no goal {name}"
    return found.group(1)


def test_each_name_in_the_list_is_a_tests() -> None:
    files = {name.partition("::")[0] for name in LISTED}
    assert not sorted(file for file in files if "def test_" not in (ROOT / file).read_text(encoding="utf-8"))
    within_files = [name for name in LISTED if "::" in name]
    places = sorted({name.partition("::")[0] for name in within_files})
    found = collected("all", *places) if places else ()
    assert not [name for name in within_files if not any(within(node, name) for node in found)]


def test_no_name_stands_below_another() -> None:
    assert len(set(LISTED)) == len(LISTED)
    assert not [(name, other) for name in LISTED for other in LISTED if name != other and within(name, other)]


def test_each_test_is_in_one_part() -> None:
    """Of a file that the list names, and of this one, which it does not."""
    listed = next(name for name in LISTED if "::" not in name)
    whole, short, long = (set(collected(part, listed, OWN)) for part in ("all", "short", "long"))
    assert short | long == whole
    assert not short & long
    assert {node.partition("::")[0] for node in long} == {listed}
    assert {node.partition("::")[0] for node in short} == {OWN}


def test_no_test_is_lost_where_files_of_the_other_part_are_not_loaded() -> None:
    """Of a folder that has files of each part, and one that is listed in part."""
    whole, short, long = (set(collected(part, "tests/grpc")) for part in ("all", "short", "long"))
    assert short | long == whole
    assert not short & long
    files = [{node.partition("::")[0] for node in nodes} for nodes in (short, long)]
    assert files[0] - files[1] and files[1] - files[0] and files[0] & files[1]


@pytest.mark.parametrize(
    ("name", "long"),
    [
        ("tests/a/test_b.py", ["tests/a/test_b.py::test_c", "tests/a/test_b.py::test_c[1]"]),
        ("tests/a/test_b.py::test_c", ["tests/a/test_b.py::test_c", "tests/a/test_b.py::test_c[1]"]),
        ("tests/a/test_b.py::test_c[1]", ["tests/a/test_b.py::test_c[1]"]),
        ("tests/a/test_b.py::test_", []),
        ("tests/a/test_", []),
    ],
)
def test_a_name_stands_for_what_lies_below_it(name: str, long: list[str]) -> None:
    nodes = ["tests/a/test_b.py::test_c", "tests/a/test_b.py::test_c[1]", "tests/a/test_bb.py::test_c"]
    assert split(((node, node) for node in nodes), [name]) == ([node for node in nodes if node not in long], long)


def test_the_checks_run_both_parts_and_the_other_pythons() -> None:
    """What ``make test`` leaves out has a goal of its own, and what has to pass before a change lands calls each."""
    assert "--part=short" in goal("test")
    assert "--part=long" in goal("test-long")
    assert "across.py --" in goal("across")
    checks = re.findall(r"^check .* make --no-print-directory (\S+)", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert checks == ["environments", "test", "test-long", "across"]
