"""A run that was thinned has its events, with size and digest of each body, and says of each body that it is gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import BlobMissing
from reenact.facts.call import Stream
from reenact.facts.day_limit import RunSize, over_limit
from reenact.facts.record import EvidenceNoted
from reenact.facts.run import Run, Status
from reenact.facts.thinned_runs import NOTE, why_thinned
from reenact.store.sqlite_store import SqliteStore
from reenact.store.store_check import check_store
from tests.store.records import closing, issued, new_run, opening, settled, streamed
from tests.store.test_expiring import noise


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "kept" / "store.db", own_directory=True) as found:
        yield found


def kept(store: SqliteStore, *bodies: bytes) -> Run:
    run = new_run()
    log = store.begin(run)
    records = [each for n, body in enumerate(bodies) for each in (issued(n, b'{"n":%d}' % n), settled(n, body))]
    stream = len(bodies)
    log.write([*opening(run), *records, issued(stream), *streamed(stream, [noise(4000), noise(3000)])])
    log.write([EvidenceNoted(0, "long", "evidence " * 1000), closing(run)])
    log.close()
    return store.run(run.id)


def test_its_events_are_left_with_size_and_digest(store: SqliteStore) -> None:
    run = kept(store, noise(50_000), b'{"long":"CANARY' + noise(3000) + b'"}')
    before = list(store.events(run))
    assert store.thin(run.id, "sample 0.1")
    assert why_thinned(store.run(run.id)) == "sample 0.1"
    after = list(store.events(run))
    assert after == before and after[0].answer is not None and after[0].answer.size == 50_000
    assert check_store(store.path).breaks == ()
    recording = store.open(run)
    for event in after[:-1]:
        for payload in (event.request, event.answer):
            with pytest.raises(BlobMissing, match="was removed"):
                recording.body(payload)
    assert isinstance(after[-1].outcome, Stream)
    with pytest.raises(BlobMissing, match="was removed"):
        list(recording.parts(after[-1].number))
    assert recording.notes(0)["long"].startswith("evidence")


def test_what_another_run_has_stays_and_what_comes_again_is_there_again(store: SqliteStore) -> None:
    shared, own = noise(9000), noise(9000)
    run, other = kept(store, shared, own), kept(store, shared)
    assert store.thin(run.id, "x")
    assert store.open(run).body(store.event(f"{run.id}:0").answer) == shared
    assert store.open(other).body(store.event(f"{other.id}:0").answer) == shared
    again = kept(store, own)
    assert store.open(again).body(store.event(f"{again.id}:0").answer) == own
    assert check_store(store.path).breaks == ()
    store.delete(run)
    assert check_store(store.path).breaks == ()
    assert store.open(again).body(store.event(f"{again.id}:0").answer) == own
    assert store.open(other).body(store.event(f"{other.id}:0").answer) == shared


@pytest.mark.parametrize("needed", ["failed", "flagged", "forked", "labelled"])
def test_what_is_needed_is_not_thinned(store: SqliteStore, needed: str) -> None:
    run = kept(store, noise(9000))
    if needed == "failed":
        run = store.conclude(replace(run, status=Status.FAILED))
    elif needed == "forked":
        child = new_run(parent=run.id, relation="fork")
        store.begin(child).close()
    else:
        store.amend(run, flag="wrong" if needed == "flagged" else None, tags={"keep": "always"})
    assert not store.thin(run.id, "sample 0")
    assert store.open(run).body(store.event(f"{run.id}:0").answer) and why_thinned(store.run(run.id)) == ""


def test_it_can_be_flagged_afterwards_and_goes_on_being_counted(store: SqliteStore) -> None:
    run = kept(store, noise(9000))
    before = store.run(run.id)
    assert store.thin(run.id, "day_mb = 1")
    store.amend(run, flag="odd")
    after = store.run(run.id)
    assert (after.totals, after.result, after.ended_us, after.flag) == (
        before.totals, before.result, before.ended_us, "odd"
    )  # fmt: skip
    assert check_store(store.path).breaks == ()


DAY_US = 86_400_000_000


@given(
    st.lists(st.tuples(st.integers(0, 3 * DAY_US), st.integers(0, 50), st.sampled_from(Status), st.booleans())),
    st.integers(0, 120),
)
def test_a_day_is_brought_within_its_limit_by_its_oldest_good_runs(
    found: list[tuple[int, int, Status, bool]], limit: int
) -> None:
    runs = [
        RunSize(Run(f"{n:03}", started_us=at, status=status, capture={NOTE: "x"} if thin else {}), size)
        for n, (at, size, status, thin) in enumerate(found)
    ]
    named = over_limit(runs, limit)
    assert all(each.run.status is Status.OK and not why_thinned(each.run) for each in named)
    for day in range(4):
        of_day = [each for each in runs if each.run.started_us // DAY_US == day]
        here = [each for each in named if each in of_day]
        good = sorted(
            (each for each in of_day if each.run.status is Status.OK and not why_thinned(each.run)),
            key=lambda each: (each.run.started_us, each.run.id),
        )
        assert here == good[: len(here)], "oldest first"
        left = sum(each.size for each in of_day if each not in here)
        assert left <= limit or len(here) == len(good), "within the limit, or nothing more may go"
        if here:
            assert left + here[-1].size > limit, "no more than need be"


def test_nothing_of_a_body_is_left_in_the_files(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with SqliteStore(path) as store:
        run = kept(store, b'{"long":"CANARY", "words": "' + b"some words " * 300 + b'"}', b"CANARY" * 2000)
        assert store.thin(run.id, "sample 0")
        for _ in store.give_back():
            pass
    assert check_store(path).breaks == ()
    assert not [each for each in tmp_path.iterdir() if each.is_file() and b"CANARY" in each.read_bytes()]
    with SqliteStore(path) as store:
        assert list(store.runs(text="words")) == []
