"""Proves that statements and rows of a SQLite file replay without the file, and that every other way in is named."""

from __future__ import annotations

import re
import sqlite3
import sys

import pytest

from tests.programs import read_program

from .conftest import Place

SHOP = read_program("world/shop_in_sqlite.py")


@pytest.fixture
def shop(world: Place) -> Place:
    fill(world)
    return world


def fill(world: Place) -> None:
    db = sqlite3.connect(world.folder / "shop.db")
    with db:
        db.execute("CREATE TABLE orders(id INTEGER PRIMARY KEY, customer TEXT, total REAL, note BLOB)")
        rows = [(n, "u_7710" if n % 2 else "u_1", n * 1.25, None) for n in range(1, 11)]
        db.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
    db.close()


def orders(world: Place) -> int:
    db = sqlite3.connect(world.folder / "shop.db")
    count = int(db.execute("SELECT count(*) FROM orders").fetchone()[0])
    db.close()
    return count


def test_statements_replay_without_the_file(shop: Place) -> None:
    shop.write(SHOP)
    bare = shop.run(sys.executable, "agent.py")
    (shop.folder / "shop.db").unlink()
    fill(shop)
    recorded = shop.record()
    assert recorded.stdout == bare.stdout
    assert "IntegrityError" in recorded.stdout and orders(shop) == 14
    assert re.search(r"db +SELECT shop\.db", shop.shown()) and "gap " not in shop.shown()
    shop.exact(recorded)
    assert orders(shop) == 14
    (shop.folder / "shop.db").unlink()
    shop.exact(recorded)
    assert not (shop.folder / "shop.db").exists()


def test_rows_are_read_in_portions(shop: Place) -> None:
    recorded = shop.record(
        """
        import sqlite3
        db = sqlite3.connect("shop.db")
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
        cursor = db.execute(endless)
        print(sum(row[0] for _, row in zip(range(2500), cursor)), cursor.fetchone())
        print(len(db.execute(endless + " LIMIT 2000").fetchall()), len(db.execute(endless + " LIMIT 7").fetchmany(9)))
        """
    )
    assert recorded.stdout == f"{2500 * 2501 // 2} (2502,)\n2000 7\n" or recorded.stdout.endswith("2000 7\n")
    shop.exact(recorded)


def test_an_error_comes_with_the_row_it_belongs_to(shop: Place) -> None:
    shop.write(
        """
        import sqlite3
        db = sqlite3.connect("shop.db")
        def careful(n):
            if n == 4:
                raise ValueError("four")
            return n
        db.create_function("careful", 1, careful)
        cursor = db.execute("SELECT careful(id) FROM orders ORDER BY id")
        try:
            while row := cursor.fetchone():
                print(row)
        except sqlite3.Error as error:
            print(error)
        cursor.close()
        try:
            cursor.fetchone()
        except sqlite3.ProgrammingError as error:
            print(error)
        """
    )
    bare = shop.run(sys.executable, "agent.py")
    recorded = shop.record()
    assert recorded.stdout == bare.stdout and "(1,)" in bare.stdout and "exception" in bare.stdout
    shop.exact(recorded)


def test_another_parameter_diverges_and_is_named(shop: Place) -> None:
    text = "import sqlite3\nprint(sqlite3.connect('shop.db').execute('SELECT ?', ('{}',)).fetchall())\n"
    shop.record(text.format("u_7710"))
    shop.write(text.format("u_1043"))
    replayed = shop.replay()
    assert replayed.returncode == 1 and "u_1043" in replayed.stderr and "u_7710" in replayed.stderr
    assert "u_" not in replayed.stdout


def test_strands_and_classes_of_the_program_s_own(shop: Place) -> None:
    recorded = shop.record(
        """
        import asyncio, sqlite3
        class Cursor(sqlite3.Cursor):
            def one(self):
                return self.fetchone()[0]
        class Connection(sqlite3.Connection):
            def cursor(self, factory=Cursor):
                return super().cursor(factory)
        def count(n):
            db = sqlite3.connect("shop.db", factory=Connection, timeout=3)
            db.row_factory = lambda cursor, row: {c[0]: v for c, v in zip(cursor.description, row)}
            found = db.execute("SELECT customer, total FROM orders WHERE id = ?", (n,)).fetchone()
            db.row_factory = None
            return found, db.cursor().execute("SELECT count(*) FROM orders").one(), isinstance(db, Connection)
        async def main():
            print(await asyncio.gather(*[asyncio.to_thread(count, n) for n in (1, 2, 3)]))
        asyncio.run(main())
        """
    )
    assert "{'customer': 'u_7710', 'total': 1.25}, 10, True" in recorded.stdout
    (shop.folder / "shop.db").unlink()
    shop.exact(recorded)


def test_a_database_in_memory_is_the_program_s_own(shop: Place) -> None:
    recorded = shop.record(
        """
        import sqlite3
        db = sqlite3.connect(":memory:")
        db.create_function("twice", 1, lambda n: n * 2)
        print(db.execute("SELECT twice(21)").fetchone(), type(db) is sqlite3.Connection)
        """
    )
    assert recorded.stdout == "(42,) True\n" and "db " not in shop.shown()
    shop.exact(recorded)


def test_the_programs_own_authorizer_of_a_database_in_memory_is_asked(shop: Place) -> None:
    recorded = shop.record(
        """
        import sqlite3
        db = sqlite3.connect(":memory:")
        db.execute("ATTACH ':memory:' AS other")
        asked = []
        db.set_authorizer(lambda action, *more: asked.append(action) or sqlite3.SQLITE_OK)
        db.execute("CREATE TABLE other.t (a)")
        print(sqlite3.SQLITE_CREATE_TABLE in asked)
        """
    )
    assert recorded.stdout == "True\n" and "gap" not in shop.shown()
    shop.exact(recorded)


def test_what_goes_past_the_statements_is_named(shop: Place) -> None:
    recorded = shop.record(
        """
        import sqlite3
        db = sqlite3.connect("shop.db")
        db.execute("CREATE TABLE t (a BLOB)")
        db.execute("INSERT INTO t VALUES (zeroblob(3))")
        db.commit()
        copy = sqlite3.connect(":memory:")
        db.backup(copy)
        print(copy.execute("SELECT count(*) FROM t").fetchone(), db.total_changes, len(db.serialize()) > 0)
        with db.blobopen("t", "a", 1) as blob:
            print(blob.read())
        """
    )
    assert recorded.stdout == "(1,) 1 True\nb'\\x00\\x00\\x00'\n"
    for what in ("backup", "total_changes", "serialize", "blobopen"):
        assert f"gap  sqlite3 {what} at shop.db" in shop.shown()
    assert "sqlite3 backup at shop.db" in shop.kit()


@pytest.mark.parametrize(
    ("connection", "name"),
    [
        ("sqlite3.Connection('shop.db')", "shop.db"),
        ("sqlite3.connect('shop.db', factory=lambda *a, **k: sqlite3.Connection(*a))", "sqlite3 to shop.db"),
    ],
    ids=["class", "function"],
)
def test_a_connection_past_connect_is_named_and_refused(shop: Place, connection: str, name: str) -> None:
    shop.record(f"import sqlite3\nprint({connection}.execute('SELECT 1').fetchone())\n")
    assert f"gap  database at agent.py:2 ({name}), 1 time" in shop.shown()
    assert "database at agent.py:2" in shop.kit()
    replayed = shop.replay()
    assert replayed.returncode == 5 and f"database to {name} at agent.py:2" in replayed.stderr
    assert "(1,)" not in replayed.stdout


def test_credentials_in_rows_are_not_stored(shop: Place) -> None:
    secret = "sk-live-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"
    shop.record(
        f"import sqlite3\nprint(len(sqlite3.connect('shop.db').execute(\"SELECT '{secret}'\").fetchone()[0]) > 9)\n"
    )
    (shop.folder / "agent.py").unlink()
    assert secret.encode() not in shop.kept()
