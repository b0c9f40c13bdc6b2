"""A write that a database took back, because its process ended before the commit, is made again where a run goes on."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.desk import Desk
from tests.resume.conftest import at_a_terminal

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


COMMITTING = """
import os, signal, sqlite3
import reenact

def traced(sql):
    if sql == "COMMIT" and doomed and not os.path.exists("go"):
        os.kill(os.getpid(), signal.SIGKILL)  # the commit was asked for, and not made

doomed = False
db = sqlite3.connect("m.db")
db.set_trace_callback(traced)
db.execute("CREATE TABLE IF NOT EXISTS t (word TEXT)")
db.execute("INSERT INTO t VALUES ('first')")
db.commit()
doomed = True
{body}
doomed = False
print(db.execute("SELECT * FROM t").fetchall())
"""
BODIES = {
    "method": ADDED + "db.commit()",
    "words": ADDED + "db.execute('COMMIT')",
    "script": ADDED + "db.executescript('SELECT 1')",
    "in a tool": ADDED + "@reenact.tool\ndef keep(): db.commit()\nkeep()",
    "in a tool as a whole": f"@reenact.tool\ndef keep():{ADDED}    db.commit()\nkeep()".replace("\ndb.", "\n    db."),
}


def killed_in_a_commit(tmp_path: Path, body: str) -> tuple[Desk, str]:
    """The desk, and the number of the call that is in doubt."""
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(COMMITTING.format(body=body))
    desk.record(["python", "agent.py"])
    assert words(desk) == ["first"]
    (desk.folder / "go").touch()
    asked = desk.run("reenact", "resume", "@")
    assert asked.code == 3 and "was under way when the run broke off" in asked.told
    return desk, asked.told.partition("--result ")[2].partition("=")[0]


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_commit_in_doubt_is_made_again_with_its_statements(tmp_path: Path, body: str) -> None:
    desk, _ = killed_in_a_commit(tmp_path, body)
    done = desk.run("reenact", "resume", "@", "--settle", "retry")
    assert done.code == 0, done.err
    assert done.out.endswith(b"[('first',), ('second',), ('third',)]\n")
    assert words(desk) == ["first", "second", "third"]
    assert b"same (exact)" in desk.replay().err


@pytest.mark.parametrize("how", ["method", "words", "script", "in a tool as a whole"])
def test_of_a_commit_that_has_happened_nothing_is_made_again(tmp_path: Path, how: str) -> None:
    desk, number = killed_in_a_commit(tmp_path, BODIES[how])
    with sqlite3.connect(desk.folder / "m.db") as connection:
        connection.execute("INSERT INTO t VALUES ('second'), ('third')")
    done = desk.run("reenact", "resume", "@", "--settle", "done", "--result", f"{number}=null")
    assert done.code == 0, done.err
    assert done.out.endswith(b"[('first',), ('second',), ('third',)]\n")
    assert words(desk) == ["first", "second", "third"]


@pytest.mark.parametrize("word", ["retry\n", "done\nnull\n"], ids=["retry", "done"])
def test_at_a_terminal_a_commit_in_doubt_is_one_question(tmp_path: Path, word: str) -> None:
    desk, _ = killed_in_a_commit(tmp_path, BODIES["method"])
    code, _, said = at_a_terminal(desk, word, "resume")
    assert (code, said.count("Has it happened")) == (0, 1), said
    assert words(desk) == (["first", "second", "third"] if word.startswith("retry") else ["first"])


def test_an_attempt_that_was_stopped_after_its_commit_has_made_it(tmp_path: Path) -> None:
    """The resumption after it makes neither the statements nor the commit a second time."""
    other = "other = sqlite3.connect('o.db'); other.execute('CREATE TEMP TABLE o (word TEXT)')\n"
    desk, _ = killed_in_a_commit(tmp_path, other + ADDED + "db.commit(); other.execute('SELECT * FROM o')")
    for _ in range(2):
        stopped = desk.run("reenact", "resume", "@", "--settle", "retry")
        assert stopped.code == 2 and "it had made something temporary" in stopped.told
        assert words(desk) == ["first", "second", "third"]
