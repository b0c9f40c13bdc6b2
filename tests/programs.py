"""Programs under test that are files, read as text: a test writes it to where it runs, perhaps with a line replaced."""

from __future__ import annotations

from pathlib import Path

_TESTS = Path(__file__).resolve().parent


def read_program(name: str) -> str:
    """The text of a program under test.

    Args:
        name: Its area and its file, such as ``forks/payer.py`` for ``tests/forks/programs/payer.py``.

    Returns:
        The text, to be run as it is or with one line of it replaced.
    """
    area, file = name.split("/")
    return (_TESTS / area / "programs" / file).read_text(encoding="utf-8")
