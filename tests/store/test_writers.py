"""Proves that the logs of one process, durable writes among them, share its writing connection without a fault."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reenact.store.connection import WriteConnection

THREADS, ROUNDS = 8, 60


def test_durable_and_other_transactions_of_many_threads_take_turns(tmp_path: Path) -> None:
    writing = WriteConnection(_made(tmp_path))
    with writing.transaction() as connection:
        connection.execute("CREATE TABLE tried (thread INTEGER, round INTEGER)")

    def work(thread: int) -> None:
        for n in range(ROUNDS):
            with writing.transaction(durable=n % 7 == thread % 7) as connection:
                connection.execute("INSERT INTO tried VALUES (?, ?)", (thread, n))

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(work, thread) for thread in range(THREADS)]:
            done.result()
    with writing.transaction() as connection:
        assert connection.execute("SELECT count(*) FROM tried").fetchone() == (THREADS * ROUNDS,)
        assert connection.execute("PRAGMA synchronous").fetchone() == (1,)
    writing.close()


def _made(folder: Path) -> Path:
    """An empty file of SQLite's."""
    path = folder / "plain.db"
    made = sqlite3.connect(path)
    made.execute("PRAGMA journal_mode = WAL")
    made.close()
    return path
