"""A migration that is killed at its n-th step."""

import os
import signal
import sys
from pathlib import Path

from reenact.store import backup, log_migration
from reenact.store.connection import WriteConnection
from reenact.store.sqlite_store import SqliteStore

log_migration.STEP_BYTES, log_migration._ROWS, backup._PAGES = 4096, 7, 8
at, steps = int(sys.argv[2]), []


def step(*_):
    steps.append(1)
    if len(steps) == at:
        os.kill(os.getpid(), signal.SIGKILL)


checkpoint = WriteConnection.checkpoint
WriteConnection.checkpoint = lambda self, **options: (step(), checkpoint(self, **options), step())
with SqliteStore(Path(sys.argv[1])) as store:
    store.writing()._connection.set_trace_callback(lambda sql: step())
    migration = store.migration()
    migration.migrate(store.writing(), migration.plan(), lambda *_: step())
print(len(steps))
