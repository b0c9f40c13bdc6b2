"""A fork leaves its prefix to its parent: what it adds does not grow with the prefix, every command reads it as it does
any run, and it outlives its parent."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import reenact
from tests.forks.conftest import Forks
from tests.programs import read_program

LOOKER = read_program("forks/many_events.py")

TABLES = {
    "event": "id", "stream": "id", "chunk": "event", "slot": "event", "note": "owner", "turns": "id",
    "ambient": "strand", "printed": "owner",
}  # fmt: skip


def own_rows(forks: Forks, run: str) -> dict[str, int]:
    """How many rows of each table a run has itself, but for its lanes."""
    (path,) = (each for each in (forks.desk.folder / ".reenact").glob("*.db") if each.is_file())
    with closing(sqlite3.connect(path)) as connection:
        log = connection.execute("SELECT log FROM run WHERE run_id = ?", (run,)).fetchone()[0]
        span = (log << 32, log << 32 | 0xFFFFFFFF)
        found = {
            table: connection.execute(f"SELECT count(*) FROM {table} WHERE {key} BETWEEN ? AND ?", span).fetchone()[0]
            for table, key in TABLES.items()
        }
        words = "SELECT count(*) FROM words WHERE id = ? OR id BETWEEN ? AND ?"
        return {**found, "words": connection.execute(words, (log, *span)).fetchone()[0]}


def said(forks: Forks, run: str) -> list[str]:
    """What the commands that read a run say of it, but for its expiry, in which other runs have a say."""
    commands = (("show", run, "--all"), ("timeline", run, "--last-set", "n"))
    texts = (forks.desk.run(*command).stdout.replace(run[-8:], "RUN") for command in commands)
    return ["".join(line for line in text.splitlines(True) if not line.startswith("  expires ")) for text in texts]


def test_a_fork_adds_no_rows_for_its_prefix_and_outlives_its_parent(forks: Forks, tmp_path: Path) -> None:
    size = 120
    forks.record(LOOKER.replace("SIZE = 20", f"SIZE = {size}"))
    fork = forks.fork(f"look#{size // 10 + size + 1}", "--live", "none")["run"]
    parent, forks.parent = forks.parent, fork
    beyond = forks.fork(f"look#{size + 1}", "--live", "none")["run"]  # in a fork, what was inside calls is not there
    for run in (fork, beyond):
        rows = own_rows(forks, run)
        assert sum(rows.values()) <= 40, rows
    forks.replays_exactly(beyond)
    before = {run: said(forks, run) for run in (fork, beyond)}
    assert f"value {size - 1} of many" in before[fork][0]
    # The fork serves each outer tool whole: the reads inside it are unknown there, which is no difference.
    assert "the same: " in forks.desk.run("diff", parent, fork).stdout
    found = [
        json.loads(line)["run"] for line in forks.desk.run("ls", "--json", "-k", f"{size} many").stdout.splitlines()
    ]
    assert set(found) == {parent, fork, beyond}

    forks.desk.run("pack", fork, "-o", str(tmp_path / "fork.reenact"))
    with reenact.open_store(str(forks.desk.folder / ".reenact")) as store:
        store.delete(parent)
    assert {run: said(forks, run) for run in (fork, beyond)} == before
    with reenact.open_store(str(forks.desk.folder / ".reenact")) as store:
        store.delete(fork)
    assert said(forks, beyond) == before[beyond]
    forks.replays_exactly(beyond)
    forks.desk.run("unpack", str(tmp_path / "fork.reenact"))
    assert said(forks, fork) == before[fork]
