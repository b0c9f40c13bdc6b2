"""Every way to ask and to change a database of SQLite."""

import sqlite3

db = sqlite3.connect("shop.db")
print(db.execute("SELECT count(*) FROM orders WHERE customer = ?", ("u_7710",)).fetchone())
cursor = db.cursor()
cursor.execute("SELECT id, customer, total FROM orders WHERE total > :least ORDER BY id", {"least": 5})
print([c[0] for c in cursor.description], cursor.fetchone(), cursor.fetchmany(2), cursor.fetchall(), cursor.fetchone())
db.row_factory = sqlite3.Row
for row in db.execute('SELECT id, customer AS "who ""is"" it", note FROM orders ORDER BY id LIMIT 2'):
    print(row.keys(), tuple(row), row["id"])
with db:
    new = ("new", 1.5, b"\x00\xff")
    print(db.execute("INSERT INTO orders(customer, total, note) VALUES (?, ?, ?)", new).lastrowid)
    print(db.in_transaction, db.execute("UPDATE orders SET total = total + 1").rowcount)
print(db.in_transaction)
try:
    with db:
        db.execute("INSERT INTO orders(id, customer) VALUES (1, 'twice')")
except sqlite3.IntegrityError as error:
    print(type(error).__name__, error, error.sqlite_errorname)
try:
    db.execute("SELECT nothing FROM nowhere")
except sqlite3.OperationalError as error:
    print(error)
cursor.executemany("INSERT INTO orders(customer, total) VALUES (?, ?)", ((f"c{n}", n) for n in range(3)))
print(cursor.rowcount)
db.commit()
db.executescript("CREATE TABLE t(a); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2);")
print([tuple(row) for row in db.execute("SELECT sum(a), max(a) FROM t")])
db.close()
try:
    sqlite3.connect("no/such/folder.db")
except sqlite3.OperationalError as error:
    print(error)
