"""Today's run of a golden comes over whole, as any other store would keep it; what is no such run is refused."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

import reenact
from reenact.errors import StoreError
from reenact.facts.run import Status
from reenact.store.bundles.record_lines import line_of
from reenact.store.memory_store import MemoryStore
from reenact.store.run_records import records_of
from reenact.testing.goldens.result_file import ResultFile, read_result, recording_of


@reenact.tool(effect="read")
def fetch(page: int) -> dict[str, object]:
    return {"page": page, "text": "é" * 20_000, "half": "\ud83d"}


@reenact.tool(effect="read")
def raw(size: int) -> bytes:
    return bytes(range(256)) * size


@pytest.fixture
def handed(tmp_path: Path) -> str:
    """Where a run was left: with long texts, bytes, a step, an error and a run of its own inside."""
    into = f"handed:{tmp_path / 'today.json'}"
    file = ResultFile(into)
    with reenact.record(store=file.store, agent="outer"):
        state = {"pages": 0}
        with reenact.step("read", state):
            fetch(1)
            raw(4)
            state["pages"] = 1
        with reenact.record(agent="inner"):
            fetch(2)
        with pytest.raises(TypeError):
            fetch()  # type: ignore[call-arg]
    file.hand_over()
    return into


def whole(store: MemoryStore, run: str) -> list[object]:
    """Every record of a run, with those of the runs in its log, as a bundle says it."""
    inner = [store.open(each) for each in store.runs(parent=run)]
    return [line_of(record, lambda data: sha256(data).hexdigest()) for record in records_of(store.open(run), inner)]


def test_every_record_comes_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = ResultFile(f"handed:{tmp_path / 'today.json'}")
    store = file.store
    with reenact.record(store=store, agent="outer") as run:
        fetch(1)
        raw(4)
        with reenact.record(agent="inner"):
            fetch(2)
    file.hand_over()
    there = read_result(store.url, run.id)
    assert whole(there, run.id) == whole(store, run.id)
    assert [each.agent for each in there.runs()] == [each.agent for each in store.runs()] == ["inner", "outer"]
    assert not list(tmp_path.glob("*.part"))


def test_what_it_says_is_what_was_said(handed: str) -> None:
    (outer,) = (each for each in json.loads(Path(handed[7:]).read_text())["runs"] if each[1])
    recording = recording_of(handed, outer[0], 0)
    assert [event.name for event in recording.events(kinds=["tool"])] == ["fetch", "raw", "fetch", "fetch"]
    assert recording.run.status is Status.OK and recording.run.exit_status == 0
    assert recording_of(handed, outer[0], 3).run.status is Status.FAILED, "the exit status is that of its process"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: text.replace('"is": "call"', '"is": "os.system"'),
        lambda text: text.replace('"event": 0', '"event": -1'),
        lambda text: json.dumps({"runs": [], "blobs": {}}),
        lambda text: json.dumps(json.loads(text) | {"blobs": {}}),
    ],
)
def test_what_is_no_run_of_today_is_refused(handed: str, spoil: object) -> None:
    path = Path(handed[7:])
    text = path.read_text()
    (run,) = (each[0] for each in json.loads(text)["runs"])
    assert callable(spoil) and spoil(text) != text
    path.write_text(spoil(text))
    with pytest.raises(StoreError, match="the run of today cannot be read"):
        read_result(handed, run)


def test_a_process_that_left_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the run of today cannot be read"):
        read_result(f"handed:{tmp_path / 'nothing.json'}", "01m7zr677ebsam50ep")
