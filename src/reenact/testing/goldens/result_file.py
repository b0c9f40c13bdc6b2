"""Hands today's run over from the process of a golden to its judge, in one file and without a database.

The run is judged and thrown away, so no other process has to find it: the golden's process keeps it in memory, and
writes it at its end, in the lines of a bundle. The agent's own code has run in that process, so each value is checked
before it becomes a fact.
"""

from __future__ import annotations

import hashlib
import json
import os
from base64 import b64decode, b64encode
from typing import Any, Final

from reenact.abc.store import Recording
from reenact.errors import StoreError
from reenact.facts.record import Record
from reenact.facts.run import Run
from reenact.store.bundles.record_lines import line_of, record_of
from reenact.store.memory_store import MemoryStore
from reenact.timetravel.forks.fork_launch import keep_status_in

SCHEME: Final = "handed:"
_FAULTS: Final = (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, IndexError, RecursionError)


def in_result_file(into: str) -> bool:
    """Whether today's run is handed over, and not kept in a store."""
    return into.startswith(SCHEME)


def path_of(into: str) -> str:
    """The file of ``handed:PATH`` or ``sqlite:///PATH``."""
    return into.removeprefix(SCHEME).removeprefix("sqlite:///")


class ResultFile:
    """Today's run in memory, while it is being made.

    Args:
        into: ``handed:PATH``: the file for it.

    Attributes:
        store: The store for it.
    """

    def __init__(self, into: str) -> None:
        self._path = path_of(into)
        self._written: dict[str, list[Record]] = {}
        self.store = MemoryStore(into, written=self._written)

    def hand_over(self) -> None:
        """Write every run into the file, which gets its name when it is complete."""
        blobs: dict[str, str] = {}

        def keep(data: bytes) -> str:
            digest = hashlib.sha256(data).hexdigest()
            blobs[digest] = b64encode(data).decode()
            return digest

        runs = [[run, [line_of(record, keep) for record in records]] for run, records in list(self._written.items())]
        draft = f"{self._path}.part"
        with open(draft, "w", encoding="utf-8") as file:
            file.write(json.dumps({"runs": runs, "blobs": blobs}))  # all at once, which is several times as fast
        os.replace(draft, self._path)


def read_result(into: str, run: str) -> MemoryStore:
    """The store with the run that was handed over.

    Args:
        into: The place of the file.
        run: The id of today's run, which must be in it.

    Raises:
        StoreError: The file is missing, or is no log of a run.
    """
    store = MemoryStore(into)
    try:
        with open(path_of(into), encoding="utf-8") as file:
            told: Any = json.load(file)
        blobs = {digest: b64decode(text, validate=True) for digest, text in told["blobs"].items()}
        logs = []
        for found, lines in told["runs"]:
            records = [record_of(line, lambda digest, size: blobs[digest]) for line in lines]
            logs.append((Run(str(found)), records))
        store.adopt(logs)
        store.run(run)
    except (*_FAULTS, StoreError) as error:
        raise StoreError(
            f"the run of today cannot be read: {type(error).__name__}: {error}",
            cause="the process of the golden has not left it whole",
            next_command="reenact golden run",
        ) from None
    return store


def recording_of(into: str, run: str, status: int) -> Recording:
    """Today's run as it was handed over, with the exit status of its process."""
    store = read_result(into, run)
    keep_status_in(store, run, status)
    return store.open(run)
