"""``migrate`` at the command line: what it says, how it ends, one at a time; old runs replay and fork after it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reenact.facts.ids import tail
from reenact.interfaces.cli.main import cli
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_check import check_store
from reenact.store.versions import WRITTEN
from tests.store.aging import age, formats
from tests.store.damaging import change, fill

AGENT = """
import random, time
import reenact

@reenact.tool(effect="read")
def find(said):
    return [{"order": n, "text": f"order {n} of {len(said)} " * 40} for n in range(3)]

said = []
for n in range(8):
    said.append("turn %d: look at it once more, please. " % n * 20)
    said.append(find(said)[0]["text"])
print("done", len(said), random.random(), time.time())
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of the second format."""
    fill(tmp_path / "store.db")
    age(tmp_path / "store.db", 2)
    return tmp_path / "store.db"


def call(path: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--store", f"sqlite:///{path}", "migrate", *words])


def test_the_plan_says_runs_bytes_copy_and_room_and_writes_nothing(path: Path) -> None:
    before = path.read_bytes()
    answer = call(path, "--dry-run")
    assert answer.exit_code == 0
    for said in (
        "is of format 2, the newest is",
        "would rewrite 3 runs:",
        "store.db.format-2.backup",
        "free bytes needed",
    ):
        assert said in answer.stdout
    assert answer.stderr.endswith(" migrate\n") and "next: reenact --store " in answer.stderr
    data = json.loads(call(path, "--dry-run", "--json").stdout)
    assert (data["type"], data["format"], data["newest"], len(data["runs"])) == ("plan", 2, WRITTEN, 3)
    assert 0 < data["after"] < data["bytes"] < data["needed"] < data["free"]
    assert json.loads(call(path, "--dry-run", "--no-backup", "--json").stdout)["backup"] is None
    assert path.read_bytes() == before


def test_done_it_says_so_and_again_that_there_is_nothing_to_do(path: Path) -> None:
    answer = call(path)
    assert answer.exit_code == 0, answer.output
    assert f"is of format {WRITTEN}: 3 runs rewritten" in answer.stdout
    assert "the copy is store.db.format-2.backup" in answer.stdout
    again = call(path)
    assert again.exit_code == 0 and "the newest: there is nothing to do" in again.stdout
    assert json.loads(call(path, "--json").stdout)["runs"] == []


def test_as_json_it_is_one_line_with_the_counts(path: Path) -> None:
    data = json.loads(call(path, "--no-backup", "--json").stdout)
    assert (data["type"], data["format"], len(data["runs"]), data["backup"]) == ("migrated", WRITTEN, 3, None)
    assert data["after"] and data["before"]


def test_damaged_rows_are_named_and_end_with_4(path: Path) -> None:
    change(path, f"UPDATE event SET came = came || ' ' WHERE id = {1 << 32 | 2}")
    answer = call(path)
    assert answer.exit_code == 4
    with SqliteStore(path) as store:
        run = store.run("@~2").id
    assert f"run {tail(run)}: event 2 is damaged, and left as it is" in answer.stdout


def test_where_there_is_no_store_it_is_a_matter_of_usage(tmp_path: Path) -> None:
    answer = call(tmp_path / "none.db")
    assert answer.exit_code == 2 and "no store here" in answer.stderr


def test_a_second_one_says_that_one_is_at_work(path: Path) -> None:
    with SqliteStore(path) as store:
        lock = store.alone("migrate")
        assert lock is not None
        answer = call(path)
        assert answer.exit_code == 4 and "is being migrated" in answer.stderr
        assert formats(path) == (2, 2)
        lock.release()
    assert call(path).exit_code == 0


def test_of_many_at_once_one_does_it(path: Path) -> None:
    words = [sys.executable, "-m", "reenact", "--store", f"sqlite:///{path}", "migrate"]
    started = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(5)]
    ended = [(*each.communicate(), each.returncode) for each in started]
    assert sum("3 runs rewritten" in out for out, _, _ in ended) == 1
    for out, said, code in ended:
        assert (code, "is being migrated" in said) in ((0, False), (4, True)), (out, said)
    assert check_store(path).breaks == () and len([*path.parent.glob("*.backup*")]) == 1


@pytest.mark.parametrize("old", [1, 2])
def test_old_runs_replay_and_their_golden_passes_afterwards(tmp_path: Path, old: int) -> None:
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REENACT_")}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        found = subprocess.run(
            [sys.executable, "-m", "reenact", *words],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert found.returncode == 0, (words, found.stdout, found.stderr)
        return found

    run("record", "--", sys.executable, "agent.py")
    run("golden", "add", "@", "--as", "kept")
    run("fork", "@:3", "--result", '3=[{"text": "another"}]')
    store = tmp_path / ".reenact" / "store.db"
    with SqliteStore(store) as opened:
        before = [(each.id, each.parent) for each in opened.runs()]
    assert any(parent for _, parent in before)
    age(store, old)
    assert "rewritten" in run("migrate").stdout
    assert "is sound" in run("fsck").stdout
    with SqliteStore(store) as opened:
        assert [(each.id, each.parent) for each in opened.runs()] == before
    for each, _ in before:
        verdict = run("replay", each).stderr.splitlines()[-1]
        assert "verdict: same" in verdict, verdict
    run("golden", "run")
    run("fork", "@~1:3", "--result", '3=[{"text": "a third"}]')
    assert "is sound" in run("fsck").stdout
