"""Keeps answers in files and in SQLite below a temporary folder, lists them, removes them (urllib.request)."""

import json
import os
import pathlib
import sqlite3
import tempfile
import urllib.request

WORLD = os.environ["WORLD_URL"]

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    base = sqlite3.connect(folder / "cache.db")
    base.execute("create table answer (question text primary key, text text, at text default current_timestamp)")
    for number in [1, 2, 3, 2, 1, 4]:
        file = folder / f"{number}.json"
        if not file.exists():
            with urllib.request.urlopen(f"{WORLD}/tools/lookup?n={number}", timeout=5) as reply:
                file.write_bytes(reply.read())
            base.execute(
                "insert into answer(question, text) values (?, ?)", (str(number), json.loads(file.read_text())["text"])
            )
        print(number, json.loads(file.read_text())["value"])
    print(sorted(path.name for path in folder.glob("*.json")))
    print(base.execute("select question, text from answer order by text").fetchall())
    base.close()
print(os.path.exists(name), folder.name)
