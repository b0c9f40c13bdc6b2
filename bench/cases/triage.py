"""What fails alike: to write down by what a run is compared, to make that of older runs, and a triage of many."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from reenact.facts.call import End, EndKind, Kind
from reenact.facts.feature_collector import FeatureCollector
from reenact.facts.features import Features
from reenact.facts.ids import make_run_id
from reenact.facts.record import EvidenceNoted, HeadArrived, Record, SegmentArrived, StreamEnded
from reenact.facts.run import Run, Status
from reenact.store.feature_rows import FEATURE, put
from reenact.store.runrows import insert_run
from reenact.store.sqlite_store import SqliteStore
from reenact.triage.featured_runs import seen
from tests.store.records import closing, failed, issued, opening, settled

REPEATS = 9
AGENTS, GROUPS, TENANTS = 5, 60, 997
SYSTEM = "You answer questions about orders, briefly and politely. " * 200
URL = "https://api.openai.com/v1/chat/completions"
SECOND_US = 1_000_000


@contextmanager
def _store() -> Iterator[tuple[SqliteStore, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "store.db")
        yield store, Path(folder)
        store.close()


def _run(number: int, **fields: object) -> Run:
    """One of many runs, a minute after the one before."""
    began = 1_780_000_000 * SECOND_US + number * 60 * SECOND_US
    told = {"agent": f"agent {number % AGENTS}", "tenant": f"tenant {number % TENANTS}", "started_us": began}
    return Run(make_run_id(began, number.to_bytes(5, "big")), **{**told, **fields})  # type: ignore[arg-type]


def _conversation(calls: int) -> Iterator[Record]:
    """A model is asked with a long prompt, and a tool answers, by turns."""
    body = f'{{"model": "gpt-5", "messages": [{{"role": "system", "content": "{SYSTEM}"}}]}}'.encode()
    head = {"method": "POST", "url": URL, "headers": []}
    for number in range(0, calls, 2):
        yield issued(number, body, kind=Kind.HTTP, name="POST api.openai.com", head=head)
        yield HeadArrived(number, 1, {"status": 200, "headers": [["Content-Type", "application/json"]]})
        yield SegmentArrived(number, 2, b'{"choices": [{"message": {"content": "On its way."}}]}')
        yield StreamEnded(number, 3, End(EndKind.EOF))
        yield EvidenceNoted(number, "reading", {"model_asked": "gpt-5", "model_answered": "gpt-5-0601"})
        yield issued(number + 1, name=f"tool_{number % 7}")
        yield settled(number + 1, b'{"id":"A1","items":[{"sku":"x","n":1}],"total":2.5}')


def close_features(size: int) -> Mapping[str, float]:
    """Milliseconds of the writer's thread when a run of so many calls closes, and microseconds a record before."""
    closes, takes = [], []
    with _store() as (store, _):
        for number in range(REPEATS):
            run = _run(number)
            log = store.begin(run)
            records = [*opening(run), *_conversation(size)]
            log.write([*records, end := closing(run)])
            log.close()
            noticing = FeatureCollector()
            before = time.thread_time_ns()
            for record in records:
                noticing.take(record)
            takes.append((time.thread_time_ns() - before) / len(records) / 1e3)
            with store.writing().transaction() as connection:
                before = time.thread_time_ns()
                put(connection, number + 1, end.run, noticing.features(end.run))
                closes.append((time.thread_time_ns() - before) / 1e6)
    return {"close_ms": median(closes), "record_us": median(takes)}


def build_features(size: int) -> Mapping[str, float]:
    """Milliseconds a run of the first triage of a store of older runs, of ten events, every tenth of which failed."""
    with _store() as (store, _):
        for number in range(size):
            run = _run(number)
            log = store.begin(run)
            wrong = number % 10 == 0
            end = closing(run, Status.FAILED, error="ValueError: order 7 is gone") if wrong else closing(run)
            fault: list[Record] = [issued(10), failed(10)] if wrong else []
            log.write([*opening(run), *_conversation(10), *fault, end])
            log.close()
        with store.writing().transaction() as connection:
            connection.execute(f"DROP TABLE {FEATURE}")
        before = time.thread_time_ns()
        assert len(seen(store)) == size
        took = time.thread_time_ns() - before
        before = time.thread_time_ns()
        seen(store)
        again = time.thread_time_ns() - before
    return {"run_ms": took / size / 1e6, "again_ms": again / 1e6}


def triage(size: int) -> Mapping[str, float]:
    """Seconds of ``reenact triage``, its start included, of a store of so many runs, a tenth of which failed in many
    ways: of the processor, as nothing waits, and by the clock."""
    took, passed = [], []
    with _store() as (store, folder):
        _fill(store, size)
        command = [sys.executable, "-m", "reenact", "triage"]
        environ = {**os.environ, "REENACT_STORE": f"sqlite:///{folder}/store.db"}
        for _ in range(3):
            clock, before = time.perf_counter(), _children_s()
            done = subprocess.run(command, env=environ, capture_output=True, check=True, cwd=folder)
            took.append(_children_s() - before)
            passed.append(time.perf_counter() - clock)
            assert f"compared with {size - size // 10:,}".replace(",", "") in done.stdout.decode().replace(",", "")
    return {"s": median(took), "clock_s": median(passed)}


def _children_s() -> float:
    found = os.times()
    return found.children_user + found.children_system


def _fill(store: SqliteStore, size: int) -> None:
    """Write the rows of runs that have been looked at, as their recordings have left them."""
    store.begin(_run(size, relation="replay")).close()  # makes the file
    with store.writing().transaction() as connection:
        for number in range(size):
            wrong = number % 10 == 0
            way = number // 10 % GROUPS
            word = "abcdefghijklmnopqrst"[way % 20] * 3
            run = _run(
                number,
                status=Status.FAILED if wrong else Status.OK,
                error=f"ValueError: order {number} is not in {word}" if wrong else "",
            )
            features = Features(
                error="ValueError" if wrong else "",
                template=f"order <*> is not in {word}" if wrong else "",
                tool=f"tool_{way % 7}" if wrong else "",
                steps=("plan", "look", "answer"),
                asked=(f"model-{number % 3}",),
                answered=(f"model-{number % 3}-0601",),
                tools=tuple(f"tool_{n}" for n in range(number % 7)),
                shapes=("tool_0 {id: text, total: number}",),
                prompts=(f"{number % 11:016x}",),
                commit=f"{number // 1000:012x}",
                suspicions=(),
                lacks=("seed",),
            )
            put(connection, insert_run(connection, run), run, features)
