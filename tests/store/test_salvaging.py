"""What can be read of a damaged store is saved, what is lost is named, the source stays as it is, and nothing half-made
is left whatever happens."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing as closed
from pathlib import Path

import pytest

from reenact.errors import StoreError, UsageError
from reenact.facts.call import Fidelity
from reenact.store import connection as connections
from reenact.store.salvaged_store import SalvageResult, salvage
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_check import check_store
from tests.conftest import ROOT
from tests.store.damaging import Damaged, change, fill
from tests.store.test_machine import everything

FIRST = 1 << 32


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Damaged:
    """Recorded once."""
    return fill(tmp_path_factory.mktemp("made") / "store.db")


@pytest.fixture
def store(made: Damaged, tmp_path: Path) -> Damaged:
    """A copy to be damaged."""
    (tmp_path / "source").mkdir()
    shutil.copy(made.path, tmp_path / "source" / "store.db")
    return Damaged(tmp_path / "source" / "store.db", made.first, made.other, made.fork)


def quiet(what: str, done: int, total: int) -> None:
    """Nobody looks."""


def saved(store: Damaged, to: Path) -> SalvageResult:
    """Salvage into a folder."""
    before = store.path.read_bytes()
    found = salvage(store.path, to / "store.db", quiet, own_directory=True)
    assert store.path.read_bytes() == before
    assert check_store(to / "store.db").breaks == ()
    assert sorted(each.name for each in to.parent.iterdir()) == sorted({"source", to.name})
    return found


def said(path: Path, store: Damaged, runs: tuple[str, ...]) -> list[object]:
    with SqliteStore(path) as opened:
        found = [everything(opened, opened.run(run)) for run in runs]
        for each in found:  # each store has digests of its own
            each["run"] = each["run"].id, each["run"].status, each["run"].tags, each["run"].totals
        return [*found, [run.id for run in opened.runs()], [run.id for run in opened.runs(text="user")]]


def test_a_sound_store_is_saved_whole(store: Damaged, tmp_path: Path) -> None:
    runs = tuple(run.id for run in (store.first, store.other, store.fork))
    found = saved(store, tmp_path / "new")
    assert found == SalvageResult(runs, (), (), ())
    assert said(tmp_path / "new" / "store.db", store, runs) == said(store.path, store, runs)


@pytest.mark.parametrize(
    ("sql", "lost"),
    [
        (f"UPDATE event SET came_crc = 1 WHERE id = {FIRST | 2}", {(2, "the row")}),
        (f"DELETE FROM event WHERE id = {FIRST | 2}", {(2, "all")}),
        (f"DELETE FROM payload WHERE id = (SELECT answer FROM event WHERE id = {FIRST | 2})", {(2, "the answer")}),
        (f"DELETE FROM payload WHERE id = (SELECT request FROM event WHERE id = {FIRST | 3})", {(3, "the request")}),
        (f"DELETE FROM chunk WHERE event = {FIRST | 5} AND n = 0", {(5, "the answer from some part on")}),
        (f"UPDATE slot SET digest = zeroblob(16) WHERE event = {FIRST | 6} AND phase = 'out'",
         {(6, "the state (out)")}),
        (f"UPDATE note SET value = '7' WHERE owner = {FIRST | 6} AND name = 'short'", {(6, "the evidence")}),
        (f"UPDATE turns SET crc = 1 WHERE id >> 32 = {FIRST >> 32}", {(None, "the order from some turn on")}),
        (f"UPDATE ambient SET crc = 1 WHERE strand >> 32 = {FIRST >> 32}", {(None, "some reads of the surroundings")}),
        (f"UPDATE printed SET crc = 1 WHERE owner >> 32 = {FIRST >> 32}", {(None, "some of the standard output")}),
    ],
)  # fmt: skip
def test_a_loss_is_named_in_its_runs_and_the_rest_is_saved(
    store: Damaged, tmp_path: Path, sql: str, lost: set[tuple[int | None, str]]
) -> None:
    change(store.path, sql)
    found = saved(store, tmp_path / "new")
    own = {(each.event, each.what) for each in found.losses if each.run == store.first.id}
    assert own == lost
    assert store.other.id in found.whole and found.lost == ()
    assert (
        said(tmp_path / "new" / "store.db", store, (store.other.id,))[0]
        == said(store.path, store, (store.other.id,))[0]
    )
    with SqliteStore(tmp_path / "new" / "store.db") as opened:
        recording = opened.open(store.first.id)
        assert any("was lost in a damaged store" in each for each in recording.run.degraded)
        everything(opened, recording.run)
        for number, what in lost:
            if number is not None and what in ("the answer", "the request"):
                assert recording.event(number).fidelity is Fidelity.WITHHELD
                assert "lost" in recording.event(number).fidelity_note
            if what in ("the answer", "the row"):
                assert recording.count() in (6, 7)


def test_a_run_whose_row_is_damaged_is_lost_by_name(store: Damaged, tmp_path: Path) -> None:
    change(store.path, "UPDATE run SET crc = 1 WHERE id = 1")
    found = saved(store, tmp_path / "new")
    assert found.lost == (store.first.id,)
    assert found.whole == (store.other.id, store.fork.id), "the fork's rows are there"
    assert found.losses[0].run == store.first.id


def test_torn_pages_cost_what_lies_on_them(store: Damaged, tmp_path: Path) -> None:
    with closed(sqlite3.connect(store.path)) as connection:
        root, size = connection.execute(
            "SELECT rootpage, (SELECT * FROM pragma_page_size) FROM sqlite_master WHERE name = 'ambient'"
        ).fetchone()
    with open(store.path, "r+b") as file:
        file.seek((root - 1) * size)
        file.write(bytes(size))
    found = saved(store, tmp_path / "new")
    assert {each.what for each in found.losses} == {"some reads of the surroundings"}
    assert len(found.partly) == 3


def test_what_is_there_is_not_overwritten(store: Damaged, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    with pytest.raises(UsageError, match="is there already"):
        salvage(store.path, tmp_path / "new" / "store.db", quiet, own_directory=True)
    assert [*(tmp_path / "new").iterdir()] == []


def test_a_full_disk_is_said_and_leaves_nothing(
    store: Damaged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def limited(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        connection.execute("PRAGMA max_page_count = 50")
        return connection

    connect = connections.connect_writing
    monkeypatch.setattr(connections, "connect_writing", limited)
    with pytest.raises(StoreError, match=r"full[\s\S]*next: df -h"):
        salvage(store.path, tmp_path / "new" / "store.db", quiet, own_directory=True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["source"]


def test_a_killed_salvage_leaves_no_store_and_the_next_one_cleans_up(store: Damaged, tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from reenact.store.salvaged_store import salvage\n"
        "def told(what, done, total):\n"
        "    if done == 2: os.kill(os.getpid(), 9)\n"
        f"salvage(Path({str(store.path)!r}), Path({str(tmp_path / 'new' / 'store.db')!r}), told, own_directory=True)"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not (tmp_path / "new").exists()
    assert len([*tmp_path.iterdir()]) == 2, "the draft is hidden beside it"
    assert saved(store, tmp_path / "new").partly == ()


def test_a_single_file(store: Damaged, tmp_path: Path) -> None:
    found = salvage(store.path, tmp_path / "one.db", quiet, own_directory=False)
    assert len(found.whole) == 3
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one.db", "source"]
    assert check_store(tmp_path / "one.db").runs == 3
    assert os.stat(tmp_path / "one.db").st_mode & 0o777 == 0o600


def test_a_run_without_a_row_is_named_by_its_log(store: Damaged, tmp_path: Path) -> None:
    change(store.path, "DELETE FROM run WHERE id = 2")
    found = saved(store, tmp_path / "new")
    assert (found.lost, found.whole) == (("log 2",), (store.first.id, store.fork.id))


def test_nothing_is_made_of_what_is_no_store(tmp_path: Path) -> None:
    for content in (b"", b"not a database" * 400):
        (tmp_path / "source.db").write_bytes(content)
        with pytest.raises(StoreError):
            salvage(tmp_path / "source.db", tmp_path / "new" / "store.db", quiet, own_directory=True)
        assert [each.name for each in tmp_path.iterdir()] == ["source.db"]
