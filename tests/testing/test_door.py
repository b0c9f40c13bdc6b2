"""The door of ``reenact.testing`` is light: nothing is loaded before it is used, and judging loads no recorder."""

from __future__ import annotations

import subprocess
import sys

import reenact.testing

LIGHT = """
import sys
import reenact.testing
assert not [name for name in sys.modules if name.startswith("reenact.testing.")], sys.modules
from reenact.testing import expect
expect("calls(search_docs) <= 3")
heavy = ("reenact.recording", "reenact.replaying", "reenact.store", "reenact.seams", "asyncio", "http", "wrapt")
print([name for name in sys.modules if name.startswith(heavy)])
"""


def test_nothing_is_loaded_before_it_is_used() -> None:
    ran = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stdout) == (0, "[]\n"), ran.stdout + ran.stderr


def test_every_name_is_there_and_says_what_it_is() -> None:
    for name in reenact.testing.__all__:
        assert getattr(reenact.testing, name).__doc__, name
    assert set(reenact.testing.__all__) <= set(dir(reenact.testing))
