"""A test that leaves the working directory changed, or gone, changes nothing for the goldens of later tests."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from reenact.testing.expectations.expectation import expect
from reenact.testing.goldens.golden_writer import with_golden
from reenact.testing.goldens.opened_golden import open_golden
from tests.plugin.desk import Project
from tests.programs import read_program

LEAVES = read_program("plugin/folder_left_changed.py")


@pytest.mark.parametrize("more", ["", "os.rmdir(tmp_path)"], ids=["changed", "gone"])
def test_where_a_test_has_left_the_process_changes_no_golden(desk: Project, more: str) -> None:
    desk.edit("shop.py", "SEARCHES = 5", "SEARCHES = 1")
    desk.write("grading.py", "def fine(run):\n    return True\n")
    graded = desk.folder / "tests/goldens/graded.reenact"
    shutil.copy(desk.folder / "tests/goldens/refund-loop.reenact", graded)
    golden = replace(open_golden(graded).golden, name="graded", expect=(expect("grade('grading:fine')").to_json(),))
    with_golden(graded, golden)
    desk.write("tests/test_it.py", LEAVES.replace("os.chdir(tmp_path)\n", f"os.chdir(tmp_path)\n    {more}\n"))
    ended = desk.pytest("-q")
    assert ended.counts == {"passed": 4}, ended.out
