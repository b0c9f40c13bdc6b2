"""What every test may use: the shared real data, the sweep switch, and the profiles of the property tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.leftovers import Picture

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("local", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, max_examples=100)
settings.register_profile(
    "sweep", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
SWEEP = os.environ.get("REENACT_SWEEP", "") not in {"", "0"}
settings.load_profile("sweep" if SWEEP else "ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def sweep() -> bool:
    """Whether every example of every sweep is wanted (``make sweep``), not a selection."""
    return SWEEP


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of this checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real provider traffic, which is not part of this project; skips where it is not at hand.

    ``REENACT_SHARED`` names the folder that holds ``data/``; without it ``shared`` beside the checkout is tried.
    """
    named = os.environ.get("REENACT_SHARED")
    data = (Path(named) if named else ROOT.parent / "shared") / "data"
    if not data.is_dir():
        pytest.skip("no shared data here: REENACT_SHARED names no folder with data/, and ../shared/data does not exist")
    return data


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fails a test that leaves a session, a patched function, a thread, an environment variable or a folder behind:
    the next test would find them, and fail or pass by the order of tests."""
    before = Picture.taken()
    yield
    left = list(before.differences())
    assert not left, f"the test leaves behind: {'; '.join(left)}"
