"""The store used directly: a run written record by record into SQLite, and read back through the store's interface.

Nothing is intercepted here. This is what an importer, or a recorder of another language, does.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import reenact
from reenact.abc.sources import CLOCK, ENTROPY
from reenact.abc.store import Store
from reenact.facts.call import Call, Effect, Kind, Value
from reenact.facts.ids import make_run_id
from reenact.facts.record import CallIssued, CallSettled, EvidenceNoted, LaneOpened, RunClosed, RunOpened
from reenact.facts.run import Run, Status, Totals


def write(store: Store) -> Run:
    """Write one small run: a tool is called twice."""
    now = CLOCK.wall_us()
    run = Run(make_run_id(now, ENTROPY.bytes(5)), agent="by_hand", version="1", started_us=now, tags={"id": "r_1"})
    log = store.begin(run)
    log.write([RunOpened(run), LaneOpened(0, "root", None)])
    for number, city in enumerate(("Lisbon", "Kraków")):
        body = json.dumps({"city": city}, ensure_ascii=False).encode()
        call = Call(Kind.TOOL, "weather", Effect.READ, "tool/1", body=body, media="application/json", channel="weather")
        log.write([CallIssued(number, 0, number, None, 10 * number, call)])
        log.write([CallSettled(number, 10 * number + 5, Value(b'{"sky":"clear"}'))])
    log.write([EvidenceNoted(1, "source", "a second station")])
    closed = replace(run, status=Status.OK, ended_us=now + 20, totals=Totals(events=2, tools=2))
    log.write([RunClosed(closed)], durable=True)
    log.close()
    return closed


def read(store: Store, run: Run) -> None:
    """Read it back: by filters, by reference, event by event, byte by byte."""
    found = store.run("@")
    assert found.id == run.id and next(store.runs(agent="by_hand")).id == run.id
    print(f"{found.agent}@{found.version} {found.status.value}, {found.totals.events} events, tags {dict(found.tags)}")
    recording = store.open(found)
    for event in store.events(found):
        asked, got = recording.body(event.request), recording.body(event.answer)
        print(f"  {event.number} {event.name}({asked.decode()}) -> {got.decode()}")
    again = store.event(f"{found.id}:weather#2")
    print("the second call:", recording.body(again.request).decode(), dict(again.attributes))


def main() -> None:
    """Write, read, forget."""
    url = sys.argv[1] if len(sys.argv) > 1 else "sqlite:///by_hand.db"
    with reenact.open_store(url) as store:
        run = write(store)
        read(store, run)
        store.delete(run)
        print("runs left:", sum(1 for _ in store.runs()))


if __name__ == "__main__":
    main()
