"""A reader of the documents: an empty home directory, from which the examples are typed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import commands

OURS = ("REENACT_", "PYTEST", "COV_", "HYPOTHESIS", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHASHSEED")


@pytest.fixture
def reader(tmp_path: Path) -> Callable[[bool], dict[str, str]]:
    """Make a reader's environment; the argument says whether the project's environment is active already."""

    def make(active: bool) -> dict[str, str]:
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        # How wide a line may be does not depend on what runs the tests.
        env = {name: value for name, value in os.environ.items() if not name.startswith(OURS) and name != "COLUMNS"}
        here = str(Path(sys.executable).parent)
        path = [part for part in env.get("PATH", os.defpath).split(os.pathsep) if part != here]
        env["PATH"] = os.pathsep.join([here, *path] if active else path)
        return {**env, **commands.only_our_plugin("recording"), "HOME": str(home)}

    return make
