"""A process that records until it is killed, saying on standard output what has been acknowledged.

``python -m tests.store.recorder STORE RUN_ID [fork] [frames]``
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from reenact.facts.record import SegmentArrived
from reenact.facts.run import Run
from reenact.store import frames
from reenact.store.sqlite_store import SqliteStore
from tests.store.records import issued, opening, settled, streamed


def say(word: str, number: int) -> None:
    """One line in one write, because a forked child says things on the same pipe."""
    os.write(1, f"{word} {number}\n".encode())


def resent(event: int) -> bytes:
    """The body of a call: what was said before, and one thing more."""
    return b"".join(b"%d" % n * 30 for n in range(event + 1))


def main(path: str, run_id: str, *more: str) -> None:
    """Record until killed."""
    if "frames" in more:  # ends a frame every few calls
        frames.FRAME = 500
    store = SqliteStore(Path(path))
    run = Run(run_id, started_us=1)
    log = store.begin(run)
    log.write([*opening(run), issued(0), *streamed(0, [b"head"], end=False)])
    if "fork" in more and os.fork() == 0:
        say("child", os.getpid())
        time.sleep(60)
        os._exit(0)
    event = 1
    while True:
        log.write(
            [issued(event, resent(event)), settled(event), SegmentArrived(0, event, b"<%d>" % event)],
            durable=event % 7 == 0,
        )
        say("ack", event)
        event += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
