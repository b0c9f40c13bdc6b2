"""Opinions on the answers in an experiment: each question is asked once, and kept by its content.

``.reenact/experiments/opinions/`` holds a bundle for each, written whole or not at all. So an interrupted experiment
asks no judge a second time, and equal answers of several candidates are judged once.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from reenact.abc.store import Store
from reenact.errors import StoreError, UnreplayableRun, UsageError
from reenact.facts.lazy_dataclass import replace
from reenact.store.bundles import bundle_store, members_of, write_bundle
from reenact.store.memory_store import MemoryStore
from reenact.testing.expectations.courts import Opinion, Question, stale
from reenact.testing.expectations.kept_opinions import asked_opinion, kept_opinion
from reenact.testing.experiments.cache import locked
from reenact.testing.goldens.judges import Asks, GoldenCourt, opinion_of
from reenact.timetravel.bundling.cleaning import known_here
from reenact.timetravel.bundling.packing import require_no_secret

FOLDER: Final = "opinions"


class CellCourt(GoldenCourt):
    """Gives the opinions that one cell needs.

    Args:
        row: The name of its row.
        kept: The stores with earlier opinions, which the row has.
        folder: The folder for opinions of experiments; made at the first one.
        asks: ``missing``, or ``again`` where a cell is run again; ``never`` where the cell was stopped before its end.
    """

    def __init__(self, row: str, kept: Sequence[Store], folder: Path, asks: Asks = "missing") -> None:
        super().__init__(row, kept, asks)
        self._folder = folder / FOLDER

    def _had(self, question: Question) -> tuple[str, Opinion]:
        if self.asks == "never":
            raise stale(question, "its run was stopped before its end", "reenact experiment --help")
        found = None if self.asks == "again" else self._found(question)
        if found is not None:
            return "kept", found
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = self._folder / f"{question.digest}.lock"
        descriptor = locked(lock, inherited=False)
        try:
            found = None if self.asks == "again" else self._found(question)  # another process has asked in between
            return ("kept", found) if found is not None else ("asked", self._ask(question))
        finally:
            lock.unlink(missing_ok=True)
            os.close(descriptor)

    def _found(self, question: Question) -> Opinion | None:
        for store in self._kept:
            try:
                return kept_opinion(store, question)
            except UnreplayableRun:
                continue
        try:
            return kept_opinion(bundle_store(self._path(question)), question)
        except (UnreplayableRun, UsageError, StoreError):  # missing or unreadable: the model is asked again
            return None

    def _ask(self, question: Question) -> Opinion:
        """Ask the judge, and keep the reply.

        Raises:
            UsageError: The model could not be asked.
        """
        scratch = MemoryStore()
        found = asked_opinion(scratch, question)
        if found.run:
            packed = replace(opinion_of(scratch, scratch.run(found.run)), role="run")
            require_no_secret(members_of([packed], None), [(packed.run.id, known_here(packed.run, os.environ).spans)])
            write_bundle(self._path(question), [packed])
        return found

    def _path(self, question: Question) -> Path:
        return self._folder / f"{question.digest}.reenact"
