"""Forking in this process: an entry point is called again, with the prefix frozen and the rest live."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from reenact.abc.sources import CLOCK
from reenact.abc.store import Store
from reenact.facts.run import Run
from reenact.recording.recording_opening import status_of
from reenact.replaying import caller
from reenact.replaying.options import Options
from reenact.timetravel.forks.fork_misses import ForkMisses
from reenact.timetravel.forks.fork_opening import open_child, open_session
from reenact.timetravel.forks.fork_report import ForkReport, conclude
from reenact.timetravel.forks.ledger import Ledger
from reenact.timetravel.forks.plan import Plan

_PLAIN = Options()


def fork_here(
    store: Store, parent: Run, plan: Plan, entry: Callable[..., Any], options: Options = _PLAIN
) -> ForkReport:
    """Call ``entry`` with the recorded arguments; the hash seed and earlier imports stay as they are."""
    session = open_session(store.open(parent), options, plan, ForkMisses())
    opened = open_child(session, store)
    session.records(opened.session, Ledger(store, parent, opened.run.id), lambda recorded, event: None)
    error: BaseException | None = None
    try:
        with caller.hosted(session, lambda: session.schedule.time.asks) as contacts:
            try:
                _called(session, inspect.unwrap(entry))
            except KeyboardInterrupt:
                raise
            except BaseException as raised:
                error = raised
    finally:
        status, line = status_of(error)
        environment = {**opened.run.environment, **session.kept()}
        run = opened.close(status, CLOCK.wall_us(), error=line, environment=environment)
    return conclude(session, run, tuple(contacts))


def _called(session: Any, function: Callable[..., Any]) -> None:
    args, named = caller.arguments_for(session, function)
    caller.call(session, function, *args, **named)
