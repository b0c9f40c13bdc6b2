"""Expired runs go in the background: a process of its own, after a command has done its work, at most once an hour.

The command itself only asks the store whether anything is old enough. Nothing of this runs in an agent's process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from reenact.abc.settings import load_settings
from reenact.abc.sources import CLOCK
from reenact.errors import ReenactError
from reenact.facts.late import late
from reenact.interfaces.cli.stores import store_url
from reenact.store import open_store
from reenact.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from reenact.facts.retention import shortest_us
    from reenact.interfaces.cli.shell import Shell
else:
    shortest_us = late("reenact.facts.retention", "shortest_us")

EVERY_US = 3_600_000_000
"""How often a store is looked through at most."""


def tidy(shell: Shell) -> None:
    """Have expired runs removed in the background, if it is time; never fails, and says so the first time."""
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
    except ReenactError:  # what is wrong with the store, its next reader says
        return
    if first is not None and start(url) and first:
        shell.talk(
            "reenact: expired runs are removed in the background from now on (gc = false in [tool.reenact] turns that "
            "off; which runs are kept how long: reenact gc --help)"
        )


def start(url: str) -> bool:
    """Start the process that removes them; whether it could be."""
    command = [sys.executable, "-m", "reenact", "--store", url, "gc", "--background"]
    import subprocess  # late: once an hour

    null = subprocess.DEVNULL
    environment = {**os.environ, "REENACT_DISABLE": "1"}  # it is no part of a recording that we may be in
    try:
        process = subprocess.Popen(
            command, stdin=null, stdout=null, stderr=null, env=environment, start_new_session=True
        )
    except OSError:
        return False
    process.returncode = 0  # nobody waits for it, and Python need not warn of that
    return True
