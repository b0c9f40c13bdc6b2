"""A write that a database took back, because its process ended before the commit, is made again where a run goes on."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.desk import Desk

PLAIN = """
import os, signal, sqlite3, time
import reenact

db = sqlite3.connect("m.db")
db.execute("CREATE TABLE IF NOT EXISTS t (word TEXT)")
db.execute("INSERT INTO t VALUES ('first')")
db.commit()
{body}
if not os.path.exists("go"):
    time.sleep(0.5)  # for what has come to be kept
    {end}
db.commit()
print(db.execute("SELECT * FROM t").fetchall())
"""
ADDED = """
db.execute("INSERT INTO t VALUES ('second')")
db.execute("INSERT INTO t VALUES ('third')")
"""
IN_A_TOOL = """
@reenact.tool
def add(word):
    db.execute("INSERT INTO t VALUES (?)", (word,))
    return "added"

print(add("second"))
"""
KILLED, FAILED = "os.kill(os.getpid(), signal.SIGKILL)", 'raise SystemExit("no")'


def broken_off(tmp_path: Path, body: str, end: str) -> Desk:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(PLAIN.format(body=body, end=end))
    desk.record(["python", "agent.py"])
    assert words(desk) == ["first"], "the database has taken back what was not committed"
    (desk.folder / "go").touch()
    return desk


def words(desk: Desk) -> list[str]:
    with sqlite3.connect(desk.folder / "m.db") as connection:
        return [word for (word,) in connection.execute("SELECT word FROM t")]


@pytest.mark.parametrize("end", [KILLED, FAILED], ids=["killed", "failed"])
def test_the_transaction_is_made_again_and_what_was_committed_is_not(tmp_path: Path, end: str) -> None:
    desk = broken_off(tmp_path, ADDED, end)
    done = desk.run("reenact", "resume", "@")
    assert done.code == 0, done.err
    assert done.out.endswith(b"[('first',), ('second',), ('third',)]\n")
    assert words(desk) == ["first", "second", "third"]
    assert b"same (exact)" in desk.replay().err


def test_a_tool_that_has_written_needs_a_word(tmp_path: Path) -> None:
    desk = broken_off(tmp_path, IN_A_TOOL, KILLED)
    asked = desk.run("reenact", "resume", "@")
    assert asked.code == 3 and b"add (event" in asked.err and b"was not committed when the run broke off" in asked.err
    assert words(desk) == ["first"]
    done = desk.run("reenact", "resume", "@", "--settle", "retry")
    assert done.code == 0, done.err
    assert words(desk) == ["first", "second"]
