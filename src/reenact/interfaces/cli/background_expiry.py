"""Starts a background process that removes expired runs; a command starts it after its work, at most once an hour.

The command itself only asks the store whether any run is old enough. No part of this runs in an agent's process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from reenact.abc.project_settings import load_settings
from reenact.abc.sources import CLOCK
from reenact.errors import ReenactError
from reenact.facts.late import late
from reenact.interfaces.cli.stores import store_url
from reenact.store import open_store
from reenact.store.sqlite_store import SqliteStore

if TYPE_CHECKING:
    from reenact.facts.retention import shortest_us
    from reenact.interfaces.cli.shell import Shell
else:
    shortest_us = late("reenact.facts.retention", "shortest_us")

EVERY_US = 3_600_000_000
"""The least time between two removals of expired runs in a store, in microseconds."""


def tidy(shell: Shell) -> None:
    """Start the removal of expired runs in the background, if it is due. The call never fails. The first time, it
    prints a note for the user."""
    try:
        settings = load_settings()
        terms = settings["keep"].value
        if not settings["gc"].value or not isinstance(terms, Mapping):
            return
        with open_store(store_url(shell)) as store:
            if not isinstance(store, SqliteStore):
                return
            now = CLOCK.wall_us()
            keeper = store.housekeeping()
            if not settings["day_mb"].value and not keeper.old(terms, now, now - shortest_us(terms)):
                return
            first = keeper.turn(store.writing(), now, EVERY_US)
            url = store.url
    except ReenactError:  # the next command that reads the store reports the fault
        return
    if first is not None and start(url) and first:
        shell.talk(
            "reenact: expired runs are removed in the background from now on (gc = false in [tool.reenact] turns that "
            "off; which runs are kept how long: reenact gc --help)"
        )


def start(url: str) -> bool:
    """Start the process that removes expired runs; false if that is not possible."""
    command = [sys.executable, "-m", "reenact", "--store", url, "gc", "--background"]
    import subprocess  # imported late: needed once an hour

    null = subprocess.DEVNULL
    environment = {**os.environ, "REENACT_DISABLE": "1"}  # a recording around us does not record it
    try:
        process = subprocess.Popen(
            command, stdin=null, stdout=null, stderr=null, env=environment, start_new_session=True
        )
    except OSError:
        return False
    process.returncode = 0  # keeps Python from warning that the process still runs
    return True
