"""``fsck`` at the command line: what it prints, as text and as JSON, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reenact.facts.ids import tail
from reenact.interfaces.cli.main import cli
from tests.store.damaging import Damaged, change, fill


@pytest.fixture
def store(tmp_path: Path) -> Damaged:
    return fill(tmp_path / "store.db")


def call(store: Damaged, *words: str) -> Result:
    """One command on the store."""
    return CliRunner().invoke(cli, ["--store", f"sqlite:///{store.path}", *words])


def test_a_sound_store_ends_with_0(store: Damaged) -> None:
    answer = call(store, "fsck")
    assert answer.exit_code == 0
    assert "is sound: 3 runs" in answer.stdout
    answer = call(store, "fsck", "--json")
    assert [json.loads(line)["breaks"] for line in answer.stdout.splitlines()] == [0]


def test_a_damaged_one_ends_with_4_and_names_runs_and_events(store: Damaged) -> None:
    change(store.path, f"UPDATE event SET came_crc = 1 WHERE id = {1 << 32 | 3}")
    answer = call(store, "fsck")
    assert answer.exit_code == 4
    wanted = f"event 3 does not agree with its check sum: run {tail(store.first.id)} #3; run {tail(store.fork.id)} #3"
    assert answer.stdout.splitlines()[0] == wanted
    assert "is damaged: 1 break, 2 of 3 runs touched" in answer.stdout
    answer = call(store, "fsck", "--json")
    broken, counts = map(json.loads, answer.stdout.splitlines())
    assert answer.exit_code == 4
    assert broken["touched"] == [{"run": run.id, "events": [3]} for run in (store.first, store.fork)]
    assert (counts["breaks"], counts["touched"], counts["runs"]) == (1, 2, 3)


def test_what_is_no_store_is_said(tmp_path: Path) -> None:
    answer = CliRunner().invoke(cli, ["--store", f"sqlite:///{tmp_path}/none.db", "fsck"])
    assert answer.exit_code == 2 and "no store here" in answer.stderr
    (tmp_path / "other.db").write_bytes(b"another thing" * 100)
    answer = CliRunner().invoke(cli, ["--store", f"sqlite:///{tmp_path}/other.db", "fsck"])
    assert answer.exit_code == 4 and "damaged" in answer.stderr
