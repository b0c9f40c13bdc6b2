"""The recordings of the corpus, made once a session, and the seed that chooses samples."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.withstand import stage

SEED = int(os.environ.get("REENACT_SEED", "2"))


@pytest.fixture
def chance() -> random.Random:
    """What chooses a sample; ``REENACT_SEED`` chooses another."""
    return random.Random(SEED)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], stage.Recorded]:
    """A script of the corpus, recorded when it is first asked for. Not to be edited: take a copy."""
    known: dict[str, stage.Recorded] = {}

    def make(name: str) -> stage.Recorded:
        if name not in known:
            known[name] = stage.record(name, tmp_path_factory.mktemp(name))
        return known[name]

    return make


@pytest.fixture
def copy(tmp_path: Path) -> Callable[[stage.Recorded], stage.Recorded]:
    """A copy of a recording whose store may be altered."""
    numbers = itertools.count(1)

    def make(recorded: stage.Recorded) -> stage.Recorded:
        folder = tmp_path / f"copy-{next(numbers)}"
        folder.mkdir()
        return recorded.copied(folder)

    return make
