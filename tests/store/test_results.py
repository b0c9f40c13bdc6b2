"""A run knows the digest of what it returned, and a payload is read by its digest or by its place."""

from __future__ import annotations

from pathlib import Path

import pytest

import reenact
from reenact.abc.store import Store
from reenact.errors import BlobMissing, UsageError
from reenact.facts.call import Kind
from reenact.store import open_store
from reenact.store.memory_store import MemoryStore


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else open_store(f"sqlite:///{tmp_path}/runs.db")


def work(store: Store) -> reenact.Run:
    @reenact.record(store=store)
    def double(number: int) -> dict[str, int]:
        return {"is": 2 * number}

    double(21)
    return store.run("@")


def test_the_result_of_a_run_is_the_digest_of_what_it_returned(store: Store) -> None:
    run = work(store)
    assert store.payload(run.result) == b'{"is":42}'
    assert work(store).result == run.result, "what is equal has one digest"
    with reenact.record(store=store):
        pass
    assert store.run("@").result == ""


def test_a_payload_is_read_by_the_place_that_an_event_names(store: Store) -> None:
    run = work(store)
    (output,) = (event for event in store.events(run) if event.kind == Kind.OUTPUT)
    assert output.answer is not None
    assert store.payload(output.answer) == store.payload(output.answer.digest) == b'{"is":42}'


@pytest.mark.parametrize(
    ("asked", "words"), [("", "names no payload"), ("zz", "is not a digest"), (None, "not NoneType"), (5, "not int")]
)
def test_what_is_no_digest_is_said_so(store: Store, asked: object, words: str) -> None:
    work(store)
    with pytest.raises(UsageError, match=words):
        store.payload(asked)  # type: ignore[arg-type]


def test_what_is_not_there_may_be_of_another_store(store: Store) -> None:
    work(store)
    with pytest.raises(BlobMissing, match="of another store"):
        store.payload("00" * 16)


def test_a_run_prints_as_one_line_while_it_is_recorded_and_afterwards(store: Store) -> None:
    with reenact.record(agent="docs", store=store) as run:
        assert str(run) == f"<Run {run.id} docs recording events=0>"
    assert str(store.run("@")) == f"<Run {run.id} docs ok events=0>"


def test_a_checkpoint_says_when_its_run_began(store: Store) -> None:
    run = work(store)
    assert store.checkpoint(run, 0).started_us == run.started_us > 0
