"""Every back end gives back exactly what was appended, by every view, also after it was opened again."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest

from reenact.abc.store import Recording, Store
from reenact.errors import BlobMissing, EventNotFound, RunNotFound, StoreBusy, StoreError, UsageError
from reenact.facts.call import Effect, Failure, Fidelity, Kind, Stream, Value
from reenact.facts.effects import Claim
from reenact.facts.event import LaneFact, Payload
from reenact.facts.ids import tail
from reenact.facts.record import (
    AmbientRead,
    CallSettled,
    CheckpointTaken,
    EvidenceNoted,
    GapNoted,
    HeadArrived,
    LaneOpened,
    OutputPrinted,
    Record,
    RunClosed,
    RunOpened,
    SegmentArrived,
)
from reenact.facts.run import Entry, Run, Status, Totals
from reenact.facts.values import encode
from reenact.store.schema import TABLES
from reenact.store.sqlite_store import SqliteStore
from tests.store.conftest import Backend
from tests.store.records import closing, failed, issued, new_run, opening, settled, streamed, turns


def keep(store: Store, *batches: list[Record], close: bool = True, **fields: object) -> Run:
    """A run of some batches."""
    run = new_run(**fields)
    log = store.begin(run)
    log.write(opening(run))
    for batch in batches:
        log.write(batch)
    if close:
        log.write([closing(run)])
    log.close()
    return run


def opened(backend: Backend, run: Run) -> Recording:
    """The run, read by a store that did not write it."""
    return backend.open().open(run.id)


def test_every_field_of_a_run_comes_back(backend: Backend, store: Store) -> None:
    run = keep(
        store, agent="shop", version="3", user="u", tenant="t", session="s", tags={"k": "v"}, origin_us=7,
        entry=Entry("command", ("python", "x.py"), cwd="here", hash_seed="0"), fork_event=3, relation="fork",
        parent="0" * 18, fidelity=Fidelity.REDACTED, files={"a": "b"}, exit_status=-9, environment={"n": [1, None]},
        capture={"order": "exact"}, degraded=("why",), totals=Totals(events=1, tokens_in=4), retention="long",
    )  # fmt: skip
    found = backend.open().run(run.id)
    assert found == replace(run, status=Status.OK, ended_us=run.started_us + 5)


@pytest.mark.parametrize("together", [True, False], ids=["one batch", "a batch each"])
def test_calls_come_back_with_their_outcomes(backend: Backend, store: Store, together: bool) -> None:
    asked = issued(0, head={"tool": "t", "odd": "\udcff", "n": 1.5}, channel="c", ordinal="call_1", source="a.py:3")
    refused = failed(1)
    records: list[Record] = [
        asked,
        settled(0, delivery=4),
        issued(1, b"\x00\xff", effect=Effect.WRITE, parent=0, fidelity=Fidelity.SEALED, note="sealed: mail"),
        refused,
        issued(2, b"", observed=True),
        settled(2, b"", fidelity=Fidelity.REDACTED, note="token"),
        issued(3, name="open"),
    ]
    run = keep(store, *([records] if together else [[record] for record in records]))
    recording = opened(backend, run)
    first, second, third, last = recording.events()

    assert (first.call, recording.body(first.request)) == (replace(asked.call, body=b""), b'{"query":"x"}')
    assert isinstance(first.outcome, Value) and first.outcome.body == b""
    assert recording.body(first.answer) == b'{"docs":[]}'
    assert (first.lane, first.position, first.issued_us, first.ended_us, first.delivery) == ("root", 0, 0, 5, 4)
    assert (second.parent, second.outcome, second.answer) == (0, refused.outcome, None)
    assert (second.fidelity, second.fidelity_note) == (Fidelity.SEALED, "sealed: mail")
    assert recording.body(second.request) == b"\x00\xff"
    assert (third.request, third.answer, recording.body(third.answer)) == (None, None, b"")
    assert (third.fidelity, third.fidelity_note, third.call.observed) == (Fidelity.REDACTED, "token", True)
    assert (last.outcome, last.ended_us) == (None, None)
    assert recording.count() == 4
    assert recording.event(2) == third
    with pytest.raises(EventNotFound, match="from 0 to 3"):
        recording.event(4)


def test_events_are_chosen_by_lane_kind_name_and_place(backend: Backend, store: Store) -> None:
    records: list[Record] = [LaneOpened(1, "root/a#1", None), LaneOpened(2, "root/a#1>t#1", 3, scope=True)]
    records += [
        issued(n, lane=n % 2, name=f"n{n % 3}", kind=Kind.STEP if n % 5 == 0 else Kind.TOOL) for n in range(600)
    ]
    recording = opened(backend, keep(store, records))

    def numbers(**chosen: object) -> list[int]:
        return [event.number for event in recording.events(**chosen)]  # type: ignore[arg-type]

    assert numbers() == list(range(600))
    assert numbers(lane="root/a#1") == list(range(1, 600, 2))
    assert numbers(lane="root/a#1", after=301, limit=2) == [303, 305]
    assert numbers(lane="root/a#1>t#1") == numbers(lane="root/none#1") == []
    assert numbers(kinds=["step"]) == list(range(0, 600, 5))
    assert numbers(kinds=[Kind.STEP, Kind.TOOL], name="n1", after=590) == [592, 595, 598]
    assert numbers(limit=0) == []
    assert numbers(limit=300) == list(range(300))
    assert recording.lane("root/a#1>t#1") == LaneFact(2, "root/a#1>t#1", 3, True)
    assert [fact.path for fact in recording.lanes()] == ["root", "root/a#1", "root/a#1>t#1"]
    assert recording.lane("elsewhere") is None


PIECES = [b"", b"a", bytes(range(256)) * 8, b"x" * 300_000, "ü".encode() * 5, b"y" * 700_001, b"end"]


@pytest.mark.parametrize("size", [1, 2, 100])
def test_a_stream_comes_back_segment_by_segment(backend: Backend, store: Store, size: int) -> None:
    records = list(streamed(0, PIECES))
    batches = [records[at : at + size] for at in range(0, len(records), size)]
    run = keep(store, [issued(0, kind=Kind.HTTP)], *batches)
    recording = opened(backend, run)
    event = recording.event(0)
    sent = [record for record in records if isinstance(record, SegmentArrived)]
    assert [*recording.parts(0)] == [(each.delivery, each.at_us, each.data) for each in sent]
    assert isinstance(event.outcome, Stream)
    assert (event.outcome.size, event.outcome.segments) == (len(b"".join(PIECES)), len(PIECES))
    assert event.outcome.end is not None and event.outcome.end.kind == "eof"
    assert event.outcome.head == {"status": 200, "headers": [["x", "y"]]}
    assert (event.first_us, event.ended_us, event.delivery) == (100, 900, 10)
    assert recording.body(event.answer) == b"".join(PIECES)
    assert event.answer is not None and backend.open().payload(event.answer.digest) == b"".join(PIECES)


def test_a_stream_that_never_ended_keeps_what_came(backend: Backend, store: Store) -> None:
    redacted = SegmentArrived(0, 999, b"zz", fidelity=Fidelity.REDACTED, note="mail")
    run = keep(store, [issued(0)], [*streamed(0, [b"ab", b"c"], end=False)], [redacted], close=False)
    event = opened(backend, run).event(0)
    assert isinstance(event.outcome, Stream)
    assert (event.outcome.end, event.outcome.size, event.outcome.segments) == (None, 5, 3)
    assert (event.answer, event.ended_us) == (None, None)
    assert (event.fidelity, event.fidelity_note) == (Fidelity.REDACTED, "mail")
    assert b"".join(data for _, _, data in opened(backend, run).parts(0)) == b"abczz"


def test_the_order_comes_back_from_any_number(backend: Backend, store: Store) -> None:
    run = keep(store, [turns(0, 3)], [turns(3, 40), turns(43, 7, "root/never#1")], [turns(50, 1)])
    wanted = [
        *chain.from_iterable(each.deliveries for each in (turns(0, 43), turns(43, 7, "root/never#1"), turns(50, 1)))
    ]
    recording = opened(backend, run)
    assert [*recording.deliveries()] == wanted
    for start in (0, 1, 3, 42, 43, 50, 51):
        assert [*recording.deliveries(start)] == wanted[start:]
    assert [fact.path for fact in recording.lanes()] == ["root"], "a path that only the order mentions is no lane"


def test_everything_else_comes_back(backend: Backend, store: Store) -> None:
    long = {"messages": ["é" * 400, float("inf")]}
    run = keep(
        store,
        [
            issued(0),
            AmbientRead(0, 0, "wall", b"1"), AmbientRead(0, 1, "wall", b"9"), AmbientRead(0, 0, "mono", b"\xff"),
            OutputPrinted(1, 1, b"out"), OutputPrinted(2, 2, b"err"), OutputPrinted(1, 3, b"more\n"),
            EvidenceNoted(0, "reading", long), EvidenceNoted(0, "a", 1), EvidenceNoted(None, "kit", [1]),
            GapNoted("socket", "x.py:1"),
        ],
        [
            AmbientRead(0, 0, "wall", b"2"), EvidenceNoted(0, "a", 2), GapNoted("thread", "y.py:1"),
            GapNoted("socket", "x.py:1", 2), CheckpointTaken(0, "in", {"b": b"1", "a": b""}),
            CheckpointTaken(0, "out", {}),
        ],
    )  # fmt: skip
    recording = opened(backend, run)
    assert dict(recording.ambient("root", 0)) == {"wall": b"12", "mono": b"\xff"}
    assert dict(recording.ambient("root", 1)) == {"wall": b"9"}
    assert dict(recording.ambient("root", 2)) == dict(recording.ambient("no", 0)) == {}
    assert (b"".join(recording.printed(1)), b"".join(recording.printed(2))) == (b"outmore\n", b"err")
    assert dict(recording.notes(0)) == dict(recording.event(0).attributes) == {"reading": long, "a": 2}
    assert dict(recording.notes(None)) == {"kit": [1]}
    assert sorted(recording.gaps()) == [("socket", "x.py:1", 3), ("thread", "y.py:1", 1)]
    assert list((recording.checkpoint_slots(0, "in") or {}).items()) == [("b", b"1"), ("a", b"")]
    assert recording.checkpoint_slots(0, "out") == {}
    assert recording.checkpoint_slots(1, "in") is None


def test_a_child_run_is_a_lane_of_its_parents_log(backend: Backend, store: Store) -> None:
    run = new_run()
    child = new_run(parent=run.id, relation="child", lane="root>agent#1", agent="inner")
    log = store.begin(run)
    log.write([*opening(run), issued(0), LaneOpened(1, "root>agent#1", 0, scope=True), RunOpened(child)])
    log.write([LaneOpened(2, "root>agent#1/t#1", None), LaneOpened(3, "root>agent#12", None)])
    log.write([issued(1, lane=1), issued(2, lane=3), issued(3, lane=2), EvidenceNoted(None, "kit", 1)])
    assert backend.open().run(child.id).status is Status.RECORDING
    log.write([RunClosed(replace(child, status=Status.FAILED), {"why": "no"}), closing(run)])
    log.close()
    reading = backend.open()
    recording = reading.open(child.id)
    assert recording.run.status is Status.FAILED
    assert [event.number for event in recording.events()] == [1, 3]
    assert {event.run for event in recording.events()} == {child.id}
    assert [fact.path for fact in recording.lanes()] == ["root>agent#1", "root>agent#1/t#1"]
    assert recording.count() == 2
    assert [*recording.events(lane="root")] == [] and recording.lane("root") is None
    assert reading.event(f"{child.id}:search_docs#2").number == 3
    assert dict(recording.notes(None)) == {"why": "no"}
    with pytest.raises(EventNotFound, match="from 0 to 3"):
        recording.event(2)
    assert [each.id for each in reading.runs()] == [child.id, run.id]
    assert [each.id for each in reading.runs(parent=run.id)] == [child.id]
    assert reading.run("@").id == run.id, "the last run is one with a log of its own"
    with pytest.raises(UsageError, match="lies in the log of another run"):
        reading.delete(child.id)
    reading.delete(run.id)
    assert [*reading.runs()] == []


def test_runs_are_found_by_their_filters(backend: Backend, store: Store) -> None:
    one = keep(
        store, [issued(0, b'{"q":"refund\\npolicy"}'), settled(0)], agent="a", user="u", tags={"k": "v", "x": "y"}
    )
    two = keep(
        store, [issued(0, b"{}", name="order_lookup"), failed(0, "no such order #4421")], agent="b", tags={"k": "v"}
    )
    dead = keep(store, [issued(0)], agent="b", close=False)
    live = new_run(agent="b")
    log = store.begin(live)
    reading = backend.open()

    def found(**filters: object) -> list[str]:
        return [run.id for run in reading.runs(**filters)]

    assert found() == [live.id, dead.id, two.id, one.id]
    assert found(limit=2) == [live.id, dead.id] and found(limit=0) == []
    assert found(agent="b", limit=1) == [live.id]
    assert found(user="u") == [one.id] and found(tenant="t") == []
    assert found(tag={"k": "v"}) == [two.id, one.id] and found(tag={"k": "v", "x": "y"}) == [one.id]
    assert found(since_us=two.started_us) == [live.id, dead.id, two.id]
    assert found(status="recording") == [live.id] and found(status=Status.INTERRUPTED) == [dead.id]
    assert found(failed=True) == [dead.id] and found(failed=False) == [live.id, two.id, one.id]
    assert found(text="policy refund") == found(text="REFU") == [one.id]
    assert found(text="lookup #4421") == [two.id]
    assert found(text="refund order") == found(text="olicy") == []
    assert found(text='"') == found(text="") == found()
    assert reading.run("@failed").id == dead.id
    with pytest.raises(UsageError, match="no filter 'colour'"):
        reading.runs(colour="red")
    log.close()


def test_a_failure_that_a_resumption_has_mended_is_the_last_one(backend: Backend, store: Store) -> None:
    """``@failed`` means an attempt where its run has not failed, and none at a run that was itself a trial."""
    dead = {"close": False}
    mended, broken = keep(store), keep(store, [issued(0)], **dead)
    tried = keep(store, parent=mended.id, relation="fork")
    keep(store, [issued(0)], parent=broken.id, relation="attempt", **dead)
    keep(store, [issued(0)], parent=tried.id, relation="attempt", **dead)
    assert backend.open().run("@failed").id == broken.id, "the run itself has failed still"
    attempt = keep(store, [issued(0)], parent=mended.id, relation="attempt", **dead)
    assert backend.open().run("@failed").id == attempt.id
    assert backend.open().run("@").id == tried.id


def test_a_run_whose_recorder_went_away_reads_interrupted_at_its_last_event(backend: Backend, store: Store) -> None:
    run = new_run()
    log = store.begin(run)
    log.write([*opening(run), issued(0), settled(0), issued(1)])
    now = backend.open().run(run.id)
    assert (now.status, now.interrupted_at, now.totals.events) == (Status.RECORDING, None, 2)
    with pytest.raises(StoreBusy, match="is being recorded"):
        store.delete(run)
    log.close()
    now = backend.open().run(run.id)
    assert (now.status, now.interrupted_at, now.totals.events) == (Status.INTERRUPTED, 1, 2)
    with pytest.raises(StoreError, match="the log is closed"):
        log.write([issued(2)])
    with pytest.raises(StoreError, match="already"):
        store.begin(run)


def test_a_run_without_an_end_adds_up_what_it_has(backend: Backend, store: Store) -> None:
    run = new_run()
    log = store.begin(run)
    reading = {"usage": {"tokens_in": 3, "tokens_out": 4}, "text": "long enough to be kept apart " * 400}
    asked: list[Record] = [
        issued(0),
        settled(0),
        issued(1),
        settled(1),
        EvidenceNoted(1, "reading", reading),
        EvidenceNoted(0, "other", 1),
    ]
    log.write([*opening(run), *asked])
    log.close()
    totals = backend.open().run(run.id).totals
    assert (totals.events, totals.tools, totals.models) == (2, 2, 1)
    assert (totals.tokens_in, totals.tokens_out) == (3, 4)


def test_references_name_one_run_or_say_which_they_could(backend: Backend, store: Store) -> None:
    first, second = keep(store, [issued(0), issued(1, name="a.b#c"), issued(2)]), keep(store)
    reading = backend.open()
    for run in (first, second):
        assert reading.run(run.id).id == reading.run(tail(run.id)).id == reading.run(run.id.upper()).id == run.id
    assert [reading.run(ref).id for ref in ("@", "@~0", "@~1")] == [second.id, second.id, first.id]
    with pytest.raises(RunNotFound, match="is not unique") as caught:
        reading.run(first.id[:4])
    assert set(caught.value.candidates) == {first.id, second.id}  # type: ignore[attr-defined]
    listed = str(caught.value).partition("is not unique: ")[2].splitlines()[0].split(", ")
    assert set(listed) == {first.id, second.id}, "what begins so is shown"
    keep(store, parent=first.id, relation="child")
    with pytest.raises(RunNotFound, match="@ counts 2 runs here; child runs and attempts"):
        backend.open().run("@~2")
    for ref in ("@~2", "@failed", "zzzzzzzz", "no-such", "", "o", "@what"):
        with pytest.raises(RunNotFound):
            reading.run(ref)
    for ref, said in (("@golden/x", "no run of this store"), ("some/file.reenact", "no run of this store")):
        with pytest.raises(UsageError, match=said):
            reading.run(ref)
    for which, number in (("2", 2), ("search_docs#2", 2), ("search_docs", 0), ("a.b#c#1", 1)):
        assert reading.event(f"{first.id}:{which}").number == number
    for which in ("3", "search_docs#3", "search_docs#0", "x#1", "99999999999999999", ""):
        with pytest.raises(EventNotFound):
            reading.event(f"{first.id}:{which}")
    with pytest.raises(UsageError, match="names a run, not an event"):
        reading.event("@")


def test_people_may_flag_and_tag_a_run_while_it_is_recorded_and_after(backend: Backend, store: Store) -> None:
    run = new_run(tags={"a": "1", "b": "1"})
    log = store.begin(run)
    assert store.amend(run.id, flag="wrong order", tags={"b": "2"}).flag == "wrong order"
    log.write([*opening(run), closing(run)])
    log.close()
    assert [each.id for each in store.runs(tag={"b": "2"})] == [run.id]
    found = backend.open().amend(run, tags={"c": "3"})
    assert (found.flagged, found.flag, found.tags) == (True, "wrong order", {"a": "1", "b": "2", "c": "3"})
    assert found == backend.open().run(run.id) and found.status is Status.OK
    assert [each.id for each in store.runs(tag={"b": "2", "a": "1", "c": "3"})] == [run.id]
    assert [*store.runs(tag={"b": "1"})] == []
    assert store.amend(run.id, flag="").flag == ""


def test_forgetting_a_run_keeps_what_others_share(backend: Backend, store: Store) -> None:
    shared, own = b"s" * 500, b"o" * 500
    one = keep(store, [issued(0, shared), issued(1, own), *streamed(1, [b"stream"])])
    two = keep(store, [issued(0, shared), issued(1, shared)])
    three = keep(store, [issued(0, shared)])
    first, second = store.open(one).events()
    assert first.request and second.request and second.answer
    for run in (one, two):
        store.delete(run.id)
        with pytest.raises(RunNotFound):
            store.run(run.id)
        with pytest.raises(RunNotFound):
            store.open(store.run(run.id))
        assert store.payload(first.request.digest) == shared
        for gone in (second.request, second.answer):
            with pytest.raises(BlobMissing):
                store.payload(gone.digest)
    assert backend.open().open(three.id).body(first.request) == shared
    store.delete(three)
    with pytest.raises(BlobMissing):
        store.payload(first.request.digest)
    with pytest.raises(UsageError, match="is not a digest"):
        store.payload("not hex")


def test_forgetting_leaves_no_row_behind(sqlite: SqliteStore) -> None:
    child = new_run(lane="root>a#1", tags={"k": "v"})
    body = b"b" * 900
    several: list[list[Record]] = [
        [issued(0, body), settled(0), issued(1), *streamed(1, [b"s"]), turns(0, 3), AmbientRead(0, 0, "wall", b"1")],
        [
            OutputPrinted(1, 1, b"p"),
            EvidenceNoted(0, "k", "v" * 900),
            EvidenceNoted(None, "k", 1),
            GapNoted("a", "b"),
            RunOpened(child),
        ],
        [CheckpointTaken(0, "in", {"": b"state"}), RunClosed(child, {"k": "v"})],
    ]
    runs = [keep(sqlite, *several, tags={"k": "v"}) for _ in range(2)]
    sqlite.note_claims(Claim(run.id, run.id, 0) for run in runs)
    reading, _ = sqlite._file.read()
    tables = [line.split("(")[0].split()[-1] for line in TABLES.splitlines() if line.startswith("CREATE TABLE")]

    def filled() -> set[str]:
        return {table for table in tables if reading.row(f"SELECT count(*) FROM {table}")[0]}

    assert filled() == set(tables), "each table had something to forget"
    for run in runs:
        sqlite.delete(run)
    assert filled() == {"meta"}


def test_what_a_run_wrote_is_claimed_as_long_as_its_lineage_is_there(backend: Backend, store: Store) -> None:
    first = keep(store)
    second = keep(store, parent=first.id, relation="fork")
    mine, theirs = Claim("a", first.id, 1), Claim("a", second.id, 7)
    assert store.claimed("a") is None
    assert store.claim(mine) and store.claimed("a") == mine
    assert not store.claim(theirs), "who came first has it"
    store.note_claims([theirs, Claim("b", second.id, 8)])
    assert backend.open().claimed("a") == mine and store.claimed("b") == Claim("b", second.id, 8)
    assert not store.claim(theirs, over=theirs) and store.claim(theirs, over=mine)
    store.delete(second)
    assert store.claimed("a") == theirs, "the one it was forked from might write it again"
    store.claim(mine, over=theirs)
    store.delete(first)
    assert store.claimed("a") is None


def test_two_runs_exchange_what_was_recorded_and_keep_what_people_said(backend: Backend, store: Store) -> None:
    left = new_run()
    child = new_run(lane="root>a#1", parent=left.id)
    log = store.begin(left)
    log.write([*opening(left), issued(0, b"left"), settled(0), RunOpened(child), RunClosed(child, {}), closing(left)])
    log.close()
    right = keep(store, [issued(0, b"right"), issued(1, b"more")], parent=left.id, relation="attempt")
    store.note_claims([Claim("l", left.id, 0), Claim("r", right.id, 1)])
    store.amend(left, flag="bad", tags={"k": "v"})
    ended = replace(right, id=left.id, parent=None, relation="", status=Status.OK)
    swapped = store.exchange(ended, replace(left, id=right.id, parent=left.id, status=Status.FAILED))
    assert (swapped.id, swapped.flag, dict(swapped.tags)) == (left.id, "bad", {"k": "v"})
    for opened in (store, backend.open()):
        bodies = [[opened.open(run).body(event.request) for event in opened.events(run)] for run in (left.id, right.id)]
        assert bodies == [[b"right", b"more"], [b"left"]]
        assert [each.run for each in (opened.claimed("l"), opened.claimed("r")) if each] == [right.id, left.id]
        assert opened.run(child.id).parent == right.id, "what was nested in it went with it"
        assert [run.id for run in opened.runs(text="more")] == [left.id]
    store.delete(right.id)
    assert [store.open(left.id).count(), [run.id for run in store.runs()]] == [2, [left.id]]


def test_a_forgotten_run_is_not_found_by_its_words(store: Store) -> None:
    store.delete(keep(store, [issued(0, b"secret plan")]))
    other = keep(store, [issued(0, b"nothing")])
    assert [*store.runs(text="secret")] == []
    assert [run.id for run in store.runs(text="nothing")] == [other.id]


def nested(store: Store, status: Status) -> Run:
    """A run that ended well, with one nested in it."""
    run = new_run()
    child = new_run(lane="root>agent#1", parent=run.id, relation="child")
    log = store.begin(run)
    log.write([*opening(run), RunOpened(child), RunClosed(replace(child, status=status)), closing(run)])
    log.close()
    return run


def test_a_run_that_nobody_needs_is_discarded_with_what_it_began(backend: Backend, store: Store) -> None:
    run = nested(store, Status.OK)
    began = keep(store, [issued(0, b"own")], parent=run.id, relation="child")
    keep(store, [issued(0, b"own")], parent=began.id, relation="child")
    other = keep(store, [issued(0, b"own")])
    assert store.discard(run.id)
    assert [each.id for each in backend.open().runs()] == [other.id]
    assert not store.discard(run.id), "it is gone"
    assert store.open(other).body(store.open(other).event(0).request) == b"own"


@pytest.mark.parametrize("relation", ["fork", "replay", "resume", "attempt", "request"])
def test_a_run_that_another_one_goes_on_from_is_not_discarded(store: Store, relation: str) -> None:
    run = keep(store, [issued(0)])
    began = keep(store, [issued(0)], parent=run.id, relation="child")
    keep(store, [issued(0)], parent=began.id, relation=relation)
    assert not store.discard(run.id)
    assert len([*store.runs()]) == 3


def test_nor_one_that_went_wrong_anywhere_or_that_people_spoke_of(store: Store) -> None:
    run = nested(store, Status.FAILED)
    assert not store.discard(run.id)
    run = nested(store, Status.OK)
    began = new_run(parent=run.id, relation="child")
    log = store.begin(began)
    log.write([*opening(began), closing(began, Status.TIMEOUT)])
    log.close()
    assert not store.discard(run.id) and not store.discard(began.id)
    amendments: list[dict[str, Any]] = [{"flag": "odd"}, {"tags": {"k": "v"}}]
    for said in amendments:
        run = nested(store, Status.OK)
        store.amend(run.id, **said)
        assert not store.discard(run.id)
    run = nested(store, Status.OK)
    (child,) = store.runs(parent=run.id)
    store.amend(child.id, flag="odd")
    assert not store.discard(run.id)
    run = new_run()
    log = store.begin(run)
    log.write(opening(run))
    assert not store.discard(run.id), "it is being recorded"
    log.close()
    assert not store.discard(run.id), "it was interrupted"


def test_a_payload_that_is_not_there_is_missing(store: Store) -> None:
    recording = store.open(keep(store).id)
    assert recording.body(None) == b""
    with pytest.raises(BlobMissing):
        recording.body(Payload("00" * 16, 3))


def test_a_batch_that_cannot_be_stored_leaves_the_log_usable(sqlite: Store) -> None:
    run = new_run()
    log = sqlite.begin(run)
    log.write([*opening(run), issued(0), *streamed(0, [b"a"], end=False)])
    with pytest.raises(StoreError, match="cannot be stored"):
        log.write([SegmentArrived(0, 3, b"lost"), issued(1, b"new"), HeadArrived(1, 1, {"odd": object()})])
    log.write([issued(1, b"new"), SegmentArrived(0, 4, b"b"), *list(streamed(0, []))[1:]])
    log.close()
    recording = sqlite.open(run.id)
    assert [event.number for event in recording.events()] == [0, 1]
    assert recording.count() == 2
    assert recording.body(recording.event(0).answer) == b"ab"
    assert recording.body(recording.event(1).request) == b"new"


def test_a_checkpoint_is_what_the_agent_held(backend: Backend, store: Store) -> None:
    def state(**values: object) -> dict[str, bytes]:
        return {"": encode(values).body}

    messages = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "q"}]
    asked = {"model": "m", "temperature": 0, "messages": messages}
    said = {"model": "m-1", "choices": [{"index": 0, "message": {"role": "assistant", "content": "a"}}]}
    head = {"method": "POST", "url": "http://model.test/v1/chat/completions", "headers": []}
    model: dict[str, Any] = {"kind": Kind.HTTP, "name": "POST model.test/v1/chat/completions", "head": head}
    step: dict[str, Any] = {"kind": Kind.STEP, "name": "plan", "effect": Effect.NONE, "observed": True}
    run = keep(
        store,
        [
            LaneOpened(1, "root>plan#1", 0, scope=True), LaneOpened(2, "root>plan#2", 3, scope=True),
            issued(0, **step), CheckpointTaken(0, "in", state(n=1)),
            issued(1, lane=1, parent=0), settled(1),
            settled(0), CheckpointTaken(0, "out", state(n=2)),
            issued(2, json.dumps(asked).encode(), **model), *streamed(2, [json.dumps(said).encode()]),
            issued(3, **step), CheckpointTaken(3, "in", {"x": encode(1).body, "y": encode((1, 2)).body}),
            issued(4, lane=2, parent=3), failed(4),
        ],
        version="9", user="u",
    )  # fmt: skip
    opened_store = backend.open()
    inside, between, last = (opened_store.checkpoint(run.id, at) for at in (1, 2, 4))
    assert (inside.state, inside.step, inside.step_number, inside.messages) == ({"n": 1}, "plan", 1, ())
    assert (between.state, between.step) == ({"n": 2}, "")
    assert [(each["role"], each["text"]) for each in between.messages] == [
        ("system", "be kind"), ("user", "q"), ("assistant", "a"),
    ]  # fmt: skip
    assert (last.state, last.step_number) == ({"x": 1, "y": (1, 2)}, 2)
    assert last.model_config == {
        "model": "m", "model_answered": "m-1", "provider": "model.test", "parameters": {"temperature": 0},
    }  # fmt: skip
    assert [each.get("result", each.get("error")) for each in last.tool_calls] == [
        {"docs": []}, "builtins.ValueError: boom",
    ]  # fmt: skip
    assert last.tool_calls[0]["arguments"] == {"query": "x"}
    assert (last.agent_version, last.metadata["user"], len(last.prompt_version)) == ("9", "u", 16)
    assert last.timestamp_us == run.started_us + 40
    assert opened_store.checkpoint(run, "search_docs#1") == inside
    assert isinstance(opened_store.open(run.id).event(4).outcome, Failure)


def test_a_state_comes_from_the_strand_that_an_event_continues(backend: Backend, store: Store) -> None:
    step: dict[str, Any] = {"kind": Kind.STEP, "effect": Effect.NONE, "observed": True}
    run = keep(
        store,
        [
            LaneOpened(1, "root>outer#1", 0, scope=True), LaneOpened(2, "root/other#1", None),
            issued(0, name="outer", **step), issued(1, name="inner", lane=1, parent=0, **step),
            CheckpointTaken(1, "out", {"": b'"inner"'}), settled(1), issued(2, lane=1, parent=0), settled(2),
            CheckpointTaken(0, "out", {"": b'"outer"'}), CallSettled(0, 25, Value(b"")),
            issued(3), issued(4, lane=2, name="aside", **step), issued(5, lane=2, parent=4),
        ],
    )  # fmt: skip
    assert [store.checkpoint(run, at).state for at in (1, 2, 3)] == ["inner", "inner", "outer"]
    aside = store.checkpoint(run, 4)
    assert (aside.step, aside.step_number, aside.state) == ("aside", 3, "outer"), "the nearest state that was kept"
