"""One flipped bit anywhere in a store's file: every question is answered as before, or the damage is named, by the
answer or by ``fsck``; nothing raises an error of SQLite, zlib, JSON or Unicode."""

from __future__ import annotations

import os
import random
import sqlite3
from collections import Counter
from contextlib import closing as closed
from pathlib import Path

import pytest

from reenact.errors import ReenactError
from reenact.store.store_check import check_store
from tests.store.answers import answers
from tests.store.damaging import fill

FLIPS = 700 if os.environ.get("REENACT_SWEEP") == "1" else 48
UNPROTECTED = {"note", "slot", "gap", "lane", "ambient", "printed"}
"""Tables with columns that no check sum holds and nothing else repeats: names, counts, remarks, fidelity, times."""


def pages_of(path: Path) -> dict[int, str]:
    """Which page belongs to which table or index, where this SQLite says so."""
    with closed(sqlite3.connect(path)) as connection:
        try:
            return dict(connection.execute("SELECT pageno, name FROM dbstat"))
        except sqlite3.OperationalError:
            return {}


def is_named(path: Path) -> bool:
    """Whether ``fsck`` names anything."""
    try:
        return bool(check_store(path).breaks)
    except ReenactError:
        return True


@pytest.mark.parametrize("seed", range(FLIPS // 48 + 1 if FLIPS > 48 else 1))
def test_a_flipped_bit_is_named_or_changes_nothing(tmp_path: Path, seed: int) -> None:
    made = fill(tmp_path / "made.db")
    runs = (made.first, made.other, made.fork)
    good = answers(made.path, runs)
    assert not [each for each in good.values() if isinstance(each, ReenactError)]
    whole, pages = made.path.read_bytes(), pages_of(made.path)
    page = int.from_bytes(whole[16:18], "big")
    used = [at for at, byte in enumerate(whole) if byte]
    chance = random.Random(seed)
    felt: Counter[str] = Counter()
    for n in range(48):
        at, bit = chance.choice(used), chance.randrange(8)
        path = tmp_path / f"{n}.db"
        data = bytearray(whole)
        data[at] ^= 1 << bit
        path.write_bytes(data)
        said = answers(path, runs)  # an error that is not ours ends the test here
        errors = [name for name, each in said.items() if isinstance(each, ReenactError)]
        other = [name for name, each in said.items() if name not in errors and each != good[name]]
        named = is_named(path)
        where = f"bit {bit} of byte {at} ({pages.get(at // page + 1)}): {other[:4]}"
        if not pages or pages.get(at // page + 1) not in UNPROTECTED:
            assert named or not (errors or other), where
        felt["an error" if errors else "another answer" if other else "nothing"] += 1
        path.unlink()
    assert felt["an error"] > 10, felt
    assert felt["another answer"] <= 8, felt


def test_a_table_that_is_declared_otherwise_is_named(tmp_path: Path) -> None:
    """Printed lines came in another order where ``INTEGER PRIMARY KEY`` had become something else by one bit."""
    made = fill(tmp_path / "made.db")
    assert not check_store(made.path).breaks
    whole = made.path.read_bytes()
    sound, flipped = b"TABLE printed(id INTEGER PRIMARY KEY", b"TABLE printed(id INTEGES PRIMARY KEY"
    assert whole.count(sound) == 1
    made.path.write_bytes(whole.replace(sound, flipped))
    assert [(each.what, each.name) for each in check_store(made.path).breaks if each.what == "schema"] == [
        ("schema", "printed")
    ]


def test_a_lane_that_is_lost_is_named_by_whatever_needs_it(tmp_path: Path) -> None:
    made = fill(tmp_path / "made.db")
    with closed(sqlite3.connect(made.path)) as connection, connection:
        connection.execute("DELETE FROM lane")
    runs = (made.first, made.other, made.fork)
    said = answers(made.path, runs)  # an error that is not ours ends the test here
    versions = [
        str(each) for name, each in said.items() if name.endswith("versions") and isinstance(each, ReenactError)
    ]
    assert versions and all("the lane of event" in each for each in versions)
    assert is_named(made.path)
