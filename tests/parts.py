"""The two parts of the suite: the short one, for ``make test``, and the long one, which ``tests/long.txt`` names.

A test is in exactly one of them. A line of the list is a file, a test or a parametrised example of a test, as pytest
prints it; it stands for all that lies below it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

LIST = Path(__file__).resolve().parent / "long.txt"
PARTS = ("all", "short", "long")
Item = TypeVar("Item")


def names(text: str) -> list[str]:
    """The names in a list: a line each, without blank lines and comments."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def within(node: str, name: str) -> bool:
    """Whether a test is what the name stands for, or lies below it."""
    return node == name or node.startswith((name + "::", name + "["))


def elsewhere(file: str, part: str, listed: list[str]) -> bool:
    """Whether no test of a file is in a part: the short one has none of a file that is listed whole, the long one none
    of a file of which nothing is listed."""
    if part == "short":
        return file in listed
    return not any(within(name, file) for name in listed)


def split(nodes: Iterable[tuple[str, Item]], listed: list[str]) -> tuple[list[Item], list[Item]]:
    """The tests of the short part and those of the long part, in the order in which they are given."""
    short: list[Item] = []
    long: list[Item] = []
    for node, item in nodes:
        (long if any(within(node, name) for name in listed) else short).append(item)
    return short, long
