"""What a first user runs into is told once, in words, with a next command; the program's own run is never touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.desk import Desk

AGENT = """
import os, sys, reenact

@reenact.tool(effect="read")
def blob(size):
    return os.urandom(size)

print("total", sum(len(blob(100_000)) for _ in range(int(sys.argv[1]))))
sys.exit(4)
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk with one agent on it."""
    found = Desk(tmp_path)
    (found.folder / "agent.py").write_text(AGENT)
    return found


def test_a_store_in_memory_says_that_nothing_is_kept(desk: Desk) -> None:
    ended = desk.run("reenact", "--store", "memory:", "record", "--", "python", "agent.py", "1")
    assert (ended.code, ended.out) == (4, b"total 100000\n")
    assert "what is in memory ends with its process" in ended.err.decode()


def test_a_damaged_store_costs_the_recording_and_is_told_with_one_next_command(desk: Desk) -> None:
    assert desk.record(["python", "agent.py", "1"]).code == 4
    store = desk.folder / ".reenact" / "store.db"
    store.write_bytes(b"garbage" + store.read_bytes()[7:])
    ended = desk.record(["python", "agent.py", "1"])
    assert (ended.code, ended.out) == (4, b"total 100000\n")
    assert "not recorded: store.db is damaged" in ended.err.decode()
    assert ended.err.decode().count("next: ") == 1


def test_a_disk_that_fills_up_costs_the_recording_and_says_so_where_the_program_ends(desk: Desk) -> None:
    ended = desk.run("sh", "-c", "ulimit -f 2000; exec reenact record -- python agent.py 60")
    assert (ended.code, ended.out) == (4, b"total 6000000\n")
    assert any("the recording is incomplete: " in line for line in ended.said), (
        "also where not even that can be written"
    )
    shown = desk.run("reenact", "show", "@")
    assert shown.code == 0 and "\\n" not in shown.out.decode(), "one reason, on one line"


FULL_AT_THE_END = """
import sys
from reenact.errors import StoreError
from reenact.interfaces.cli.main import main
from reenact.store.sqlite_store import SqliteStore

def conclude(self, run):
    raise StoreError("store.db cannot be written: disk I/O error")

SqliteStore.conclude = conclude
sys.argv = ["reenact", "record", "--", "python", "agent.py", "1"]
main()
"""


def test_a_disk_that_fills_up_at_the_very_end_leaves_the_line_about_the_run(desk: Desk) -> None:
    ended = desk.run("python", "-c", FULL_AT_THE_END)
    assert (ended.code, ended.out) == (4, b"total 100000\n")
    assert any("-> reenact show" in line for line in ended.said)
    assert any("the recording is incomplete: its exit status is not kept" in line for line in ended.said)
    assert desk.run("reenact", "show", "@").code == 0


@pytest.mark.parametrize(("ref", "cause"), [("@~7", "@ counts 1 run here"), ("zzz", "deleted")])
def test_a_reference_that_leads_nowhere_says_what_is_likely(desk: Desk, ref: str, cause: str) -> None:
    desk.record(["python", "agent.py", "1"])
    ended = desk.run("reenact", "show", ref)
    assert ended.code == 2 and cause in ended.err.decode()
