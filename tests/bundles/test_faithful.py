"""A recording that went through a bundle says by every view what it said before, and packs to the same bytes again."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reenact.abc.store import Store
from reenact.facts.call import Kind
from reenact.facts.record import (
    AmbientRead,
    CallIssued,
    CheckpointTaken,
    EvidenceNoted,
    GapNoted,
    LaneOpened,
    OutputPrinted,
    Record,
    RunClosed,
    RunOpened,
)
from reenact.facts.run import Entry, Run, Status, Totals
from reenact.store.bundles import BundleStore, PackedRun, bundle_store, read_bundle, write_bundle
from reenact.store.memory_store import MemoryStore
from reenact.store.run_records import as_begun, records_of
from reenact.store.sqlite_store import SqliteStore
from tests.store.records import closing, failed, issued, new_run, opening, settled, streamed, turns
from tests.store.test_machine import Writer, batch_of, everything


def packed(store: Store, run: Run) -> PackedRun:
    """A run of a store, as a bundle takes it."""
    recording = store.open(run.id)
    inner = [store.open(each) for each in store.runs(parent=run.id) if each.lane]
    records = tuple(records_of(recording, inner))
    return PackedRun("run", as_begun(recording.run), records)


def through(folder: Path, store: Store, run: Run) -> tuple[BundleStore, SqliteStore]:
    """The run in a bundle, and in a second store that took the bundle in; proves that it packs the same again."""
    path = folder / "x.reenact"
    digest = write_bundle(path, [packed(store, run)])
    opened = bundle_store(path)
    other = SqliteStore(folder / f"other{run.id}" / "store.db")
    other.adopt([(each.run, each.records) for each in opened.bundle.runs])
    again = folder / "again.reenact"
    assert write_bundle(again, [packed(other, run)]) == digest
    assert again.read_bytes() == path.read_bytes()
    assert write_bundle(again, [packed(opened, run)]) == digest
    return opened, other


def full(run: Run) -> list[Record]:
    """One of everything, the odd cases among them."""
    child = replace(new_run(parent=run.id, relation="child", agent="inner"), lane="root/child#1")
    return [
        *opening(run),
        LaneOpened(1, "root/child#1", 0),
        RunOpened(child),
        issued(0, head={"tool": "t", "odd": "\udcff", "n": 1.5, "none": None}, channel="c", ordinal="call_1",
               source="a.py:3"),
        settled(0, b"x" * 70_000, delivery=4),
        issued(1, b"\x00\xff", parent=0, note="sealed: mail", observed=True),
        failed(1, "text \u2028 with odd \x1b letters"),
        issued(2, bytes(range(256)) * 8, kind=Kind.HTTP, name="POST x"),
        *streamed(2, [b"data: a\n\n", b"\xff\xfe", b"", b"z" * 40_000]),
        issued(3, "größe 日本".encode(), lane=1),
        *streamed(3, [b"part"], end=False),
        EvidenceNoted(1, "k", {"deep": [1, {"x": None}]}),
        EvidenceNoted(None, "kit.process", {"sources": {"a.py": "12"}}),
        CheckpointTaken(0, "in", {"state": b'{"a":1}', "empty": b""}),
        CheckpointTaken(1, "out", {}),
        AmbientRead(0, 0, "wall", b"\x00\x00\x00\x04abcd"),
        AmbientRead(0, 0, "wall", b"\x00\x00\x00\x04efgh"),
        AmbientRead(1, 2, "env/HOME", b"\x00\x00\x00\x02xy"),
        turns(0, 200), turns(300, 5, "root/unknown#1"),
        OutputPrinted(1, 5, b"hello\n"), OutputPrinted(2, 6, b"\xff oops"), OutputPrinted(1, 7, b"there\n" * 30_000),
        GapNoted("escaped", "a.py:4", 2),
        RunClosed(replace(child, status=Status.OK, ended_us=child.started_us + 9), {"extra": [1]}),
    ]  # fmt: skip


@pytest.mark.parametrize("status", [Status.OK, Status.FAILED, None], ids=["ended", "failed", "interrupted"])
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_one_of_everything_comes_through(tmp_path: Path, kind: str, status: Status | None) -> None:
    store: Any = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "store.db")
    run = new_run(
        agent="shop", version="3", user="u", tags={"k": "v"}, origin_us=7, environment={"n": [1, None], "t": (1, 2)},
        entry=Entry("command", ("python", "x.py"), cwd="/there", project="/there"), capture={"order": "exact"},
        files={"a": "b"}, totals=Totals(events=4), degraded=("why",), exit_status=-9,
    )  # fmt: skip
    log = store.begin(run)
    log.write(full(run))
    if status is not None:
        log.write([closing(run, status)])
    log.close()
    opened, other = through(tmp_path, store, run)
    expected = everything(store, run)
    expected["run"] = replace(expected["run"], environment={"n": [1, None], "t": [1, 2]})
    assert everything(opened, run) == expected
    assert everything(other, run) == expected
    (inner,) = other.runs(parent=run.id)
    assert everything(opened, inner) == everything(other, inner) == everything(store, inner)
    assert [*opened.open(run.id).reads()] == [*store.open(run.id).reads()] == [*other.open(run.id).reads()]
    store.close()
    other.close()


@settings(max_examples=settings().max_examples // 3)
@given(data=st.data(), ended=st.booleans(), kind=st.sampled_from(["memory", "sqlite"]))
def test_any_recording_comes_through(data: st.DataObject, ended: bool, kind: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store: Any = MemoryStore() if kind == "memory" else SqliteStore(folder / "store.db")
        run = new_run()
        writer = Writer(run, [store.begin(run)])
        writer.logs[0].write(opening(run))
        for _ in range(data.draw(st.integers(0, 4))):
            writer.logs[0].write(batch_of(writer, data))
        if ended:
            writer.logs[0].write([closing(run)])
        writer.logs[0].close()
        opened, other = through(folder, store, run)
        assert everything(opened, run) == everything(store, run) == everything(other, run)
        store.close()
        other.close()


def test_a_run_is_packed_without_the_seal_of_who_recorded_it(tmp_path: Path) -> None:
    store = MemoryStore()
    run = new_run(capture={"seal": "mine", "order": "exact"})
    log = store.begin(run)
    log.write([*opening(run), closing(run)])
    log.close()
    write_bundle(tmp_path / "x.reenact", [packed(store, run)])
    assert read_bundle(tmp_path / "x.reenact").main.run.capture == {"order": "exact"}


def test_a_run_with_all_the_sources_it_may_keep_fits(tmp_path: Path) -> None:
    run = new_run()
    texts = {f"{n}.py": '"\n\\' * 65_000 for n in range(10)}  # 2 MiB in which every letter is escaped
    store = MemoryStore()
    log = store.begin(run)
    log.write([*opening(run), EvidenceNoted(None, "kit.process", {"texts": texts}), closing(run)])
    log.close()
    write_bundle(tmp_path / "x.reenact", [packed(store, run)])
    with bundle_store(tmp_path / "x.reenact") as opened:
        assert opened.open(run.id).notes(None) == {"kit.process": {"texts": texts}}


def test_bytes_do_not_depend_on_how_the_run_was_written(tmp_path: Path) -> None:
    run = new_run()
    found = []
    for together in (True, False):
        store = SqliteStore(tmp_path / str(together) / "store.db")
        log = store.begin(run)
        records: list[Record] = [*full(run)[:2], *[each for each in full(run)[5:] if not isinstance(each, RunClosed)]]
        records.sort(key=lambda each: isinstance(each, CallIssued), reverse=True)
        for batch in [records] if together else [[each] for each in records]:
            log.write(batch)
        log.write([closing(run)])
        log.close()
        path = tmp_path / f"{together}.reenact"
        write_bundle(path, [packed(store, run)])
        found.append(path.read_bytes())
        store.close()
    assert found[0] == found[1]
