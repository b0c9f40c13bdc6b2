"""A store with a row of every kind, to be damaged: two runs that share nothing, and a fork of the first."""

from __future__ import annotations

import sqlite3
from contextlib import closing as closed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reenact.facts.call import Kind
from reenact.facts.ids import make_run_id
from reenact.facts.record import AmbientRead, CheckpointTaken, EvidenceNoted, GapNoted, OutputPrinted, Record
from reenact.facts.run import Run
from reenact.store.sqlite_store import SqliteStore
from tests.store.records import closing, issued, opening, settled, streamed, turns
from tests.store.test_spliced import conversation


@dataclass(frozen=True)
class Damaged:
    """The store, and its runs."""

    path: Path
    first: Run
    other: Run
    fork: Run


class _Fixed:
    """The same secret each time, so that the files are the same."""

    def bytes(self, count: int) -> bytes:
        return bytes(range(count))


def fill(path: Path) -> Damaged:
    """Record the runs; the store is closed. Its file is the same each time."""
    with SqliteStore(path, entropy=_Fixed()) as store:
        first = store.run(_record(store, _run(1, agent="a", tags={"k": "v"}), 0).id)
        other = store.run(_record(store, _run(2, agent="b"), 100).id)
        fork = store.run(_record(store, _run(3, parent=first.id, relation="fork"), 0, more=True).id)
    return Damaged(path, first, other, fork)


def _run(n: int, **fields: Any) -> Run:
    started_us = 1_600_000_000_000_000 + n * 1000
    return Run(make_run_id(started_us, n.to_bytes(5, "big")), started_us=started_us, **fields)


def _record(store: SqliteStore, run: Run, seed: int, *, more: bool = False) -> Run:
    log = store.begin(run)
    log.write(opening(run))
    for records in _said(seed):
        log.write(records)
    if more:
        log.write([issued(7, b"only the fork asks this" * 90), settled(7), turns(7, 2)])
    log.write([closing(run)])
    log.close()
    return run


def _said(seed: int) -> list[list[Record]]:
    bodies = conversation(4, first=seed)
    own = b"%d " % seed
    asked: list[list[Record]] = [
        [issued(n, body, kind=Kind.MODEL, name="m"), settled(n, own * 300 + b"%d" % n)] for n, body in enumerate(bodies)
    ]
    return [
        *asked,
        [issued(4, own * 20), settled(4, b"")],
        [issued(5, kind=Kind.HTTP, name="GET"), *streamed(5, [own * 9000, own * 9000])],
        [issued(6, name="step", kind=Kind.STEP), settled(6, b"")],
        [
            CheckpointTaken(6, "in", {"docs": b'"%s"' % (own * 400), "n": b"1"}),
            CheckpointTaken(6, "out", {"docs": b'"%s"' % (own * 500)}),
            EvidenceNoted(6, "short", seed),
            EvidenceNoted(6, "long", "x" * 2000 + str(seed)),
            EvidenceNoted(None, "of the run", [seed]),
            AmbientRead(0, 6, "wall", own),
            OutputPrinted(1, 1, own * 100),
            turns(0, 7),
            GapNoted("subprocess", "agent.py:3", 2),
        ],
    ]


def change(path: Path, sql: str, *values: Any) -> None:
    """Change rows behind the store's back."""
    with closed(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(sql, values).rowcount > 0, sql
