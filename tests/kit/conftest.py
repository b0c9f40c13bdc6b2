"""A desk at which programs are recorded."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from reenact.store.memory_store import MemoryStore
from tests.kit.recorded import Workbench


@pytest.fixture
def desk(tmp_path: Path) -> Workbench:
    """An empty directory with a store of its own."""
    folder = tmp_path / "project"
    folder.mkdir()
    return Workbench(folder)


@pytest.fixture
def repository(desk: Workbench) -> Workbench:
    """The same, where there is git; commit what lies there with ``desk.commit()``."""
    if shutil.which("git") is None:
        pytest.skip("there is no git here")
    return desk


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    """An empty store in memory."""
    with MemoryStore() as opened:
        yield opened
