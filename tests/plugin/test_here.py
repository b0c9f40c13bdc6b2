"""The calling process is a shorter way to a verdict, never to another: what it cannot do as well it leaves alone."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import pytest

from reenact.errors import StoreError
from reenact.testing.goldens.golden_writer import with_golden
from reenact.testing.goldens.marked_test import Opener
from reenact.testing.goldens.opened_golden import open_golden
from tests.plugin.desk import Project

ONE = """
import os
import pytest

@pytest.mark.reenact("refund-loop")
def test_it(replayed):
    assert replayed.outcome.boundaries == 2
    assert os.environ.get("SHOP_URL") is None and os.getcwd() == os.path.dirname(os.path.dirname(__file__))
    print("where:", replayed.enforcement[1:])
"""
HERE, APART = "the calling process", "own process"


def where(desk: Project) -> str:
    """Where the golden was run, which has passed."""
    ended = desk.pytest("-s", "-q")
    assert ended.counts == {"passed": 1}, ended.out
    return str(re.findall(r"where: \('([^']*)'", ended.out)[0])


def fixed(desk: Project) -> Project:
    desk.edit("shop.py", "SEARCHES = 5", "SEARCHES = 1")
    desk.write("tests/test_it.py", ONE)
    return desk


def test_a_golden_that_does_not_depend_on_the_hash_seed_is_run_here(desk: Project) -> None:
    assert where(fixed(desk)) == HERE


def test_one_that_nobody_has_tried_under_other_seeds_is_not(desk: Project) -> None:
    path = desk.folder / "tests/goldens/refund-loop.reenact"
    with_golden(path, replace(open_golden(path).golden, any_seed=None))
    assert where(fixed(desk)) == APART


def test_an_agent_that_would_change_a_file_is_stopped_before_it_and_run_apart(desk: Project) -> None:
    fixed(desk).edit("shop.py", "    state: dict", "    open('note.txt', 'w').close()\n    state: dict")
    ended = desk.pytest("-s", "-q")
    assert ended.counts == {"passed": 1} and f"where: ('{APART}'" in ended.out, ended.out
    assert not (desk.folder / "note.txt").exists() or "scratch" not in ended.out


def test_a_module_that_reads_the_world_when_it_is_imported_is_run_apart(desk: Project) -> None:
    """It was imported with the variables of the recording; here it would have others."""
    fixed(desk).edit("shop.py", "SEARCHES = 1", "SEARCHES = 1\nURL = os.environ.get('SHOP_URL', 'http://127.0.0.1:9')")
    desk.edit("shop.py", "{os.environ['SHOP_URL']}/v1", "{URL}/v1")
    assert where(desk) == APART


def test_a_golden_is_kept_for_the_very_bytes_that_it_was_opened_from(desk: Project) -> None:
    path, other = (desk.folder / f"tests/goldens/{name}.reenact" for name in ("refund-loop", "same/greeting"))
    opens = Opener()
    first = opens(path)
    assert opens(other) is not first and opens(path) is first
    whole, before = path.read_bytes(), path.stat()
    for at in (len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        with pytest.raises(StoreError, match="refused"):
            opens(path)
        path.write_bytes(whole)
        assert opens(path).recorded == first.recorded


MANY = """
import pytest

@pytest.mark.reenact("refund-loop")
@pytest.mark.parametrize("number", range(4))
def test_it(replayed, number):
    assert len(replayed.calls("search_docs")) == 1
"""
COUNTING = """
import gc

def pytest_sessionfinish():
    gc.collect()
    sorts = [type(each).__name__ for each in gc.get_objects()]
    print("held:", sorts.count("Trial"), sorts.count("ForkSession"))
"""


def test_what_a_golden_has_left_is_let_go_of_after_its_test(desk: Project) -> None:
    fixed(desk).write("tests/test_it.py", MANY)
    desk.write("tests/conftest.py", COUNTING)
    ended = desk.pytest("-s", "-q")
    assert ended.counts == {"passed": 4}, ended.out
    assert "held: 0 0" in ended.out


def test_the_goldens_opened_last_are_kept_and_of_large_ones_the_last(
    desk: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = (desk.folder / "tests/goldens/refund-loop.reenact").read_bytes()
    paths = [desk.folder / f"tests/goldens/n{number}.reenact" for number in range(9)]
    for path in paths:
        path.write_bytes(whole)
    opens = Opener()
    first, *others = [opens(path) for path in paths[:8]]
    assert opens(paths[0]) is first and [opens(path) for path in paths[1:8]] == others
    opens(paths[0])
    opens(paths[8])
    assert opens(paths[0]) is first, "it was asked for last"
    assert opens(paths[1]) is not others[0], "there is room for eight"
    monkeypatch.setattr("reenact.testing.goldens.marked_test._SMALL", len(whole) - 1)
    large = opens(paths[2])
    assert opens(paths[2]) is large
    opens(paths[3])
    assert opens(paths[2]) is not large
