"""Runs inside runs: a nested recording has its events in the log of the run around it, and its code runs as part of
that outer run."""

from __future__ import annotations

from reenact.abc.store import Store
from reenact.errors import RunNotFound
from reenact.facts.run import Run


def holder_of(store: Store, run: Run) -> Run:
    """The run whose log holds this run's events: the run itself, unless it is nested. Events have the same numbers in
    both.

    Args:
        store: The store.
        run: The run.
    """
    seen = {run.id}
    while run.lane and run.parent and run.parent not in seen:
        seen.add(run.parent)
        try:
            run = store.run(run.parent)
        except RunNotFound:  # the run around it was removed, or is in another store
            return run
    return run
