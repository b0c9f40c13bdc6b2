"""The suite has two parts, each test is in exactly one, and each name in the list of the long part is a test's."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.parts import LIST, names, split, within

ROOT = Path(__file__).resolve().parents[2]
LISTED = names(LIST.read_text(encoding="utf-8"))
WITHIN_FILES = [name for name in LISTED if "::" in name]
PLACES = sorted({name.partition("::")[0] for name in WITHIN_FILES})
ONE_OF_EACH = (next(name for name in LISTED if "::" not in name), "tests/project/test_parts.py")
MIXED = ("tests/grpc",)
pytestmark = pytest.mark.once


COLLECT = """
import json, os, sys
import pytest

class Collected:
    def pytest_collection_finish(self, session):
        self.names = [item.nodeid for item in session.items]

channel = os.dup(1)
os.dup2(2, 1)
found = []
for part, *places in json.loads(sys.argv[1]):
    collected = Collected()
    words = ["--collect-only", "-q", "-p", "no:cacheprovider", f"--part={part}", *places]
    status = pytest.main(words, plugins=[collected])
    assert status == 0, (words, status)
    found.append(collected.names)
os.write(channel, json.dumps(found).encode())
"""


def collected(*wanted: tuple[str, ...]) -> list[set[str]]:
    """The tests that pytest finds: for each of ``wanted``, in one part (the first word) of some files (the others).

    One interpreter collects all of them: to load the files costs seconds."""
    command = [sys.executable, "-c", COLLECT, json.dumps(wanted)]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert listing.returncode == 0, listing.stderr[-4000:]
    return [set(names) for names in json.loads(listing.stdout)]


@pytest.fixture(scope="module")
def found() -> dict[tuple[str, ...], set[str]]:
    """The tests in each part of the files that the tests below look at."""
    wanted = [
        ("all", *PLACES),
        *((part, *where) for where in (ONE_OF_EACH, MIXED) for part in ("all", "short", "long")),
    ]
    return dict(zip(wanted, collected(*wanted), strict=True))


def goal(name: str) -> str:
    """The commands of one goal of the Makefile."""
    found = re.search(rf"^{name}:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert found, f"the Makefile has no goal {name}"
    return found.group(1)


def test_each_name_in_the_list_is_a_tests(found: dict[tuple[str, ...], set[str]]) -> None:
    files = {name.partition("::")[0] for name in LISTED}
    assert not sorted(file for file in files if "def test_" not in (ROOT / file).read_text(encoding="utf-8"))
    nodes = found["all", *PLACES]
    assert not [name for name in WITHIN_FILES if not any(within(node, name) for node in nodes)]


def test_no_name_stands_below_another() -> None:
    assert len(set(LISTED)) == len(LISTED)
    assert not [(name, other) for name in LISTED for other in LISTED if name != other and within(name, other)]


def test_each_test_is_in_one_part(found: dict[tuple[str, ...], set[str]]) -> None:
    """Of a file that the list names, and of this one, which it does not."""
    listed, own = ONE_OF_EACH
    whole, short, long = (found[part, listed, own] for part in ("all", "short", "long"))
    assert short | long == whole
    assert not short & long
    assert {node.partition("::")[0] for node in long} == {listed}
    assert {node.partition("::")[0] for node in short} == {own}


def test_no_test_is_lost_where_files_of_the_other_part_are_not_loaded(found: dict[tuple[str, ...], set[str]]) -> None:
    """Of a folder that has files of each part, and one that is listed in part."""
    whole, short, long = (found[part, *MIXED] for part in ("all", "short", "long"))
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
