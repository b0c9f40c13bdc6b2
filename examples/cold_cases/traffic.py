"""Three weeks of the agent in a few seconds: 300 requests are recorded, and put where they belong in time.

    python traffic.py [STORE]

Each request is really run and recorded, one after the other; then its recording is moved to the time at which it is
said to have come, as an importer does with recordings of elsewhere.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from agent import answer

import reenact
from reenact.abc.sources import ENTROPY
from reenact.abc.store import Store
from reenact.facts.ids import make_run_id
from reenact.facts.record import Record, RunClosed, RunOpened
from reenact.facts.run import Run
from reenact.store.run_records import records_of

FIRST = datetime(2026, 11, 2, tzinfo=UTC)
DAYS, REQUESTS = 21, 300
TENANTS = ("acme", "brick", "corvo", "delta", "ember", "fjord")


def traffic() -> Iterator[tuple[datetime, dict[str, Any]]]:
    """What is asked, and when: a night job at two o'clock on each day, and questions all over the day."""
    chance = random.Random(20261102)
    for number in range(REQUESTS):
        day = number * DAYS // REQUESTS
        hour = 2 if number % 8 == 0 else chance.randrange(24)
        at = FIRST + timedelta(days=day, hours=hour, minutes=chance.randrange(60), seconds=number % 60)
        tenant = chance.choice(TENANTS)
        model = chance.choice(("fast-1", "fast-2"))
        service = "slow" if chance.random() < 0.015 else "new" if tenant == "acme" and day >= 14 else "old"
        order = f"A{4000 + number}"
        yield at, {"order": order, "tenant": tenant, "model": model, "hour": hour, "service": service}


def moved(run: Run, at: datetime, tenant: str) -> Run:
    """A run as if it had begun at another time, for a tenant."""
    begins_us = int(at.timestamp() * 1_000_000)
    ends_us = begins_us + (run.ended_us or run.started_us) - run.started_us
    return replace(
        run, id=make_run_id(begins_us, ENTROPY.bytes(5)), started_us=begins_us, ended_us=ends_us, tenant=tenant
    )


def keep(run: Run, at: datetime, tenant: str, source: Store, into: Store) -> None:
    """Put one recording where it belongs."""
    then = moved(run, at, tenant)

    def told() -> Iterator[Record]:
        for record in records_of(source.open(run)):
            if isinstance(record, RunOpened | RunClosed):
                ended_us = then.ended_us if isinstance(record, RunClosed) else record.run.ended_us
                known = replace(record.run, id=then.id, started_us=then.started_us, tenant=tenant, ended_us=ended_us)
                yield replace(record, run=known)
            else:
                yield record

    into.adopt([(replace(then, ended_us=None, status=type(run.status)("recording")), told())])


def main() -> None:
    """Record all of it."""
    url = sys.argv[1] if len(sys.argv) > 1 else None
    with reenact.open_store("memory:traffic") as source, reenact.open_store(url) as into:
        record = reenact.record(agent="orders@1", store=source)(answer.__wrapped__)
        for at, request in traffic():
            with suppress(ValueError, KeyError, TimeoutError):
                record(**request)
            keep(source.run("@"), at, request["tenant"], source, into)


if __name__ == "__main__":
    main()
