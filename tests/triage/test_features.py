"""Features are written when a run closes, are read from its log to the same, and come to one fingerprint everywhere."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.call import End, EndKind, ErrorFact, Failure, Kind, Value
from reenact.facts.feature_collector import shape
from reenact.facts.features import Case, Features, case_of, fingerprint
from reenact.facts.record import (
    CallSettled,
    EvidenceNoted,
    HeadArrived,
    LaneOpened,
    Record,
    RunOpened,
    SegmentArrived,
    StreamEnded,
)
from reenact.facts.run import Run, Status
from reenact.store.back_ends import open_store
from reenact.store.feature_rows import FeatureRow, thin_features
from reenact.store.sqlite_store import SqliteStore
from reenact.triage.run_features import features_of
from tests.desk import Desk
from tests.store.records import closing, issued, new_run, opening

READING = {"model_asked": "gpt-5", "model_answered": "gpt-5-0601", "tools_hash": "abcdef0123456789"}


def settled(event: int, body: bytes = b"1", at_us: int = 0) -> CallSettled:
    return CallSettled(event, at_us or event * 10 + 5, Value(body))


def raised(event: int, text: str = "order 7 is gone") -> CallSettled:
    return CallSettled(event, event * 10 + 5, Failure(ErrorFact("builtins.ValueError", text)))


def written(path: Path, run: Run, records: list[Record]) -> tuple[SqliteStore, Run]:
    store = SqliteStore(path / "store.db")
    log = store.begin(run)
    log.write(records)
    log.close()
    return store, store.run(run.id)


def row_of(store: SqliteStore, run: Run) -> FeatureRow:
    return next(each for each in store.features().all() if each.id == run.id)


def conversation(run: Run) -> list[Record]:
    """A model is asked, a tool answers, another one fails."""
    system = b'{"model": "gpt-5", "messages": [{"role": "system", "content": "Be brief."}]}'
    head = {"method": "POST", "url": "https://api.openai.com/v1/chat/completions", "headers": []}
    return [
        *opening(run),
        issued(0, system, kind=Kind.HTTP, name="POST api.openai.com", head=head),
        HeadArrived(0, 1, {"status": 200, "headers": [["Content-Type", "application/json"]]}),
        SegmentArrived(0, 2, b'{"id": 1}'),
        StreamEnded(0, 3, End(EndKind.EOF)),
        EvidenceNoted(0, "reading", READING),
        issued(1, name="lookup_order"),
        settled(1, b'{"id":"A1","items":[{"sku":"x","n":1}],"total":2.5}'),
        issued(2, name="refund"),
        raised(2),
    ]


def test_a_run_that_closes_leaves_its_features(tmp_path: Path) -> None:
    run = new_run(agent="shop", tenant="t1", environment={"git": {"commit": "0123456789abcdef"}}, version="2")
    end = closing(run, Status.FAILED, error="ValueError: order 7 is gone")
    store, run = written(tmp_path, run, [*conversation(run), end])
    row = row_of(store, run)
    assert (row.agent, row.tenant, row.status, row.flag, row.inside) == ("shop", "t1", Status.FAILED, None, False)
    found = row.features
    assert found is not None
    assert (found.error, found.template, found.tool) == ("ValueError", "order <*> is gone", "refund")
    assert found.steps == ("model", "lookup_order", "refund"), "whichever it was"
    assert (found.asked, found.answered, found.schemas) == (("gpt-5",), ("gpt-5-0601",), ("abcdef012345",))
    assert found.tools == ("lookup_order", "refund") and len(found.prompts[0]) == 16
    assert found.shapes == (
        "lookup_order {id: text, items: [{n: number, sku: text}], total: number}",
        "refund raises builtins.ValueError",
    )
    assert (found.commit, found.version, found.cold, found.lacks) == ("0123456789ab", "2", (), None)
    assert features_of(store.open(run)) == found, "what is read from its log is the same"


def test_a_call_that_failed_and_then_did_not_is_not_the_failing_one(tmp_path: Path) -> None:
    run = new_run()
    records = [*opening(run), issued(0), raised(0), issued(1), settled(1), closing(run)]
    store, run = written(tmp_path, run, records)
    found = row_of(store, run).features
    assert found is not None and found.tool == "" and found.steps == ("search_docs",), "a repeat counts once"


def test_a_run_inside_has_its_own(tmp_path: Path) -> None:
    run = new_run()
    inner = new_run(lane="root/inner#1", parent=run.id, relation="child")
    records = [
        *opening(run),
        issued(0, name="outer"),
        settled(0),
        LaneOpened(1, "root/inner#1", 0),
        RunOpened(inner),
        issued(1, name="within", lane=1),
        raised(1),
        closing(inner, Status.FAILED, error="KeyError: 'a'"),
        closing(inner, Status.FAILED, error="KeyError: 'a'"),  # once more, when its model calls have been read
        issued(2, name="after"),
        settled(2),
        closing(run),
    ]
    store, run = written(tmp_path, run, records)
    found = row_of(store, inner).features
    assert found is not None and (found.steps, found.tool, found.error) == (("within",), "within", "KeyError")
    assert row_of(store, inner).inside and row_of(store, inner).origin == "child"
    whole = row_of(store, run).features
    assert whole is not None and whole.steps == ("outer", "within", "after")
    assert features_of(store.open(store.run(inner.id))) == found


def test_a_batch_that_is_written_again_counts_once(tmp_path: Path) -> None:
    run = new_run()
    store = SqliteStore(tmp_path / "store.db")
    log = store.begin(run)
    records = [*opening(run), issued(0, name="a"), raised(0), issued(1, name="b"), settled(1)]
    with pytest.raises(Exception):  # noqa: B017 - whatever the store makes of it
        log.write([*records, "no record"])  # type: ignore[list-item]
    log.write([*records, issued(2, name="a"), raised(2), closing(run)])
    log.close()
    found = row_of(store, run).features
    assert found is not None and found.steps == ("a", "b", "a") and found.tool == "a"


def test_what_is_damaged_or_missing_is_made_again_and_what_is_forgotten_goes(tmp_path: Path) -> None:
    run = new_run()
    store, run = written(tmp_path, run, [*opening(run), issued(0), raised(0), closing(run)])
    found = row_of(store, run).features
    assert found is not None
    with store.writing().transaction() as connection:
        connection.execute("UPDATE feature SET body = replace(body, 'search', 'Search')")
    assert row_of(store, run).features is None, "its check sum does not fit"
    store.features().put([(run, replace(found, lacks=("user_id",), suspicions=()))])
    kept = row_of(store, run).features
    assert kept is not None and (kept.lacks, kept.suspicions, kept.cold) == (("user_id",), (), ())
    store.delete(run)
    with store.writing().transaction() as connection:
        assert connection.execute("SELECT count(*) FROM feature").fetchone() == (0,)


def test_what_thinning_has_taken_out_has_no_form(tmp_path: Path) -> None:
    run = new_run()
    head = {"method": "GET", "url": "https://x.example/orders", "headers": []}
    records = [
        *opening(run),
        issued(0, name="lookup_order"),
        settled(0, b'{"id":"A1","items":[{"sku":"x","n":1}],"total":2.5}'),
        issued(1, kind=Kind.HTTP, name="GET x.example", head=head),
        HeadArrived(1, 11, {"status": 200, "headers": [["Content-Type", "application/json"]]}),
        SegmentArrived(1, 12, b'{"id": 1}'),
        StreamEnded(1, 13, End(EndKind.EOF)),
        closing(run),
    ]
    store, run = written(tmp_path, run, records)
    whole = features_of(store.open(run))
    kept = row_of(store, run).features
    assert kept == whole
    store.features().put([(run, replace(kept, lacks=("user_id",), suspicions=()))])
    assert [each.partition(" ")[0] for each in whole.shapes] == ["lookup_order", "GET"]
    assert store.thin(run.id, "sample 0.1")
    assert features_of(store.open(store.run(run.id))) == replace(whole, shapes=(), cold=("payloads",))
    assert row_of(store, run).features == replace(whole, shapes=(), cold=("payloads",)), "and nothing is read again"
    with store.writing().transaction() as connection:
        connection.execute("UPDATE feature SET crc = 1")
        thin_features(connection, connection.execute("SELECT run FROM feature").fetchone()[0])
    assert row_of(store, run).features is None, "what is damaged is made again"


def test_a_store_without_the_table_reads_as_one_with_nothing_in_it(tmp_path: Path) -> None:
    run = new_run()
    store, run = written(tmp_path, run, [*opening(run), closing(run)])
    with store.writing().transaction() as connection:
        connection.execute("DROP TABLE feature")
    assert row_of(store, run).features is None


NAMES = st.lists(st.text(max_size=5), max_size=4).map(tuple)


@given(st.builds(Features, error=st.text(), steps=NAMES, suspicions=st.none() | NAMES, lacks=st.none() | NAMES))
def test_features_are_the_same_when_read_back(features: Features) -> None:
    assert Features.from_json(features.to_json()) == features
    assert Features.from_json({**features.to_json(), "later": 1}) == features


@given(NAMES, NAMES, st.text(max_size=5), st.text(max_size=5))
def test_no_part_can_stand_for_another(steps: tuple[str, ...], others: tuple[str, ...], tool: str, error: str) -> None:
    one, two = Features(error=error, tool=tool, steps=steps), Features(error=error, tool=tool, steps=others)
    assert (fingerprint(Case.FAILED, one) == fingerprint(Case.FAILED, two)) == (steps == others)
    moved = Features(error=tool, tool=error, steps=steps)
    assert (fingerprint(Case.FAILED, one) == fingerprint(Case.FAILED, moved)) == (tool == error)
    glued = Features(error=error + tool, steps=steps)
    assert (fingerprint(Case.FAILED, one) == fingerprint(Case.FAILED, glued)) == (tool == "")


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    program = (
        "from reenact.facts.features import *;"
        "print(fingerprint(Case.FAILED, Features(error='E', template='t', steps=('a', 'b'), suspicions=('y', 'x'))))"
    )
    made = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    here = fingerprint(Case.FAILED, Features(error="E", template="t", steps=("a", "b"), suspicions=("x",)))
    assert made == {here + "\n"}, "beside an error, suspicious events count for nothing"
    quiet = Features(steps=("a", "b"))
    assert fingerprint(Case.FLAGGED, quiet) != fingerprint(Case.FLAGGED, replace(quiet, suspicions=("x",)))
    assert here == "e9909cb7bb0f4658945155681d231afe", "written down: groups keep their names from version to version"


def test_why_a_run_is_looked_into() -> None:
    cold = Features(cold=("payloads",))
    assert case_of(Status.OK, False, Features()) is None and case_of(Status.OK, False, cold) is Case.COLD
    assert case_of(Status.OK, True, cold) is Case.FLAGGED and case_of(Status.FAILED, True, cold) is Case.FAILED
    assert case_of(Status.RECORDING, False, cold) is None and case_of(Status.INTERRUPTED, False, cold) is Case.FAILED
    assert fingerprint(Case.COLD, cold) != fingerprint(Case.COLD, Features(cold=("model_calls",)))
    assert fingerprint(Case.FLAGGED, cold, "wrong order 7") == fingerprint(Case.FLAGGED, cold, "wrong order 8")


def test_the_form_of_an_answer_holds_no_value() -> None:
    assert shape("t", b'{"a1":"secret","b":[],"c":null,"d":true}') == "t {*: text, b: [], c: null, d: boolean}"
    long = shape("t", b"{" + b",".join(b'"field_%c%c":1' % (97 + n, 97 + n) for n in range(20)) + b"}")
    assert len(long) <= 120 and "#" in long
    assert shape("t", b"no json") == "t text"


AGENT = """
import reenact

@reenact.tool(effect="read")
def lookup(order):
    if order == "b2":
        raise ValueError(f"order {order} is gone")
    return {"id": order, "items": []}

@reenact.record(agent="shop@3", user="u1")
def answer(order):
    lookup("a1")
    return lookup(order)

for order in ("a1", "b2"):
    try:
        answer(order)
    except ValueError:
        pass
"""


def test_runs_of_a_program(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(AGENT)
    assert desk.run("python", "agent.py").code == 0
    store = open_store(desk.folder / ".reenact")
    assert isinstance(store, SqliteStore)
    failed, fine = store.features().all()
    assert failed.features is not None and fine.features is not None
    assert (failed.features.error, failed.features.template, failed.features.tool) == (
        "ValueError", "order <*> is gone", "lookup",
    )  # fmt: skip
    assert (fine.features.error, fine.features.tool, fine.features.version) == ("", "", "3")
    for each in (failed, fine):
        assert features_of(store.open(each.id)) == each.features
