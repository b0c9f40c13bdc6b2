"""The files of an experiment: finished cells by their identity, and the scratch of active ones.

``.reenact/experiments/`` lies beside the store, not in it, so that no list shows the runs of cells. A cell is one small
file, written whole or not at all. The scratch of a cell holds the run of each attempt until the cell is done, so that
after an interruption no received answer is asked for again.

A cell under way is locked: by the process that runs it and by the agent that this process has started, which inherits
the lock. So two experiments at once never run a cell twice. If the agent outlives a killed experiment (not on Linux,
where it is ended too), the next experiment waits for it. Windows has no such locks: there the next experiment does not
wait.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from reenact.errors import StoreError
from reenact.store import open_store
from reenact.testing.experiments.cell import KEPT, CellResult

if sys.platform != "win32":
    import fcntl

FOLDER: Final = "experiments"
_PAUSE_S: Final = 0.05


class Cells:
    """The cells of a project.

    Args:
        folder: The folder for the cells; it is made with the first cell.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._done = folder / "cells"
        self._underway = folder / "underway"

    def find(self, key: str) -> CellResult | None:
        """The result of a finished cell; None where the cell is not finished, or its file cannot be read."""
        try:
            return CellResult.from_json(json.loads(self._path(key).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def keep(self, key: str, cell: CellResult) -> None:
        """Keep a finished cell, whole or not at all; a result that may differ next time is not kept."""
        if cell.status not in KEPT:
            return
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}.draft")
        draft.write_text(json.dumps(cell.to_json(), ensure_ascii=False, default=str), encoding="utf-8")
        draft.replace(path)

    def forget(self, key: str) -> None:
        """Forget a cell, so that it is run again."""
        self._path(key).unlink(missing_ok=True)
        shutil.rmtree(self._underway / key, ignore_errors=True)

    @contextmanager
    def attempt(self, key: str, waits: Callable[[], object] = lambda: None) -> Iterator[Attempt]:
        """An active cell, locked for the length of a block.

        Args:
            key: The identity of the cell.
            waits: Called when we wait for another process that runs it.
        """
        self._underway.mkdir(parents=True, exist_ok=True)
        (self._folder / ".gitignore").write_text("*\n", encoding="utf-8")
        lock = self._underway / f"{key}.lock"
        descriptor = locked(lock, waits)
        try:
            yield Attempt(self._underway / key)
        finally:
            lock.unlink(missing_ok=True)  # before it is unlocked: a process that waits checks the name
            os.close(descriptor)

    def _path(self, key: str) -> Path:
        return self._done / key[:2] / f"{key}.json"


class Attempt:
    """The scratch of one cell.

    Args:
        folder: The folder of the scratch.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def earlier(self) -> tuple[str, ...]:
        """The URL of the store and the id of the run of the earlier attempt that came farthest; empty without one. That
        run also holds the answers of the attempts before it, because it was given them."""
        farthest = 0
        found: tuple[str, ...] = ()
        for path in sorted(self._folder.glob("*.db")):
            try:
                with open_store(url := f"sqlite:///{path.absolute()}") as store:
                    for run in store.runs():
                        count = store.open(run).count()
                        if count > farthest:
                            farthest, found = count, (url, run.id)
            except StoreError:  # the attempt was killed before its store was complete
                continue
        return found

    def store(self) -> str:
        """URL of a fresh store for the next attempt."""
        self._folder.mkdir(parents=True, exist_ok=True)
        number = len(list(self._folder.glob("*.db"))) + 1
        return f"sqlite:///{(self._folder / f'{number}.db').absolute()}"

    def done(self) -> None:
        """Remove the scratch: nothing in it is needed any more."""
        shutil.rmtree(self._folder, ignore_errors=True)


def locked(path: Path, waits: Callable[[], object] = lambda: None, *, inherited: bool = True) -> int:
    """A descriptor that holds the lock of a file; removing the file, then closing the descriptor, ends it.

    Args:
        path: The file.
        waits: Called when we wait for another holder of the lock.
        inherited: Whether child processes hold it too.
    """
    told = False
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        if sys.platform == "win32":
            return descriptor
        if _take(descriptor) and _is_at(path, descriptor):
            os.set_inheritable(descriptor, inherited)
            return descriptor
        os.close(descriptor)
        if not told:
            told = True
            waits()
        time.sleep(_PAUSE_S)


if sys.platform != "win32":

    def _take(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _is_at(path: Path, descriptor: int) -> bool:
        """Whether a file still has its name: the previous holder of the lock may have removed it in between."""
        try:
            return os.path.samestat(os.stat(path), os.fstat(descriptor))
        except FileNotFoundError:
            return False
