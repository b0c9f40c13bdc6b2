"""Finding runs among very many: by each filter of ``ls``, by words, and by filters that match none."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from bench.cases.travel import opened
from reenact.abc.store import Store
from reenact.facts.call import Call, Effect, Kind, Value
from reenact.facts.ids import make_run_id
from reenact.facts.record import CallIssued, CallSettled, LaneOpened, Record, RunClosed, RunOpened
from reenact.facts.run import Entry, Run, Status, Totals
from reenact.store.sqlite_log import write_whole
from reenact.store.sqlite_store import SqliteStore

_START_US = 1_760_000_000_000_000
_EVERY_US = 1_000_000
_BATCH = 2000
_REPEATS = 5
_SHOWN = 100
"""Runs that a list shows."""

_SURROUNDINGS: Mapping[str, Any] = {
    "python": "3.11.7", "implementation": "cpython", "executable": "/srv/agent/.venv/bin/python",
    "platform": "linux", "machine": "x86_64", "argv": ["/srv/agent/.venv/bin/python", "agent.py"],
    "env_names": [f"A_VARIABLE_OF_THE_SHELL_{n}" for n in range(45)], "cwd": "/srv/agent", "cpus": 2,
}  # fmt: skip
"""About what the row of a recorded run holds of its surroundings."""


def run_of(number: int) -> Run:
    """The run of a number: one of 1,000 users, 20 tenants and 20,000 sessions; every tenth failed."""
    started = _START_US + number * _EVERY_US
    return Run(
        make_run_id(started, number.to_bytes(5, "big")),
        agent=f"agent{number % 5}",
        user=f"user{number % 1000}",
        tenant=f"tenant{number % 20}",
        session=f"session{number // 5}",
        tags={"env": "prod" if number % 4 else "test", "build": str(number // 1000)},
        entry=Entry("callable", argv=("agent.py",), target="agent:main", cwd="/srv/agent"),
        started_us=started,
        environment=_SURROUNDINGS,
    )


def records_of(number: int, run: Run) -> Iterator[Record]:
    """Its log: what it was asked, a tool, and what it answered. ``refund`` is in every run, ``odd`` in each second one,
    ``lantern`` in each thousandth."""
    yield RunOpened(run)
    yield LaneOpened(0, "root", None)
    asked = f"please refund order {number} of customer {number % 1000}" + (" odd" if number % 2 else "")
    asked += " lantern" if number % 1000 == 7 else ""
    for event, (kind, name, body, came) in enumerate(
        (
            (Kind.INPUT, "input", {"q": asked}, b"null"),
            (Kind.TOOL, "search_docs", {"query": f"rule {number % 97}"}, b'{"docs": ["the order may be paid back"]}'),
            (Kind.OUTPUT, "output", {"said": f"order {number} is paid back"}, b"null"),
        )
    ):
        call = Call(kind, name, Effect.NONE, "value/1", {}, json.dumps(body).encode(), "application/json")
        yield CallIssued(event, 0, event, None, event * 10, call)
        yield CallSettled(event, event * 10 + 5, Value(came))
    status = Status.OK if number % 10 else Status.FAILED
    yield RunClosed(replace(run, status=status, ended_us=run.started_us + 900, totals=Totals(events=3, tools=1)))


def keep_many(store: SqliteStore, size: int) -> None:
    """Write so many runs, as the store's own writer does it, many in a transaction."""
    writing, hasher = store._file.write()
    for first in range(0, size, _BATCH):
        with writing.transaction() as connection:
            for number in range(first, min(first + _BATCH, size)):
                run = run_of(number)
                write_whole(connection, run, records_of(number, run), hasher)
        writing.checkpoint()


def filters(size: int) -> Mapping[str, Mapping[str, Any]]:
    """What is looked for among so many runs, by the name of the figure."""
    middle = _START_US + size // 2 * _EVERY_US
    none = {"status": Status.TIMEOUT}
    return {
        "newest": {},
        "user": {"user": "user7"},
        "tenant": {"tenant": "tenant3"},
        "session": {"session": f"session{size // 10}"},
        "agent": {"agent": "agent2"},
        "tag": {"tag": {"build": str(size // 2000)}},
        "tag_of_most": {"tag": {"env": "prod"}},
        "time": {"since_us": middle, "before_us": middle + 3600 * _EVERY_US},
        "long_ago": {"before_us": _START_US + 3600 * _EVERY_US},
        "failed": {"failed": True},
        "status": {"status": Status.FAILED},
        "rare_word": {"text": "lantern"},
        "word_of_half": {"text": "odd"},
        "word_of_all": {"text": "refund"},
        "beginning_of_all": {"text": "refun"},
        "words_of_all": {"text": "refund order paid"},
        "word_and_user": {"text": "refund", "user": "user7"},
        "no_status": none,
        "no_user": {"user": "nobody"},
        "no_tenant": {"tenant": "nobody"},
        "no_agent": {"agent": "nobody"},
        "no_tag": {"tag": {"env": "nowhere"}},
        "no_time": {"since_us": _START_US + size * _EVERY_US * 2},
        "no_word": {"text": "unheard"},
        "no_pair": {"user": "user7", "tenant": "tenant8"},
        "no_pair_of_many": {"tenant": "tenant3", "agent": "agent2"},
        "no_tag_and_word": {"text": "odd", "tag": {"env": "prod"}, "agent": "agent4", "tenant": "tenant5"},
        "no_status_word": {"text": "refund", **none},
        "no_interrupted": {"status": Status.INTERRUPTED},
        "parent": {"parent": "nobody"},
    }


def took_ms(look: Callable[[], Any]) -> float:
    """Milliseconds that the thread works, the median of a few goes."""
    took = []
    for _ in range(_REPEATS):
        start = time.thread_time()
        look()
        took.append((time.thread_time() - start) * 1e3)
    return median(took)


def look(store: Store, wanted: Mapping[str, Any]) -> list[Run]:
    """The newest of those that are wanted."""
    return list(islice(store.runs(**wanted), _SHOWN))


def measured(store: Store, size: int) -> Mapping[str, float]:
    """Milliseconds to find the newest hundred by each filter."""
    found = {f"{name}_ms": took_ms(partial(look, store, each)) for name, each in filters(size).items()}
    return {**found, "slowest_ms": max(found.values())}


def find_runs(size: int) -> Mapping[str, float]:
    """Milliseconds to find the newest hundred by each filter, among so many runs."""
    with opened() as store:
        assert isinstance(store, SqliteStore)
        keep_many(store, size)
        return measured(store, size)


if __name__ == "__main__":  # a store that stays: python -m bench.cases.finding FILE SIZE
    import sys

    path, count = Path(sys.argv[1]), int(sys.argv[2])
    with SqliteStore(path) as kept:
        if not path.exists():
            begun = time.monotonic()
            keep_many(kept, count)
            print(f"{time.monotonic() - begun:.0f} s to write {count:,} runs, {path.stat().st_size >> 20} MiB")
        for each, value in measured(kept, count).items():
            print(f"{each:24s} {value:9.2f}  {len(look(kept, filters(count).get(each.removesuffix('_ms'), {})))}")
