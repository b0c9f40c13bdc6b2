"""Three runs that share their bodies, the second of which is deleted."""

import sys
from pathlib import Path

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.facts.ids import make_run_id
from reenact.facts.run import Run
from reenact.store.sqlite_store import SqliteStore
from tests.store.records import closing, issued, opening, settled

with SqliteStore(Path(sys.argv[1])) as store:
    for forgotten in (False, True, False):
        now = CLOCK.wall_us()
        run = Run(make_run_id(now, ENTROPY.bytes(8)), started_us=now)
        log = store.begin(run)
        log.write(opening(run))
        for n in range(int(sys.argv[2])):
            log.write([issued(n, b"shared %d" % n), settled(n, b"%d" % n)], durable=n % 10 == 0)
        log.write([closing(run)])
        log.close()
        if forgotten:
            store.delete(run)
