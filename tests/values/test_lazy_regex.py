"""Proves that a lazy expression does what a compiled one does, and is compiled when it is first used."""

from __future__ import annotations

import copy
import re
import subprocess
import sys

import pytest

from reenact.facts.lazy_regex import complete, lazy_regex


def test_it_finds_what_a_compiled_one_finds() -> None:
    text = r"(?P<name>[a-z]+)=(\d+)"
    lazy, known = lazy_regex(text, re.IGNORECASE), re.compile(text, re.IGNORECASE)
    said = "A=1, b=22; c"
    assert lazy.pattern == known.pattern
    for method in ("match", "search", "fullmatch"):
        for data in (said, "b=2", ""):
            left, right = getattr(lazy, method)(data), getattr(known, method)(data)
            assert (left and left.groups()) == (right and right.groups())
    assert lazy.findall(said) == known.findall(said) and lazy.split(said) == known.split(said)
    assert [each.span() for each in lazy.finditer(said, 2)] == [each.span() for each in known.finditer(said, 2)]
    assert lazy.sub("-", said) == known.sub("-", said) and lazy.subn("-", said, 1) == known.subn("-", said, 1)
    assert (lazy.groups, lazy.groupindex, lazy.flags) == (known.groups, known.groupindex, known.flags)


def test_bytes_are_searched_too() -> None:
    assert lazy_regex(rb"\d+").findall(b"1 22") == [b"1", b"22"]


def test_it_has_nothing_else() -> None:
    with pytest.raises(AttributeError):
        lazy_regex("x").nothing  # type: ignore[attr-defined]
    assert copy.copy(lazy_regex("x")).match("x")


def test_it_is_compiled_at_its_first_use_or_with_all_of_them() -> None:
    first, second = lazy_regex("one"), lazy_regex("two")
    assert "match" not in vars(first)
    assert first.match("one") and "match" in vars(first) and "match" not in vars(second)
    complete()
    assert "search" in vars(second)


def test_every_expression_of_the_package_is_one() -> None:
    program = (
        "import pkgutil\n"
        "from importlib import import_module\n"
        "import reenact\n"
        "from reenact.facts import lazy_regex\n"
        "for each in pkgutil.walk_packages(reenact.__path__, 'reenact.'):\n"
        "    if not each.name.endswith('__main__'):\n"
        "        import_module(each.name)\n"
        "known = len(lazy_regex._uncompiled)\n"
        "lazy_regex.complete()\n"
        "print(known > 300)\n"
    )
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "True\n"
    )


def test_a_start_compiles_a_tenth_of_them() -> None:
    program = (
        "import reenact\n"
        "reenact.record\n"
        "from reenact.facts import lazy_regex\n"
        "made = lazy_regex._uncompiled\n"
        "print(len(made) > 150, sum('match' in vars(each) for each in made) * 10 < len(made))\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told == "True True\n"
