"""A fork asks the database itself for what was not asked before, and never the stand-in of a replay."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.forks.conftest import Forks

BEGIN = """
import sqlite3
import reenact

shop = sqlite3.connect("shop.db")
"""
READS = (
    BEGIN
    + """
shop.row_factory = sqlite3.Row
shop.create_function("louder", 1, lambda text: text.upper() + "!")
shop.execute("PRAGMA case_sensitive_like = ON")
print([row["name"] for row in shop.execute("SELECT name FROM orders")])
with reenact.step("plan", {"like": "a%"}) as state:
    pass
for row in shop.execute("SELECT louder(name) AS name FROM orders WHERE name LIKE ?", (state["like"],)):
    print(row["name"])
shop.close()
"""
)
WRITES = (
    BEGIN
    + """
with reenact.step("plan", {"name": "pear"}) as state:
    pass
with shop:
    shop.execute("INSERT INTO orders VALUES (?)", (state["name"],))
print(shop.execute("SELECT count(*) FROM orders WHERE name = ?", (state["name"],)).fetchone())
"""
)
TWICE = (
    BEGIN
    + """
with reenact.step("plan", {"more": False}) as state:
    pass
if state["more"]:
    with shop:
        shop.execute("INSERT INTO orders VALUES ('kiwi')")
with shop:
    shop.execute("INSERT INTO orders VALUES ('lime')")
"""
)
IN_A_TRANSACTION = (
    BEGIN
    + """
shop.execute("INSERT INTO orders VALUES ('fig')")
with reenact.step("plan", {"name": "apple"}) as state:
    pass
try:
    print(shop.execute("SELECT count(*) FROM orders WHERE name = ?", (state["name"],)).fetchone())
except Exception as error:
    print(error)
shop.commit()
"""
)
TEMPORARY = (
    BEGIN
    + """
shop.execute("CREATE TEMP TABLE mine AS SELECT * FROM orders")
with reenact.step("plan", {"name": "apple"}) as state:
    pass
print(shop.execute("SELECT count(*) FROM mine WHERE name = ?", (state["name"],)).fetchone())
"""
)
BY_ITSELF = (
    BEGIN
    + """
shop.isolation_level = None
with reenact.step("plan", {"name": "pear"}) as state:
    pass
shop.execute("INSERT INTO orders VALUES (?)", (state["name"],))
shop.close()
"""
)
IN_WORDS = (
    BEGIN
    + """
LEVEL
shop.execute("BEGIN")
with reenact.step("plan", {"name": "pear"}) as state:
    pass
shop.execute("INSERT INTO orders VALUES (?)", (state["name"],))
shop.execute("END")
shop.close()
"""
)
OF_SEVERAL = """
shop.executescript(SCRIPT)
with reenact.step("plan", {"name": "apple"}) as state:
    pass
print(shop.execute("SELECT count(*) FROM orders WHERE name LIKE ?", (state["name"],)).fetchone())
"""
SCRIPTED = BEGIN + OF_SEVERAL.replace(
    "SCRIPT", '"CREATE TABLE IF NOT EXISTS orders(name); CREATE TEMP TABLE mine(name);"'
)
BEGUN = BEGIN + OF_SEVERAL.replace("SCRIPT", """ "BEGIN; INSERT INTO orders VALUES ('fig');" """)
SAVED = (
    BEGIN
    + """
shop.isolation_level = None
shop.execute("SAVEPOINT one")
with reenact.step("plan", {"name": "apple"}) as state:
    pass
print(shop.execute("SELECT count(*) FROM orders WHERE name = ?", (state["name"],)).fetchone())
shop.execute("RELEASE one")
"""
)
COMMENTED = TEMPORARY.replace('"CREATE TEMP', '"/* ours */ CREATE TEMP')
SET_UP = BEGIN + OF_SEVERAL.replace(
    "SCRIPT", '"CREATE TABLE IF NOT EXISTS a(b); PRAGMA case_sensitive_like = ON; -- c;"'
)


@pytest.fixture
def names(forks: Forks) -> Path:
    """The database of the program, in its folder."""
    path = forks.desk.folder / "shop.db"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE orders(name)")
        made.executemany("INSERT INTO orders VALUES (?)", [("apple",), ("Avocado",), ("banana",)])
    made.close()
    return path


def orders(path: Path) -> list[str]:
    """What is in it now."""
    asked = sqlite3.connect(path)
    try:
        return [name for (name,) in asked.execute("SELECT name FROM orders")]
    finally:
        asked.close()


def test_what_was_not_asked_before_is_asked_of_the_database_as_the_program_has_set_it_up(
    forks: Forks, names: Path
) -> None:
    """Its function, its setting (without it ``A%`` is ``a%``) and its row factory hold there too."""
    forks.record(READS)
    report = forks.fork("plan#1", "--set", "like=A%")
    assert report["printed"].splitlines() == ["['apple', 'Avocado', 'banana']", "AVOCADO!"]
    assert report["live"] == 1
    names.unlink()
    forks.replays_exactly(report["run"])


def test_a_write_is_refused_and_made_once_where_it_is_allowed(forks: Forks, names: Path) -> None:
    """Also though its commit is one that was recorded, which by itself is not made again."""
    forks.record(WRITES)
    before = orders(names)
    assert "may change the world" in forks.fork("plan#1", "--set", "name=plum", status=5)["message"]
    assert orders(names) == before
    report = forks.fork("plan#1", "--set", "name=plum", "--allow-write", "INSERT shop.db")
    assert report["printed"] == "(1,)\n"
    assert orders(names) == [*before, "plum"]
    forks.replays_exactly(report["run"])
    assert orders(names) == [*before, "plum"]


def test_what_is_written_over_a_connection_that_goes_live_is_committed_by_a_commit_that_is_answered(
    forks: Forks, tmp_path: Path
) -> None:
    """With ``--live all`` the connection is the database itself, and its commit asks what was asked before."""
    forks.record(
        """
        import sqlite3, reenact
        db = sqlite3.connect("words.db")
        db.execute("CREATE TABLE IF NOT EXISTS t (word TEXT)")
        @reenact.tool(effect="read")
        def think(): return "one"
        db.execute("INSERT INTO t VALUES (?)", (think(),))
        db.commit()
        print(db.execute("SELECT word FROM t").fetchall())
        """
    )
    report = forks.fork(0, "--result", 'think#1="two"', "--live", "all", "--allow-write", "INSERT words.db")
    assert report["printed"] == "[('one',), ('two',)]\n"
    with sqlite3.connect(forks.desk.folder / "words.db") as connection:
        assert connection.execute("SELECT word FROM t").fetchall() == [("one",), ("two",)]


def test_who_may_write_may_commit_it(forks: Forks, names: Path) -> None:
    """Also where the program commits once more than it did."""
    forks.record(TWICE)
    before = orders(names)
    report = forks.fork("plan#1", "--set", "more=true", "--allow-write", "INSERT shop.db")
    assert orders(names) == [*before, "kiwi"], report
    forks.replays_exactly(report["run"])


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (IN_A_TRANSACTION, "a write that it had not committed was not made again"),
        (TEMPORARY, "it had made something temporary"),
        (COMMENTED, "it had made something temporary"),
        (SCRIPTED, "it had made something temporary"),
        (SAVED, "a savepoint that it had set was not set again"),
        (BEGUN, "a write that it had not committed was not made again"),
    ],
)
def test_what_the_database_would_answer_otherwise_is_not_asked(
    forks: Forks, names: Path, program: str, why: str
) -> None:
    """The program cannot go on with the error either."""
    forks.record(program)
    report = forks.fork("plan#1", "--set", "name=banana", status=2)
    assert f"the run cannot go on asking shop.db: {why}" in report["message"]
    assert report["status"] == "failed"


def test_a_database_that_is_gone_is_not_made_anew(forks: Forks, names: Path) -> None:
    forks.record(READS)
    names.unlink()
    assert "its file is not there any more" in forks.fork("plan#1", "--set", "like=A%", status=2)["message"]
    assert not names.exists()


def test_what_a_script_has_set_for_its_connection_is_set_again(forks: Forks, names: Path) -> None:
    """Without the setting ``A%`` is ``a%``, and there are two."""
    forks.record(SET_UP)
    assert forks.fork("plan#1", "--set", "name=A%")["printed"] == "(1,)\n"


def test_a_write_is_committed_where_the_program_has_every_statement_commit_itself(forks: Forks, names: Path) -> None:
    forks.record(BY_ITSELF)
    before = orders(names)
    assert forks.fork("plan#1", "--set", "name=plum", "--allow-write", "INSERT shop.db")["live"] == 1
    assert orders(names) == [*before, "plum"]


@pytest.mark.parametrize("level", ["", "shop.isolation_level = None"])
@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_a_transaction_that_the_program_words_itself_ends_as_it_says(
    forks: Forks, names: Path, level: str, end: str
) -> None:
    """Though its beginning, and a commit, are answered from the recording."""
    forks.record(IN_WORDS.replace("LEVEL", level).replace("END", end))
    before = orders(names)
    forks.fork("plan#1", "--set", "name=plum", "--allow-write", "INSERT shop.db")
    assert orders(names) == before + ["plum"] * (end == "COMMIT")


TAKEN_BACK = (
    BEGIN
    + """
with reenact.step("plan", {"name": "pear", "wrong": False}) as state:
    pass
shop.execute("INSERT INTO orders VALUES (?)", (state["name"],))
if state["wrong"]:
    shop.rollback()
else:
    shop.commit()
shop.close()
"""
)


def test_a_write_that_a_fork_took_back_is_made_by_the_next_one_and_one_that_it_kept_is_not(
    forks: Forks, names: Path
) -> None:
    forks.record(TAKEN_BACK)
    before = orders(names)
    change = ("--set", "name=plum", "--allow-write", "INSERT shop.db")
    forks.fork("plan#1", "--set", "wrong=true", *change)
    assert orders(names) == before
    made = forks.fork("plan#1", *change)
    assert made["live"] == 1
    assert orders(names) == [*before, "plum"]
    forks.replays_exactly(made["run"])
    again = forks.fork("plan#1", *change)
    assert again["live"] == 0
    assert orders(names) == [*before, "plum"]


def test_a_commit_that_could_not_be_made_is_in_no_doubt(forks: Forks, names: Path) -> None:
    """What it would have committed was answered from the recording, so nothing was asked of the database."""
    forks.record(TAKEN_BACK.replace('"wrong": False', '"wrong": True'))
    before = orders(names)
    change = ("--set", "wrong=false", "--allow-write")
    stopped = forks.fork("plan#1", *change, "commit shop.db", status=2)
    assert "a write that it had not committed was not made again" in stopped["message"]
    assert (stopped["live"], orders(names)) == (0, before)
    again = forks.fork("plan#1", *change, "commit shop.db", status=2)
    assert not again["doubt"], again["message"]
    forks.replays_exactly(stopped["run"])


RELEASED = (
    BEGIN
    + """
shop.isolation_level = None
with reenact.step("plan", {"name": "pear"}) as state:
    pass
shop.execute("SAVEPOINT " + state["name"])
shop.execute("INSERT INTO orders VALUES (?)", (state["name"],))
shop.execute("RELEASE " + state["name"])
print("open", shop.in_transaction)
shop.execute("BEGIN")
shop.execute("ROLLBACK")
print("open", shop.in_transaction)
shop.close()
"""
)


def test_a_write_whose_savepoint_was_released_is_not_taken_back_by_a_later_rollback(forks: Forks, names: Path) -> None:
    forks.record(RELEASED)
    before = orders(names)
    change = ("--set", "name=plum", "--allow-write", "INSERT shop.db")
    for _ in range(2):
        made = forks.fork("plan#1", *change)
        assert orders(names) == [*before, "plum"]
        assert made["printed"].count("open False") == 2, "as the database itself says"


ROLLED_BACK = (
    BEGIN
    + """
shop.execute("INSERT INTO orders VALUES ('plum')")
shop.ENDED()
print(shop.execute("SELECT count(*) FROM orders").fetchone())
"""
)


def test_a_commit_that_one_fork_has_made_is_answered_in_the_next(forks: Forks, names: Path) -> None:
    """What it gave is nothing, and says nothing of a transaction."""
    forks.record(ROLLED_BACK.replace("ENDED", "rollback"))
    (forks.desk.folder / "agent.py").write_text(ROLLED_BACK.replace("ENDED", "commit").replace("plum", "pear"))
    before = orders(names)
    allowed = ("--allow-write", "INSERT shop.db")
    made = forks.fork(0, *allowed)
    assert [answer["name"] for answer in made["answers"] if answer["how"] == "live"][:2] == [
        "INSERT shop.db",
        "commit shop.db",
    ]
    assert orders(names) == [*before, "pear"]
    again = forks.fork(0, *allowed)
    assert "Traceback" not in again["said"] and again["status"] == "ok"
    told = next(answer for answer in again["answers"] if answer["name"] == "commit shop.db")
    assert told["how"] == "frozen" and "it was made as" in told["why"]
    assert orders(names) == [*before, "pear"]
    forks.replays_exactly(again["run"])


@pytest.mark.parametrize("live", ["reads", "all"])
def test_a_commit_of_what_was_answered_alone_is_not_made(forks: Forks, names: Path, live: str) -> None:
    """It would commit nothing, and say that it did."""
    forks.record(ROLLED_BACK.replace("ENDED", "rollback"))
    before = orders(names)
    (forks.desk.folder / "agent.py").write_text(ROLLED_BACK.replace("ENDED", "commit"))
    stopped = forks.fork(0, "--allow-write", "commit shop.db", "--live", live, status=2)
    assert "a write that it had not committed was not made again" in stopped["message"]
    assert orders(names) == before


DIES = (
    BEGIN
    + """
import os
shop.create_function("die", 0, lambda: os._exit(9))
shop.execute("INSERT INTO orders VALUES (die())")
shop.commit()
print("goes on", shop.in_transaction)
"""
)


def test_a_statement_said_to_be_done_gives_what_a_statement_gives(forks: Forks, names: Path) -> None:
    """Its answer was not seen; the program goes on, and so does a second resumption's look at the ledger."""
    forks.record(DIES, status=9)
    asked = forks.desk.run("resume", "@", "--settle", "done", status=2).stderr
    number = asked.partition("--result ")[2].partition("=")[0]
    done = forks.desk.run("resume", "@", "--settle", "done", "--result", f"{number}=null", status=0)
    assert "goes on False" in done.stdout, done.stderr
    forks.replays_exactly()


ONLY_READS = (
    BEGIN
    + """
with reenact.step("plan", {"look": False}) as state:
    pass
if state["look"]:
    with shop:
        print(shop.execute("SELECT count(*) FROM orders").fetchone())
    shop.execute("BEGIN")
    print(shop.execute("SELECT max(name) FROM orders").fetchone())
    shop.execute("COMMIT")
"""
)


def test_a_transaction_that_only_reads_needs_no_leave(forks: Forks, names: Path) -> None:
    """Its commit, by the method and in words, is no write."""
    forks.record(ONLY_READS)
    made = forks.fork("plan#1", "--set", "look=true")
    assert made["printed"].splitlines() == ["(3,)", "('banana',)"], made["said"]
    assert {event.call.effect for event in forks.events(made["run"]) if event.kind == "db"} == {"read"}
    forks.replays_exactly(made["run"])


def test_a_table_that_only_the_recording_has_made_is_named_and_not_an_error_of_the_program(forks: Forks) -> None:
    """Another connection asks it, over a file that was made anew since."""
    forks.record(
        """
        import sqlite3, reenact
        with sqlite3.connect("new.db") as db:
            db.execute('CREATE TABLE IF NOT EXISTS "orders" (word TEXT)')
            db.execute("CREATE TABLE other (word TEXT)")
        @reenact.tool(effect="read")
        def think(): return "one"
        db = sqlite3.connect("new.db")
        db.execute("INSERT INTO orders VALUES (?)", (think(),))
        db.commit()
        """
    )
    file = forks.desk.folder / "new.db"
    file.unlink()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE elsewhere (word TEXT)")
    options = ("--result", 'think#1="two"', "--allow-write", "INSERT new.db")
    message = forks.fork("think#1", *options, status=2)["message"]
    assert (
        "cannot go on asking new.db: the run had made the table orders in it, which its file does not have" in message
    )
    assert ":0 --live all --dry-run" in message
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE Orders (word TEXT)")
    options = ("--result", 'think#1="three"', "--allow-write", "INSERT new.db")
    assert forks.fork("think#1", *options)["status"] == "ok"
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT word FROM orders").fetchall() == [("three",)]
