"""The test that goes with a golden: a function of three lines in ``tests/test_goldens.py``."""

from __future__ import annotations

import re
from typing import Final

from reenact.testing.goldens.golden_dir import GoldenDir

FILE: Final = "test_goldens.py"
_HEAD = '''"""Incidents that must not come back. Each test runs today's code on a recorded run, and judges it."""

import pytest
'''
_TEST = '''

@pytest.mark.reenact("{name}")
def {function}(replayed):
    """{name}: what is expected of it stands in tests/goldens/{name}.reenact."""
'''


def add_test(golden_dir: GoldenDir, name: str) -> str:
    """Add the test of a golden, unless there is one; gives its node id. Everything else in the file stays as it is."""
    path = golden_dir.folder.parent / FILE
    function = "test_" + re.sub(r"[^0-9a-z]+", "_", name.lower()).strip("_")
    text = path.read_text(encoding="utf-8") if path.exists() else _HEAD
    if f'reenact("{name}")' not in text:
        function = _free(function, text)
        text = text.rstrip("\n") + "\n" + _TEST.format(name=name, function=function)
        path.write_text(text, encoding="utf-8")
    else:
        function = _its_function(name, text) or function
    return f"{golden_dir.shown(path)}::{function}"


def remove_test(golden_dir: GoldenDir, name: str) -> tuple[str, bool]:
    """Remove the test of a golden, if it is still as ``add_test`` wrote it.

    Args:
        golden_dir: The folder that the golden was in.
        name: The name of the golden.

    Returns:
        The node id of the test, empty without one; and whether it was removed. A test that was changed stays.
    """
    path = golden_dir.folder.parent / FILE
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found = _its_function(name, text)
    if not found:
        return "", False
    written = _TEST.format(name=name, function=found)
    if f"{text.rstrip()}\n\n".find(written.rstrip() + "\n\n") < 0:
        return f"{golden_dir.shown(path)}::{found}", False
    left = re.sub(r"\n{4,}", "\n\n\n", text.replace(written.rstrip(), "", 1))
    path.write_text(left.rstrip() + "\n", encoding="utf-8")
    return f"{golden_dir.shown(path)}::{found}", True


def _its_function(name: str, text: str) -> str:
    found = re.search(rf'reenact\("{re.escape(name)}"\)\s*(?:async\s+)?def\s+(\w+)', text)
    return found[1] if found else ""


def _free(function: str, text: str) -> str:
    """A name that the file does not use yet."""
    found, number = function, 2
    while re.search(rf"def {found}\(", text):
        found, number = f"{function}_{number}", number + 1
    return found
