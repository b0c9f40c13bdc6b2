"""The test that goes with a golden: a function of three lines in ``tests/test_goldens.py``."""

from __future__ import annotations

import re
from typing import Final

from reenact.testing.goldens.shelf import Shelf

FILE: Final = "test_goldens.py"
_HEAD = '''"""Incidents that must not come back. Each test runs today's code on a recorded run, and judges it."""

import pytest
'''
_TEST = '''

@pytest.mark.reenact("{name}")
def {function}(replayed):
    """{name}: what is expected of it stands in tests/goldens/{name}.reenact."""
'''


def add_test(shelf: Shelf, name: str) -> str:
    """Add the test of a golden, unless there is one; gives its node id. Everything else in the file stays as it is."""
    path = shelf.folder.parent / FILE
    function = "test_" + re.sub(r"[^0-9a-z]+", "_", name.lower()).strip("_")
    text = path.read_text(encoding="utf-8") if path.exists() else _HEAD
    if f'reenact("{name}")' not in text:
        function = _free(function, text)
        text = text.rstrip("\n") + "\n" + _TEST.format(name=name, function=function)
        path.write_text(text, encoding="utf-8")
    else:
        found = re.search(rf'reenact\("{re.escape(name)}"\)\s*(?:async\s+)?def\s+(\w+)', text)
        function = found[1] if found else function
    return f"{shelf.shown(path)}::{function}"


def _free(function: str, text: str) -> str:
    """A name that the file does not use yet."""
    found, number = function, 2
    while re.search(rf"def {found}\(", text):
        found, number = f"{function}_{number}", number + 1
    return found
