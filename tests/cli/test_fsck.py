"""``fsck`` and ``salvage`` at the command line: what they print, as text and as JSON, and how they end."""

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


def test_salvage_names_what_is_lost_and_show_says_it_too(store: Damaged, tmp_path: Path) -> None:
    change(store.path, f"DELETE FROM payload WHERE id = (SELECT answer FROM event WHERE id = {1 << 32 | 2})")
    new = tmp_path / "new"
    answer = call(store, "salvage", "-o", str(new))
    assert answer.exit_code == 4
    first = f"run {tail(store.first.id)}: the answer of event 2 is lost"
    assert answer.stdout.splitlines()[:2] == [first, first.replace(tail(store.first.id), tail(store.fork.id))]
    assert "1 runs whole, 2 in part, 0 lost" in answer.stdout and f"next: reenact --store {new} ls" in answer.stderr
    told = CliRunner().invoke(cli, ["--store", str(new), "show", store.first.id])
    assert told.exit_code == 0 and "degraded: the answer of event 2 was lost in a damaged store" in told.stdout
    told = CliRunner().invoke(cli, ["--store", str(new), "show", f"{store.first.id}:2"])
    assert "withheld its answer was lost in a damaged store" in told.stdout


def test_salvage_as_json_into_one_file(store: Damaged, tmp_path: Path) -> None:
    new = f"sqlite:///{tmp_path}/new.db"
    answer = CliRunner().invoke(cli, ["salvage", f"sqlite:///{store.path}", "-o", new, "--json"])
    assert answer.exit_code == 0, answer.stderr
    assert json.loads(answer.stdout) == {
        "type": "salvaged", "store": new, "whole": [run.id for run in (store.first, store.other, store.fork)],
        "partly": [], "lost": [],
    }  # fmt: skip
    again = CliRunner().invoke(cli, ["salvage", f"sqlite:///{store.path}", "-o", new])
    assert again.exit_code == 2 and "is there already" in again.stderr
